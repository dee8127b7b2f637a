package io.gds4j.compat;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.HostStream;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Reads and writes with an allocation, a segment or a byte buffer as the memory. */
class MemoryArgumentsTest {
    private static final int SIZE = 10_000;
    private static final byte[] CONTENT = RandomBytes.of(4, SIZE);

    @TempDir
    private Path folder;

    private Rig rig;
    private CuFileDriver driver;
    private CuFileHandle file;
    private Path path;

    @BeforeEach
    void open() throws IOException {
        rig = Rig.onGpuWithWorkers();
        driver = rig.driver();
        path = Files.write(folder.resolve("data"), CONTENT);
        file = driver.openFile(path, READ, WRITE);
    }

    @AfterEach
    void close() {
        file.close();
        rig.close();
    }

    private byte[] content(MemoryAllocation memory) {
        byte[] bytes = new byte[Math.toIntExact(memory.length())];
        driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(bytes));
        return bytes;
    }

    @ParameterizedTest
    @EnumSource(names = {"HOST", "CUDA_DEVICE"})
    void allocationIsReadAndWritten(MemoryKind kind) throws IOException {
        Path copy = folder.resolve("copy");
        try (MemoryAllocation memory = driver.allocator().allocate(kind, SIZE);
                CuFileHandle target = driver.openFile(copy, CREATE_NEW, WRITE)) {
            assertThat(file.read(memory, 0)).isEqualTo(SIZE);
            assertThat(content(memory)).isEqualTo(CONTENT);
            assertThat(target.write(memory, 0)).isEqualTo(SIZE);
        }
        assertThat(copy).hasBinaryContent(CONTENT);
    }

    @ParameterizedTest
    @EnumSource(names = {"HOST", "CUDA_DEVICE"})
    void allocationServesFuturesAndBatches(MemoryKind kind) {
        try (MemoryAllocation memory = driver.allocator().allocate(kind, SIZE);
                CuFileBatch batch = driver.batch(1)) {
            assertThat(file.readAsync(memory, 0).join()).isEqualTo(SIZE);
            assertThat(content(memory)).isEqualTo(CONTENT);
            assertThat(file.writeAsync(memory, SIZE).join()).isEqualTo(SIZE);
            driver.allocator().fill(memory.range(), (byte) 0);

            batch.submit(List.of(CuFileBatch.Request.read(file, memory, SIZE, SIZE, 0)));
            assertThat(batch.await(1, Duration.ofSeconds(60)).getFirst().bytes()).isEqualTo(SIZE);

            assertThat(content(memory)).isEqualTo(CONTENT);
        }
    }

    @Test
    void allocationServesStreams() throws InterruptedException {
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE);
                HostStream order = HostStream.create();
                CuFileStream stream = driver.stream(order.address(), Set.of())) {
            CuFileStream.Cells read = CuFileStream.Cells.of(SIZE - 10, 10, 5);
            CuFileStream.Cells pastTheEnd = CuFileStream.Cells.of(8, SIZE, 0);
            stream.read(file, memory, read);
            stream.read(file, memory, pastTheEnd);
            order.synchronize();

            assertThat(read.bytesDone()).isEqualTo(SIZE - 10);
            assertThat(pastTheEnd.bytesDone()).isZero();
            assertThat(memory.segment().asSlice(5, SIZE - 10).mismatch(MemorySegment.ofArray(CONTENT).asSlice(10)))
                    .isEqualTo(-1);
        }
    }

    @Test
    void operationOfAClosedHostStreamIsRefused() {
        HostStream order = HostStream.create();
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE);
                CuFileStream stream = driver.stream(order.address(), Set.of())) {
            order.close();

            CuFileException e = catchThrowableOfType(
                    CuFileException.class, () -> stream.read(file, memory, CuFileStream.Cells.of(SIZE, 0, 0)));

            assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
            assertThat(e).hasMessageContaining("the stream is closed");
        }
    }

    @Test
    void missingFileIsNotFound() {
        CuFileException e =
                catchThrowableOfType(CuFileException.class, () -> driver.openFile(folder.resolve("missing")));

        assertThat(e.isNotFound()).isTrue();
        assertThat(e.isAccessDenied()).isFalse();
    }

    @Test
    void bestMemoryIsOnTheGpuIfThereIsOne() {
        assertThat(driver.allocator().best()).isEqualTo(MemoryKind.CUDA_DEVICE);
        try (Rig host = Rig.onHost()) {
            assertThat(host.driver().allocator().best()).isEqualTo(MemoryKind.HOST);
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"HOST", "CUDA_DEVICE"})
    void registeredAllocationCannotBeClosed(MemoryKind kind) {
        try (MemoryAllocation memory = driver.allocator().allocate(kind, SIZE);
                CuFileBuffer buffer = driver.registerBuffer(memory)) {
            assertThat(file.read(buffer, 0)).isEqualTo(SIZE);
            assertThat(content(memory)).isEqualTo(CONTENT);
            Failures.expectErrno(Errno.EBUSY, memory::close);
        }
    }

    @Test
    void closedAllocationIsRefused() {
        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE);
        MemorySegment segment = memory.segment();
        memory.close();

        Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> file.read(memory, 0));
        Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> file.readAsync(memory, 0));
        assertThatThrownBy(() -> segment.get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void allocationHasAddressLengthAndSegment() {
        try (MemoryAllocation host = driver.allocator().allocate(MemoryKind.HOST, SIZE);
                MemoryAllocation gpu = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE)) {
            assertThat(host.length()).isEqualTo(SIZE);
            assertThat(host.address()).isEqualTo(host.range().address()).isEqualTo(host.segment().address());
            assertThat(host.segment().byteSize()).isEqualTo(SIZE);
            assertThat(gpu.address()).isEqualTo(gpu.range().address());
            Failures.expect(CuFileError.CUDA_MEMORY_TYPE_INVALID, gpu::segment);
        }
    }

    @Test
    void segmentIsReadAndWritten() throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment segment = arena.allocate(SIZE);

            assertThat(file.read(segment, 1)).isEqualTo(SIZE - 1);
            assertThat(segment.asSlice(0, SIZE - 1).mismatch(MemorySegment.ofArray(CONTENT).asSlice(1))).isEqualTo(-1);
            assertThat(file.write(segment.asSlice(0, 2), 0)).isEqualTo(2);
        }
        assertThat(Files.readAllBytes(path)).startsWith(CONTENT[1], CONTENT[2], CONTENT[2]);
    }

    @Test
    void directBufferAdvancesByTheBytesMoved() throws IOException {
        ByteBuffer buffer = ByteBuffer.allocateDirect(SIZE);
        buffer.position(100).limit(300);

        assertThat(file.read(buffer, 50)).isEqualTo(200);
        assertThat(buffer.position()).isEqualTo(300);
        assertThat(buffer.slice(100, 200)).isEqualTo(ByteBuffer.wrap(CONTENT, 50, 200));
        buffer.position(100);
        assertThat(file.write(buffer.asReadOnlyBuffer(), SIZE)).isEqualTo(200);
        assertThat(file.write(buffer, SIZE)).isEqualTo(200);
        assertThat(buffer.hasRemaining()).isFalse();
        assertThat(file.read(buffer, 0)).as("a full buffer").isZero();
        assertThat(Files.readAllBytes(path)).hasSize(SIZE + 200).endsWith(CONTENT[248], CONTENT[249]);
    }

    @Test
    void memoryOfTheJavaHeapIsCopied() throws IOException {
        byte[] bytes = new byte[SIZE + 50];
        assertThat(file.read(bytes, 0)).as("ends with the file").isEqualTo(SIZE);
        assertThat(Arrays.copyOf(bytes, SIZE)).isEqualTo(CONTENT);
        assertThat(Arrays.copyOfRange(bytes, SIZE, SIZE + 50)).containsOnly(0);
        Arrays.fill(bytes, (byte) 77);
        assertThat(file.read(bytes, SIZE)).isZero();
        assertThat(bytes).as("nothing was read").containsOnly(77);
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> file.readFully(bytes, 1));
        assertThat(e.error()).isEqualTo(CuFileError.IO_ERROR);
        assertThat(e.bytesTransferred()).isEqualTo(SIZE - 1);

        ByteBuffer heap = ByteBuffer.allocate(SIZE).position(7);
        assertThat(file.read(heap, 3)).isEqualTo(SIZE - 7);
        assertThat(heap.hasRemaining()).isFalse();
        assertThat(heap.get(7)).isEqualTo(CONTENT[3]);
        long[] longs = new long[2];
        assertThat(file.read(MemorySegment.ofArray(longs), 0)).isEqualTo(16);
        assertThat(MemorySegment.ofArray(longs).toArray(ValueLayout.JAVA_BYTE)).isEqualTo(Arrays.copyOf(CONTENT, 16));

        assertThat(file.write(new byte[]{1, 2, 3}, SIZE)).isEqualTo(3);
        file.force();
        assertThat(Files.readAllBytes(path)).hasSize(SIZE + 3).startsWith(CONTENT).endsWith(1, 2, 3);
        assertThat(file.write(new byte[0], 0)).isZero();
        assertThat(file.read(new byte[0], 0)).isZero();
    }

    @Test
    void longArraysGoInPieces() throws IOException {
        int size = (3 << 20) + 4321;
        byte[] content = RandomBytes.of(5, size);
        assertThat(file.write(content, 17)).isEqualTo(size);
        byte[] back = new byte[size + 9];
        assertThat(file.read(back, 17)).as("ends with the file").isEqualTo(size);
        assertThat(Arrays.copyOf(back, size)).isEqualTo(content);
        assertThat(Arrays.copyOfRange(back, size, size + 9)).containsOnly(0);
        assertThat(Files.readAllBytes(path)).hasSize(17 + size).endsWith(content);
        Failures.expect(CuFileError.INVALID_VALUE, () -> file.read(new byte[2 << 20], Long.MAX_VALUE - (1 << 20)));
    }

    @Test
    void interruptEndsALongArrayAndTellsItsBytes() {
        byte[] content = RandomBytes.of(6, 3 << 20);
        file.write(content, 0);
        byte[] back = new byte[3 << 20];
        Thread.currentThread().interrupt();
        CuFileException e;
        try {
            e = catchThrowableOfType(CuFileInterruptedException.class, () -> file.read(back, 0));
        } finally {
            assertThat(Thread.interrupted()).as("the flag stays set").isTrue();
        }
        assertThat(e.fileOffset()).hasValue(0);
        assertThat(e.size()).hasValue(3 << 20);
        int moved = (int) e.bytesTransferred();
        assertThat(moved).isBetween(0, 1 << 20);
        assertThat(Arrays.copyOf(back, moved)).isEqualTo(Arrays.copyOf(content, moved));
        assertThat(Arrays.copyOfRange(back, moved, back.length)).containsOnly(0);
    }

    @Test
    void refusalsOfHeapMemoryAreThoseOfNativeMemory() {
        MemorySegment readOnly = MemorySegment.ofArray(new byte[9]).asReadOnly();
        CuFileException e = catchThrowableOfType(CuFileException.class, () -> file.read(readOnly, 3));
        assertThat(e.error()).isEqualTo(CuFileError.PERMISSION_DENIED);
        assertThat(e.path()).contains(path);
        Failures.expect(CuFileError.INVALID_VALUE, () -> file.read(new byte[1], -1));
        Failures.expect(CuFileError.INVALID_VALUE, () -> file.write(new byte[1], -1));
        assertThat(file.write(readOnly, 0)).isEqualTo(9);
        Failures.expect(
                CuFileError.PERMISSION_DENIED, () -> file.read(ByteBuffer.allocateDirect(1).asReadOnlyBuffer(), 0));
    }

    @Test
    void wholeMemoryIsReadFromTheStart() {
        try (MemoryAllocation memory = driver.allocator().allocate(SIZE)) {
            assertThat(file.read(memory)).isEqualTo(SIZE);
            assertThat(content(memory)).isEqualTo(CONTENT);
            assertThat(memory.range().kind()).isEqualTo(driver.allocator().best());
        }
    }

    @Test
    void readFullyFillsTheMemory() {
        ByteBuffer buffer = ByteBuffer.allocateDirect(SIZE);
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE)) {
            file.readFully(memory, 0);
            file.readFully(buffer, 0);
            assertThat(content(memory)).isEqualTo(CONTENT);
            assertThat(buffer.flip()).isEqualTo(ByteBuffer.wrap(CONTENT));
        }
    }

    @Test
    void readFullyThrowsAtTheEndOfTheFile() {
        MemorySegment segment = Arena.ofAuto().allocate(SIZE);
        ByteBuffer buffer = ByteBuffer.allocateDirect(SIZE);
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, SIZE)) {
            for (Runnable read : List.<Runnable>of(
                    () -> file.readFully(memory, 1),
                    () -> file.readFully(segment, 1),
                    () -> file.readFully(buffer, 1))) {
                CuFileException e = catchThrowableOfType(CuFileException.class, read::run);

                assertThat(e).hasMessageContaining("the file ends before the memory is full");
                assertThat(e.error()).isEqualTo(CuFileError.IO_ERROR);
                assertThat(e.errno()).isEmpty();
                assertThat(e.bytesTransferred()).isEqualTo(SIZE - 1);
            }
        }
        assertThat(buffer.position()).isEqualTo(SIZE - 1);
    }
}
