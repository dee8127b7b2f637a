package io.gds4j.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.CuFileStream.Cells;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every kind of call fails as planned with memory of a fake GPU; the extension checks that each fault happened. */
class FakeGpuFaultsTest {
    private static final int SIZE = 10_000;
    private static final int MOVED = 100;

    private final FakeGpu gpu = FakeGpu.create();

    @RegisterExtension
    final GdsExtension gds = GdsExtension.over(gpu);

    @TempDir
    Path directory;

    private GuardedFile file;

    @BeforeEach
    void createFile() {
        file = GuardedFile.create(directory.resolve("file"), SIZE, 1);
    }

    private CuFileHandle handle() {
        return gds.driver().openFile(file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    private MemoryAllocation memory() {
        return gds.driver().allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE);
    }

    /** Makes one call, which fails. */
    private void call(Call call, CuFileHandle handle, MemoryRange memory) {
        switch (call) {
            case OPEN -> handle().close();
            case CLOSE -> handle.close();
            case FSYNC -> handle.force(false);
            case TRUNCATE -> handle.truncate(1);
            case RESERVE -> handle.reserve(SIZE);
            case READ -> get(handle.readAsync(memory, 0));
            case WRITE -> get(handle.writeAsync(memory, 0));
            case READV -> handle.readv(List.of(memory.slice(0, 50), memory.slice(50, SIZE - 50)), 0);
            case WRITEV -> handle.writev(List.of(memory.slice(0, 50), memory.slice(50, SIZE - 50)), 0);
            case BATCH_READ, BATCH_WRITE -> {
                try (CuFileBatch batch = gds.driver().batch(1)) {
                    batch.submit(List.of(new Request(handle, call == Call.BATCH_WRITE, memory, SIZE, 0, 0)));
                    Completion done = batch.await(1, Duration.ofSeconds(60)).getFirst();
                    throw done.failure().orElseThrow();
                }
            }
            case STREAM_READ, STREAM_WRITE -> stream(call == Call.STREAM_WRITE, handle, memory);
            case REGISTER -> gds.driver().registerBuffer(memory).close();
            case ALLOCATE -> memory().close();
        }
    }

    private void stream(boolean write, CuFileHandle handle, MemoryRange memory) {
        Cells cells = Cells.of(SIZE, 0, 0);
        try (FakeStream stream = gpu.newStream();
                CuFileStream ordered = gds.driver().stream(stream.address(), Set.of())) {
            if (write) {
                ordered.write(handle, memory, cells);
            } else {
                ordered.read(handle, memory, cells);
            }
            stream.synchronize();
        }
        throw CuFileException.builder("bytesDone").errno((int) -cells.bytesDone()).build();
    }

    private static void get(Future<Long> future) {
        try {
            future.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof CuFileException failure) {
                throw failure;
            }
            throw new AssertionError(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @EnumSource(Call.class)
    void everyKindOfCallFailsAsPlanned(Call call) {
        try (CuFileHandle handle = handle();
                MemoryAllocation memory = memory()) {
            byte[] before = bytes(memory.range());
            gds.faults().on(call).after(MOVED).fails(Errno.ENOSPC);
            Failures.expectErrno(Errno.ENOSPC, () -> call(call, handle, memory.range()));
            if (Call.reads().contains(call)) {
                assertThat(bytes(memory.range().slice(0, MOVED))).isEqualTo(file.expected(0, MOVED));
                assertThat(bytes(memory.range())).endsWith(Arrays.copyOfRange(before, MOVED, SIZE));
            } else if (Call.writes().contains(call)) {
                file.expectWrite(0, Arrays.copyOf(before, MOVED));
            }
        }
        file.verify();
    }

    private byte[] bytes(MemoryRange range) {
        return gpu.segment(range).toArray(ValueLayout.JAVA_BYTE);
    }

    @Test
    void faultsOfOneFileSpareOthers() {
        GuardedFile other = GuardedFile.create(directory.resolve("other"), SIZE, 2);
        gds.faults().on(Call.reads()).file(Path.of("other")).always().fails(Errno.EIO);
        try (CuFileHandle good = handle();
                CuFileHandle bad = gds.driver().openFile(other.path());
                MemoryAllocation memory = memory();
                CuFileBatch batch = gds.driver().batch(2)) {
            batch.submit(List.of(
                    Request.read(good, memory, MOVED, 0, 0), Request.read(bad, memory, MOVED, 0, MOVED)));
            assertThat(batch.await(2, Duration.ofSeconds(60)))
                    .allMatch(done -> done.isComplete() == (done.request().handle() == good));
            Failures.expectErrno(Errno.EIO, () -> bad.readv(List.of(memory.range()), 0));
            assertThat(good.read(memory, 0)).isEqualTo(SIZE);
        }
    }
}
