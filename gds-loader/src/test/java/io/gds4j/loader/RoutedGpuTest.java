package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.internal.routing.RoutingBackend;
import io.gds4j.libcufile.FakeMachine;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.ForwardingBackend;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Drivers of two backends over one GPU: libcufile takes some files, the compat engine the others. */
@Tag("slow")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RoutedGpuTest {
    private static final int SIZE = 100_000;
    private static final int OPENS = 10;

    private final FakeCuda cuda = new FakeCuda(2, 64L << 20);
    private final FakeMachine machine = new FakeMachine(cuda, false, FfmPosix.instance(), this::heldUp);

    /** Runs within each read of libcufile. */
    private final AtomicReference<Runnable> reading = new AtomicReference<>(() -> {
    });

    private CuFileLibrary heldUp(CuFileLibrary library) {
        return (CuFileLibrary) Proxy.newProxyInstance(
                CuFileLibrary.class.getClassLoader(), new Class<?>[]{CuFileLibrary.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("read")) {
                        reading.get().run();
                    }
                    try {
                        return method.invoke(library, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private CuFileDriver open() {
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().build();
        CuFileBackend first = new ForwardingBackend(machine.backend(config)) {
            @Override
            public BackendFile handleRegister(FileSource source) {
                BackendFile file = delegate().handleRegister(source);
                if (file.path().filter(path -> path.endsWith("second")).isEmpty()) {
                    return file;
                }
                delegate().handleDeregister(file);
                throw CuFileException.of(CuFileError.INTERNAL_ERROR, "cuFileHandleRegister", "not on this disk");
            }
        };
        return CuFileDriver.open(new RoutingBackend(
                first, () -> new CompatBackend(config, FfmPosix.instance(), cuda.available())));
    }

    private static Path file(Path folder, String name) throws Exception {
        return Files.write(folder.resolve(name), new byte[SIZE]);
    }

    /** The stream waits for libcufile to read: until then, the second backend makes nothing for its first request. */
    @Test
    void theSecondBackendPreparesTheGpuWhenNoStreamOfTheFirstWaits(@TempDir Path folder) throws Exception {
        long[] context = new long[1];
        assertThat(cuda.devicePrimaryCtxRetain(context, 0)).isZero();
        assertThat(cuda.ctxPushCurrent(context[0])).isZero();
        long[] raw = new long[1];
        assertThat(cuda.streamCreate(raw, Cuda.STREAM_NON_BLOCKING)).isZero();
        try (Arena arena = Arena.ofShared();
                CuFileDriver driver = open();
                MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE);
                MemoryAllocation other = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE);
                CuFileHandle ofFirst = driver.openFile(file(folder, "first"));
                CuFileHandle ofSecond = driver.openFile(file(folder, "second"));
                CuFileStream stream = driver.stream(raw[0], Set.of())) {
            CountDownLatch reads = new CountDownLatch(1);
            CountDownLatch mayRead = new CountDownLatch(1);
            reading.set(() -> {
                reads.countDown();
                Uninterruptibly.await(mayRead::await);
            });
            CuFileStream.Cells cells = new CuFileStream.Cells(
                    cell(arena, SIZE), cell(arena, 0), cell(arena, 0), cell(arena, -77));
            stream.read(ofFirst, memory.range(), cells);
            reads.await();
            FutureTask<Long> read = new FutureTask<>(() -> ofSecond.read(other.range(), 0));
            Thread reader = Thread.ofPlatform().start(read);
            while (reader.isAlive() && !waitsForStreams(reader)) {
                Thread.onSpinWait();
            }
            mayRead.countDown();
            assertThat(cuda.streamSynchronize(raw[0])).isZero();
            assertThat(read.get()).isEqualTo(SIZE);
            assertThat(cells.bytesDone()).isEqualTo(SIZE);
        } finally {
            cuda.streamDestroy(raw[0]);
            cuda.ctxPopCurrent(context);
            cuda.devicePrimaryCtxRelease(0);
        }
        assertThat(cuda.violations()).isEmpty();
        assertThat(cuda.leaks()).isEmpty();
    }

    /** Memory and stream are those of a context that the program made, and that lives longer than each driver. */
    @Test
    void driversLeaveNothingOfStreamsInAContextOfTheProgram(@TempDir Path folder) throws Exception {
        Path first = file(folder, "first");
        Path second = file(folder, "second");
        long context = cuda.createContext(0);
        assertThat(cuda.ctxPushCurrent(context)).isZero();
        long[] raw = new long[1];
        assertThat(cuda.streamCreate(raw, Cuda.STREAM_NON_BLOCKING)).isZero();
        long[] memory = new long[1];
        assertThat(cuda.memAlloc(memory, SIZE)).isZero();
        MemoryRange range = MemoryRange.ofAddress(memory[0], SIZE, MemoryKind.CUDA_DEVICE, 0);
        List<String> before = cuda.leaks();
        for (int i = 0; i < OPENS; i++) {
            try (Arena arena = Arena.ofShared();
                    CuFileDriver driver = open();
                    CuFileHandle ofFirst = driver.openFile(first);
                    CuFileHandle ofSecond = driver.openFile(second);
                    CuFileStream stream = driver.stream(raw[0], Set.of())) {
                for (CuFileHandle handle : List.of(ofFirst, ofSecond)) {
                    CuFileStream.Cells cells = new CuFileStream.Cells(
                            cell(arena, SIZE), cell(arena, 0), cell(arena, 0), cell(arena, -77));
                    stream.read(handle, range, cells);
                    assertThat(cuda.streamSynchronize(raw[0])).isZero();
                    assertThat(cells.bytesDone()).isEqualTo(SIZE);
                }
            }
            assertThat(cuda.leaks()).as("driver %s", i).containsExactlyInAnyOrderElementsOf(before);
        }
        cuda.memFree(memory[0]);
        cuda.streamDestroy(raw[0]);
        cuda.ctxPopCurrent(new long[1]);
        assertThat(cuda.violations()).isEmpty();
    }

    private static MemorySegment cell(Arena arena, long value) {
        return arena.allocateFrom(ValueLayout.JAVA_LONG, value);
    }

    private static boolean waitsForStreams(Thread thread) {
        return Arrays.stream(thread.getStackTrace()).anyMatch(frame -> frame.getClassName().endsWith(".LongWait"));
    }

    @Test
    void driversLeaveNothingInAGpu(@TempDir Path folder) throws Exception {
        Path second = file(folder, "second");
        Path first = file(folder, "first");
        for (int gpu = 0; gpu < 2; gpu++) {
            for (int i = 0; i < OPENS; i++) {
                try (CuFileDriver driver = open();
                        MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE, gpu);
                        CuFileHandle ofFirst = driver.openFile(first);
                        CuFileHandle ofSecond = driver.openFile(second)) {
                    MemoryRange range = memory.range();
                    assertThat(ofFirst.read(range, 0)).isEqualTo(SIZE);
                    assertThat(ofSecond.read(range, 0)).isEqualTo(SIZE);
                }
                assertThat(cuda.leaks()).as("GPU %s, driver %s", gpu, i).isEmpty();
            }
        }
        assertThat(cuda.violations()).isEmpty();
    }
}
