package io.gds4j.loader.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.internal.file.OpenedFile;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.io.IOException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;

/** What an operation of the matrix works with. Its first attempt is the one that counts and may fail; later ones must succeed. */
public final class Stage implements AutoCloseable {
    /** Bytes of files: several pieces, and no whole number of pages. */
    public static final int SIZE = (3 * 64 << 10) + 1000;

    private static final long PIECE_KB = 64;

    /** Room for two pieces: requests for several GPUs use the halves of a slab. */
    private static final long SLAB_KB = 2 * PIECE_KB;

    private final Machine machine;
    private final CuFileBackend backend;
    private final Path folder;
    private final Operation.Io io;
    private boolean attempted;
    private CuFileDriver driver;
    private CuFileException failure;

    Stage(Machine machine, String backend, Path folder, Operation.Io io) {
        this.machine = machine;
        this.folder = folder;
        this.io = io;
        this.backend = machine.backend(backend, CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, SLAB_KB))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(8L, 8L))
                .set(CuFileKeys.MAX_DIRECT_IO_SIZE_KB, PIECE_KB)
                .set(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB, PIECE_KB)
                .set(CuFileKeys.MAX_IO_THREADS, 2L)
                // without it, new files are served from the page cache
                .set(CuFileKeys.FORCE_ODIRECT_MODE, io == Operation.Io.DIRECT)
                .build());
    }

    /**
     * Runs the part of an operation whose calls count, and of which one may fail.
     *
     * @return the result; empty if it failed with a documented exception
     */
    public <T> Optional<T> attempt(Callable<T> part) throws Exception {
        failure = null;
        if (attempted) {
            return Optional.of(part.call());
        }
        attempted = true;
        try {
            return Optional.of(OpenedFile.with(posix(), () -> machine.calls().during(part)));
        } catch (CuFileException e) {
            failure = e;
            NativeCalls.Fault fault = machine.calls().failed().orElseThrow(() -> e);
            assertThat(e.function()).as("function of %s", e).isNotEmpty();
            if (fault.function().binding() == Posix.class && !(e instanceof CheckpointException)) {
                assertThat(e.errno()).as("errno of %s", e).isPresent(); // that of the call, or EBUSY for a lock
            }
            return Optional.empty();
        }
    }

    /** Returns the bytes that the failed attempt says it has moved. */
    long bytesTransferred() {
        return failure.bytesTransferred();
    }

    /** Returns the driver; opens it first. */
    public CuFileDriver driver() {
        if (driver == null) {
            driver = openDriver();
        }
        return driver;
    }

    CuFileDriver openDriver() {
        return CuFileDriver.open(backend);
    }

    /** Gives a driver that the operation has opened to this stage. */
    void adopt(CuFileDriver opened) {
        driver = opened;
    }

    /** Forgets the driver, which the operation has closed. */
    void forgetDriver() {
        driver = null;
    }

    public Path folder() {
        return folder;
    }

    /** Returns libc as the backends see it. */
    public Posix posix() {
        return machine.watchedPosix();
    }

    GuardedFile file() {
        return GuardedFile.create(folder.resolve("file"), SIZE, 1);
    }

    CuFileHandle open(GuardedFile file) {
        List<OpenOption> options = new ArrayList<>(List.of(StandardOpenOption.READ, StandardOpenOption.WRITE));
        if (io != Operation.Io.BUFFERED) {
            options.add(CuFileOpenOption.DIRECT);
        }
        return driver().openFile(file.path(), options.toArray(OpenOption[]::new));
    }

    GuardedMemory memory(MemoryKind kind) {
        return GuardedMemory.allocate(driver().allocator(), kind, SIZE);
    }

    /** Work with a stream of the program. */
    interface StreamWork {
        void run(long stream, Runnable synchronize) throws Exception;
    }

    /** Runs work with a CUDA stream of the program, in the primary context of the first GPU. */
    void withStream(StreamWork work) throws Exception {
        FakeCuda cuda = machine.cuda();
        long[] context = new long[1];
        long[] stream = new long[1];
        cuda.devicePrimaryCtxRetain(context, 0);
        cuda.ctxPushCurrent(context[0]);
        try {
            cuda.asProgram(() -> cuda.streamCreate(stream, Cuda.STREAM_NON_BLOCKING));
            work.run(stream[0], () -> cuda.streamSynchronize(stream[0]));
        } finally {
            cuda.streamDestroy(stream[0]);
            cuda.ctxPopCurrent(context);
            cuda.devicePrimaryCtxRelease(0);
        }
    }

    /** Checks that nothing is in use, and closes the driver. */
    @Override
    public void close() throws IOException {
        if (driver != null) {
            CuFileDriver last = driver;
            driver = null;
            try (last) {
                long slabs = last.statistics().engine().bouncePoolBytes();
                long requests = last.statistics().engine().queueDepth();
                if (slabs != 0 || requests != 0) {
                    throw new AssertionError(slabs + " bytes of slabs and " + requests + " requests are in use");
                }
            }
        }
    }
}
