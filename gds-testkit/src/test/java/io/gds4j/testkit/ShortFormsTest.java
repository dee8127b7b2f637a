package io.gds4j.testkit;

import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatchException;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** The short forms of batches and streams. */
class ShortFormsTest {
    private static final int SIZE = 1000;
    private static final byte[] CONTENT = RandomBytes.of(55, SIZE);

    private final FakeGpu gpu = FakeGpu.create();

    @RegisterExtension
    final GdsExtension gds = GdsExtension.over(gpu);

    @TempDir
    Path folder;

    private Path path = Path.of("");

    @BeforeEach
    void writeFile() throws IOException {
        path = Files.write(folder.resolve("data"), CONTENT);
    }

    @Test
    void addedRequestsOfAnyNumberMoveTheirBytes() throws IOException {
        byte[] start = new byte[100];
        byte[] end = new byte[100];
        Arrays.fill(end, (byte) 9);
        MemorySegment segment = Arena.ofAuto().allocate(200);
        byte[] written = {1, 2, 3};
        try (CuFileHandle file = gds.driver().openFile(path, READ, WRITE);
                MemoryAllocation memory = gds.driver().allocator().allocate(50);
                CuFileBatch batch = gds.driver().batch(2)) {
            batch.add(CuFileBatch.Request.read(file, memory, 50, 10, 0));
            batch.addRead(file, start, 0);
            batch.addRead(file, end, SIZE - 40);
            batch.addRead(file, segment, 300);
            batch.addWrite(file, written, SIZE + 10);
            written[0] = 77;
            assertThat(batch.outstanding()).as("nothing is submitted yet").isZero();
            assertThat(batch.awaitAll().stream().map(CuFileBatch.Completion::bytes))
                    .containsExactly(50L, 100L, 40L, 200L, 3L);
            assertThat(gpu.segment(memory.range()).toArray(ValueLayout.JAVA_BYTE))
                    .isEqualTo(Arrays.copyOfRange(CONTENT, 10, 60));
            assertThat(batch.awaitAll()).as("each request once").isEmpty();
        }
        assertThat(start).isEqualTo(Arrays.copyOf(CONTENT, 100));
        assertThat(Arrays.copyOf(end, 40)).isEqualTo(Arrays.copyOfRange(CONTENT, SIZE - 40, SIZE));
        assertThat(Arrays.copyOfRange(end, 40, 100)).as("past the end of the file").containsOnly(9);
        assertThat(segment.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(Arrays.copyOfRange(CONTENT, 300, 500));
        assertThat(Files.readAllBytes(path)).hasSize(SIZE + 13).startsWith(CONTENT).endsWith(1, 2, 3);
    }

    @Test
    void submittedEntriesAreAwaitedToo() {
        byte[] bytes = new byte[10];
        try (CuFileHandle file = gds.driver().openFile(path);
                MemoryAllocation memory = gds.driver().allocator().allocate(SIZE);
                CuFileBatch batch = gds.driver().batch(2)) {
            batch.submit(List.of(CuFileBatch.Request.read(file, memory, SIZE, 0, 0)));
            batch.addRead(file, bytes, 5);
            assertThat(batch.awaitAll().stream().map(CuFileBatch.Completion::bytes)).containsExactly(1000L, 10L);
        }
        assertThat(bytes).isEqualTo(Arrays.copyOfRange(CONTENT, 5, 15));
    }

    @Test
    void failureOfOneRequestIsThrownAndLeavesItsArrayAlone() {
        byte[] good = new byte[10];
        byte[] bad = new byte[10];
        gds.faults().on(Call.BATCH_READ).nth(2).fails(Errno.EIO);
        try (CuFileHandle file = gds.driver().openFile(path); CuFileBatch batch = gds.driver().batch(4)) {
            batch.addRead(file, good, 0);
            batch.addRead(file, bad, 0);
            CuFileBatchException e = catchThrowableOfType(CuFileBatchException.class, batch::awaitAll);
            assertThat(e.failures()).hasSize(1);
            assertThat(batch.outstanding()).isZero();
        }
        assertThat(good).isEqualTo(Arrays.copyOf(CONTENT, 10));
        assertThat(bad).containsOnly(0);
    }

    @Test
    void readOnlyArrayIsRefusedByABatch() {
        try (CuFileHandle file = gds.driver().openFile(path); CuFileBatch batch = gds.driver().batch(4)) {
            batch.addRead(file, MemorySegment.ofArray(new byte[1]).asReadOnly(), 0);
            assertThat(catchThrowableOfType(CuFileException.class, batch::awaitAll).error())
                    .isEqualTo(CuFileError.PERMISSION_DENIED);
            assertThat(batch.awaitAll()).isEmpty();
        }
    }

    @Test
    void streamTakesNumbers() throws IOException {
        FakeStream order = gpu.newStream();
        try (CuFileHandle file = gds.driver().openFile(path, READ, WRITE);
                MemoryAllocation memory = gds.driver().allocator().allocate(2 * SIZE);
                CuFileStream stream = gds.driver().stream(order.address())) {
            CuFileStream.Cells read = stream.read(file, memory, SIZE, 20, 4);
            CuFileStream.Cells write = stream.write(file, memory, 10, SIZE, 4);
            order.synchronize();
            assertThat(read.bytesDone()).as("up to the end of the file").isEqualTo(SIZE - 20);
            assertThat(write.bytesDone()).isEqualTo(10);
        }
        assertThat(Arrays.copyOfRange(Files.readAllBytes(path), SIZE, SIZE + 10))
                .isEqualTo(Arrays.copyOfRange(CONTENT, 20, 30));
    }
}
