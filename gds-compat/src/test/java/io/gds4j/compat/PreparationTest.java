package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What threads do at the same time as a GPU is prepared: trim, close, and the next preparation. */
@Timeout(value = 10, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PreparationTest {
    private static final int MIB = 1 << 20;

    private final FakeCuda cuda = new FakeCuda(2, 256L << 20);
    private final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
    private final AtomicReference<Consumer<String>> before = new AtomicReference<>(call -> {
    });
    private final CuFileDriver driver = CuFileDriver.open(new CompatBackend(
            CuFileConfig.builder().withoutEnvironment()
                    .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, 1024L))
                    .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(16L, 6L))
                    .set(CuFileKeys.MAX_IO_THREADS, 1L)
                    .build(),
            posix,
            new CountedCuda(cuda.available().driver(), call -> before.get().accept(call)).over(cuda.available())));

    @AfterEach
    void nothingIsLeft() {
        before.set(call -> {
        });
        driver.close();
        assertThat(posix.leaks()).isEmpty();
        assertThat(cuda.violations()).isEmpty();
        assertThat(cuda.leaks()).isEmpty();
    }

    /** Runs an action before the next call of the driver with this name. */
    private void once(String name, Runnable action) {
        before.set(call -> {
            if (call.equals(name)) {
                before.set(other -> {
                });
                action.run();
            }
        });
    }

    private void prepare() {
        driver.allocator().prepare(MemoryKind.CUDA_DEVICE, 0);
    }

    @Test
    void whatATrimUnpinsDuringAPreparationIsPinnedByTheNext() {
        once("moduleLoad", driver::trim); // all slabs are pinned then
        prepare();
        prepare();

        long pinned = cuda.pinnedBytes();
        driver.trim();
        prepare();
        assertThat(pinned).isEqualTo(cuda.pinnedBytes());
    }

    /** The block is idle: a read of host memory has made it. */
    @Test
    void trimUnmapsNoBlockThatAThreadPins(@TempDir Path folder) throws IOException {
        try (CuFileHandle handle = driver.openFile(Files.write(folder.resolve("data"), new byte[MIB]));
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, MIB, MemoryRange.NO_DEVICE)) {
            handle.readScattered(0, MIB,
                    List.of(new ScatterCopy(1, 1000, memory, 0), new ScatterCopy(2, 9, memory, 2000)));
        }
        assertThat(posix.mappedBytes()).isPositive();
        AtomicReference<Thread> trims = new AtomicReference<>();
        long unmaps = posix.calls(PosixCall.MUNMAP);
        once("memHostRegister", () -> {
            trims.set(startUntilItWaits(driver::trim, "BouncePool.trim"));
            assertThat(posix.calls(PosixCall.MUNMAP)).isEqualTo(unmaps);
        });
        prepare();
        join(trims.get());
    }

    @Test
    void aCloseWaitsForAPreparation() {
        AtomicReference<Thread> closes = new AtomicReference<>();
        once("devicePrimaryCtxRetain", () -> closes.set(startUntilItWaits(driver::close, "InFlight.close")));
        prepare();
        join(closes.get());
    }

    @Test
    void aReadWithoutMemoryForSlabsNamesItsFile(@TempDir Path folder) throws Exception {
        Path path = Files.write(folder.resolve("data"), new byte[MIB]);
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, MIB, 0);
                CuFileHandle handle = driver.openFile(path)) {
            prepare();
            handle.read(memory.range(), MIB, 0, 0);
            driver.trim();
            posix.on(PosixCall.MMAP).always().fails(Errno.ENOMEM);
            for (Thread.Builder kind : List.of(Thread.ofPlatform(), Thread.ofVirtual())) {
                FutureTask<Long> read = new FutureTask<>(() -> handle.read(memory.range(), MIB, 0, 0));
                join(kind.start(read));
                assertThatThrownBy(read::get).cause().isInstanceOfSatisfying(CuFileException.class, e -> {
                    assertThat(e.error()).isEqualTo(CuFileError.NOMEM_ERROR);
                    assertThat(e.path()).contains(path);
                });
            }
            posix.heal();
            assertThat(handle.read(memory.range(), MIB, 0, 0)).isEqualTo(MIB);
        }
    }

    /** The stream begins to wait after the prefetch has found that none does, and before it has a stream of its own. */
    @Test
    void aPrefetchAndAStreamDoNotWaitForEachOther(@TempDir Path folder) throws Exception {
        FakeStreams streams = new FakeStreams(cuda);
        Path path = Files.write(folder.resolve("data"), new byte[MIB]);
        streams.inContext(() -> {
            long raw = streams.make();
            try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST_PINNED, MIB, 0);
                    CuFileHandle handle = driver.openFile(path);
                    CuFileStream stream = driver.stream(raw, Set.of())) {
                long[] managed = new long[1];
                cuda.asProgram(() -> assertThat(cuda.memAllocManaged(managed, MIB, Cuda.MEM_ATTACH_GLOBAL)).isZero());
                CuFileStream.Cells read = streams.cells(MIB, 0, 0);
                AtomicReference<Thread> reads = new AtomicReference<>();
                once("ctxPushCurrent", () -> reads.set(startUntilItWaits(
                        () -> stream.read(handle, memory.range(), read), "StreamWaits.begin")));
                driver.allocator().prefetch(MemoryRange.ofAddress(managed[0], MIB, MemoryKind.CUDA_MANAGED, 0), 0);
                join(reads.get());
                streams.synchronize();
                assertThat(FakeStreams.result(read)).isEqualTo(MIB);
                cuda.asProgram(() -> cuda.memFree(managed[0]));
            }
        });
        streams.close();
    }

    /** Starts a thread, and returns when it has ended or waits in a method. */
    private static Thread startUntilItWaits(Runnable action, String method) {
        Thread thread = Thread.ofPlatform().start(action);
        while (thread.isAlive() && !(thread.getState() == Thread.State.WAITING && isIn(thread, method))) {
            Thread.onSpinWait();
        }
        return thread;
    }

    private static boolean isIn(Thread thread, String method) {
        return Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> (frame.getClassName() + "." + frame.getMethodName()).endsWith(method));
    }

    private static void join(Thread thread) {
        Uninterruptibly.join(thread);
    }
}
