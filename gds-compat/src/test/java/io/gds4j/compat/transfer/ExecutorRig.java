package io.gds4j.compat.transfer;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileOpenOption;
import io.gds4j.compat.FakePageCache;
import io.gds4j.compat.PosixOverlay;
import io.gds4j.compat.TestFolder;
import io.gds4j.compat.deliver.ThreadContext;
import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.IoPolicy;
import io.gds4j.compat.file.RegisteredFiles;
import io.gds4j.compat.file.RequestLog;
import io.gds4j.compat.plan.Parallelism;
import io.gds4j.compat.plan.TransferPlanner;
import io.gds4j.compat.work.TransferEngine;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.staging.BouncePool;
import io.gds4j.engine.staging.PreparedGpus;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.DriverLimits;
import io.gds4j.spi.FileSource;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An executor over a fake GPU driver and a page cache that holds what the test says. A test sees its parts: which requests are at
 * work, and what serves the next one.
 */
final class ExecutorRig implements AutoCloseable {
    private static final int WORKERS = 3;

    final FakeCuda cuda = new FakeCuda(3, 256L << 20);
    final FakePageCache cache = FakePageCache.ofFirst(1);
    final CudaContexts contexts = cuda.available().cudaContexts().orElseThrow();
    final BouncePool pool;
    final PreparedGpus gpus;
    final TransferEngine engine;
    final TransferPlanner planner;
    final RequestExecutor executor;

    /** Contexts of callers that were made. */
    final AtomicInteger contextsOfCallers = new AtomicInteger();

    /** What was logged as failed. */
    final List<CuFileException> failures = new ArrayList<>();

    private final Arena arena = Arena.ofShared();
    private final RequestLog log;
    private final RegisteredFiles files;
    private final List<CompatFile> opened = new ArrayList<>();
    private final List<Path> paths = new ArrayList<>();
    private final List<MemoryRange> allocated = new ArrayList<>();
    private volatile @Nullable Runnable beforeIo;

    /** Whether the system call that moved bytes last got the segment of an arena, not an address. */
    volatile boolean usesSegment;

    ExecutorRig() {
        this(builder -> {
        });
    }

    ExecutorRig(Consumer<CuFileConfig.Builder> more) {
        Posix posix = PosixOverlay.of((call, arguments, kernel) -> {
            Runnable before = beforeIo;
            if (call.getName().equals("pread") || call.getName().equals("pwrite")) {
                usesSegment = arguments[1] instanceof MemorySegment;
                if (before != null) {
                    before.run();
                }
            }
            return cache.answer(call, arguments, kernel);
        });
        CuFileConfig.Builder builder =
                CuFileConfig.builder().withoutEnvironment().set(CuFileKeys.MAX_IO_THREADS, (long) WORKERS);
        more.accept(builder);
        CuFileConfig config = builder.build();
        log = new RequestLog() {
            @Override
            public boolean isOn(Severity severity) {
                return false;
            }

            @Override
            public void log(Severity severity, String format, @Nullable Object... arguments) {
                // only failures count here
            }

            @Override
            public void failed(CuFileException failure) {
                failures.add(failure);
            }

            @Override
            public void error(String message, Throwable cause) {
                throw new AssertionError(message, cause);
            }
        };
        Parallelism parallelism = Parallelism.of(config, WORKERS + 1);
        PathCounters counters = new PathCounters();
        pool = new BouncePool(posix, Optional.of(contexts), warning -> {
            throw new AssertionError(warning);
        }, config, WORKERS + 1);
        // A clock that goes while the host sends: copies between GPUs take no time.
        gpus = new PreparedGpus(contexts, pool, () -> cuda.calls(CudaFunction.MEMCPY_HTOD_ASYNC));
        engine = new TransferEngine(parallelism, heedsInterrupts -> {
            contextsOfCallers.addAndGet(heedsInterrupts ? 1 : 0);
            return new ThreadContext(heedsInterrupts, posix, counters, pool, contexts);
        }, gpu -> {
            // threads stay where they are
        }, true);
        planner = new TransferPlanner(posix, IoPolicy.AUTO, new DriverLimits(config), pool.pieceSize(), parallelism,
                engine.load(), () -> Long.MAX_VALUE);
        files = new RegisteredFiles(posix, IoPolicy.AUTO, log);
        executor = executor(gpus);
    }

    /** Returns another executor over the same parts. */
    RequestExecutor executor(@Nullable PreparedGpus known) {
        return new RequestExecutor(files.descriptorTable(), planner, engine, pool, known, true, log);
    }

    /** Runs something before each read and write of a file, on the thread that reads or writes. */
    void beforeIo(@Nullable Runnable action) {
        beforeIo = action;
    }

    /** Returns random bytes, always the same for a size. */
    static byte[] content(int size) {
        return RandomBytes.of(7, size);
    }

    /** Opens a new file with {@link #content} of which nothing is cached. */
    CompatFile file(int size, CuFileOpenOption... options) {
        try {
            Path path = Files.write(Files.createTempFile(TestFolder.onDisk(), "executor", ".bin"), content(size));
            paths.add(path);
            cache.drop(0, 0);
            List<OpenOption> all = new ArrayList<>(List.of(options));
            all.addAll(List.of(StandardOpenOption.READ, StandardOpenOption.WRITE));
            return open(FileSource.Named.of(path, all.toArray(OpenOption[]::new)));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Opens such a file that is cached. */
    CompatFile cached(int size) {
        CompatFile file = file(size);
        cache.fill(0, size);
        return file;
    }

    CompatFile open(FileSource source) {
        CompatFile file = files.register(source);
        opened.add(file);
        return file;
    }

    MemoryRange host(long size) {
        return MemoryRange.ofSegment(arena.allocate(size, 4096));
    }

    MemoryRange gpu(int gpu, MemoryKind kind, long size) {
        long[] address = new long[1];
        boolean managed = kind == MemoryKind.CUDA_MANAGED;
        assertThat(contexts.in(contexts.primary(gpu), () -> managed
                ? cuda.memAllocManaged(address, size, Cuda.MEM_ATTACH_GLOBAL) : cuda.memAlloc(address, size)))
                .isZero();
        MemoryRange memory = MemoryRange.ofAddress(address[0], size, kind, gpu);
        allocated.add(memory);
        cuda.poke(memory.address(), new byte[(int) size]);
        return memory;
    }

    MemoryRange gpu(int gpu, long size) {
        return gpu(gpu, MemoryKind.CUDA_DEVICE, size);
    }

    /** Returns the first bytes of memory. */
    byte[] bytes(MemoryRange memory, int size) {
        return memory.kind().isHost()
                ? MemorySegment.ofAddress(memory.address()).reinterpret(size).toArray(ValueLayout.JAVA_BYTE)
                : cuda.peek(memory.address(), size);
    }

    /** Closes all, and checks that no request is left, on no GPU. */
    @Override
    public void close() throws IOException {
        opened.forEach(files::deregister);
        assertThat(pool.bytesInUse()).as("bytes of slabs in use").isZero();
        engine.close();
        allocated.forEach(memory -> contexts.in(
                contexts.primary(memory.device()), () -> cuda.memFree(memory.address())));
        gpus.close();
        pool.close();
        files.close();
        arena.close();
        for (Path path : paths) {
            Files.delete(path);
        }
        assertThat(cuda.violations()).isEmpty();
    }
}
