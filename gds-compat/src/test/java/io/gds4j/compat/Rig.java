package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.ffi.posix.PosixRequest;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A driver over faulty system calls and, if asked, a fake GPU. Closing it checks that nothing is left open, mapped or alive.
 */
public final class Rig implements AutoCloseable {
    public static final int PAGE = 4096;
    /** Bytes of a piece: the largest slab. */
    public static final int PIECE = 64 << 10;

    private final FaultyPosix posix;
    private final FakeCuda cuda = new FakeCuda();
    private final CuFileConfig config;
    private final CudaAvailability availability;
    private final CuFileDriver driver;
    private final List<Path> files = new ArrayList<>();
    private final List<GuardedMemory> memories = new ArrayList<>();

    private Rig(CuFileConfig config, Posix real, boolean gpu) {
        this(config, new FaultyPosix(real), gpu);
    }

    private Rig(CuFileConfig config, FaultyPosix faulty, boolean gpu) {
        this.posix = faulty;
        this.config = config;
        this.availability = gpu ? cuda.available() : new CudaAvailability.Unavailable("no driver in this test", "none");
        this.driver = CuFileDriver.open(new CompatBackend(config, posix, availability));
    }

    private static CuFileConfig config(Consumer<CuFileConfig.Builder> more) {
        CuFileConfig.Builder builder = CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, (long) PIECE >> 10))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(8L, 8L))
                .set(CuFileKeys.MAX_DIRECT_IO_SIZE_KB, (long) PIECE >> 10)
                .set(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB, (long) PIECE >> 10)
                .set(CuFileKeys.MAX_IO_THREADS, 0L)
                // Without direct I/O the backend would read new files from the page cache.
                .set(CuFileKeys.FORCE_ODIRECT_MODE, true);
        more.accept(builder);
        return builder.build();
    }

    /** Opens a driver with one thread, small pieces and all aligned I/O past the page cache, without a GPU. */
    public static Rig onHost() {
        return onHost(builder -> {
        });
    }

    public static Rig onHost(Consumer<CuFileConfig.Builder> more) {
        return new Rig(config(more), FfmPosix.instance(), false);
    }

    /** Opens the same driver with faults from the beginning. */
    public static Rig onHostWith(Consumer<FaultyPosix> faults, Consumer<CuFileConfig.Builder> more) {
        FaultyPosix faulty = new FaultyPosix(FfmPosix.instance());
        faults.accept(faulty);
        return new Rig(config(more), faulty, false);
    }

    /** Opens the same driver with several threads. */
    public static Rig withWorkers() {
        return onHost(builder -> builder.set(CuFileKeys.MAX_IO_THREADS, 4L));
    }

    /** Opens the same driver over system calls that a test answers itself. */
    public static Rig over(Posix real) {
        return over(real, builder -> {
        });
    }

    public static Rig over(Posix real, Consumer<CuFileConfig.Builder> more) {
        return new Rig(config(more), real, false);
    }

    public static Rig withWorkersOver(Posix real) {
        return new Rig(config(builder -> builder.set(CuFileKeys.MAX_IO_THREADS, 4L)), real, false);
    }

    /** Opens the same driver with a fake GPU. */
    public static Rig onGpu() {
        return onGpu(builder -> {
        });
    }

    /** Opens the same driver with a fake GPU and several threads. */
    static Rig onGpuWithWorkers() {
        return onGpu(builder -> builder.set(CuFileKeys.MAX_IO_THREADS, 4L));
    }

    public static Rig onGpu(Consumer<CuFileConfig.Builder> more) {
        return new Rig(config(more), FfmPosix.instance(), true);
    }

    public static Rig onGpuOver(Posix real, Consumer<CuFileConfig.Builder> more) {
        return new Rig(config(more), real, true);
    }

    /** Opens another session over the same machine, which the test closes. */
    public CuFileDriver another() {
        return CuFileDriver.open(new CompatBackend(config, posix, availability));
    }

    public FaultyPosix posix() {
        return posix;
    }

    public FakeCuda cuda() {
        return cuda;
    }

    public CuFileDriver driver() {
        return driver;
    }

    public GuardedFile file(int size) {
        try {
            Path path = Files.createTempFile(TestFolder.onDisk(), "rig", ".bin");
            files.add(path);
            return GuardedFile.create(path, size, size + 17L);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public CuFileHandle open(GuardedFile file) {
        return driver.openFile(
                file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT);
    }

    public GuardedMemory memory(MemoryKind kind, int length) {
        GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), kind, length);
        memories.add(memory);
        return memory;
    }

    public GuardedMemory host(int length) {
        return memory(MemoryKind.HOST, length);
    }

    /** Returns the reads so far that went past the page cache, or the others. */
    public List<PosixRequest> reads(boolean direct) {
        return io(PosixCall.PREAD, direct);
    }

    public List<PosixRequest> writes(boolean direct) {
        return io(PosixCall.PWRITE, direct);
    }

    private List<PosixRequest> io(PosixCall call, boolean direct) {
        return posix.io().stream()
                .filter(request -> request.call() == call && request.isDirect() == direct)
                .toList();
    }

    @Override
    public void close() {
        memories.forEach(GuardedMemory::close);
        driver.close();
        try {
            for (Path path : files) {
                Files.deleteIfExists(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        assertThat(posix.leaks()).as("descriptors and mappings left").isEmpty();
        assertThat(cuda.violations()).as("rules of CUDA broken").isEmpty();
        assertThat(cuda.leaks()).as("CUDA objects left").isEmpty();
    }
}
