package io.gds4j.testkit.random;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.random.RandomGenerator;

/** What the threads of a round share: the driver, files that never change, and the counts. */
final class Ground {
    private static final int PAGE = 4096;
    private static final int[] SMALL_FILES = {3 << 20, (1 << 20) + 12_345, 100_000, 8 * PAGE};
    private static final int[] LARGE_FILES = {24 << 20, (6 << 20) + 12_345, 100_000, 8 * PAGE};

    /** Bytes of most memories at most, and of those that make long requests. */
    private static final int SMALL_MEMORY = 1 << 20;
    private static final int LARGE_MEMORY = 9 << 20;

    final Path directory;
    final List<MemoryKind> kinds;
    final Optional<ProgramGpu> gpu;
    final int piece;
    final boolean large;
    final List<DataFile> data = new ArrayList<>();
    final LongAdder operations = new LongAdder();
    final LongAdder bytes = new LongAdder();
    private final CuFileBackend backend;
    private volatile CuFileDriver driver;
    private volatile boolean batches;
    private volatile Optional<Boolean> streams = Optional.empty();

    /**
     * Opens a driver and makes the files.
     *
     * @param piece size of the largest bounce buffer, bytes
     * @param large whether there are long requests
     */
    Ground(
            CuFileBackend backend, Path directory, List<MemoryKind> kinds, Optional<ProgramGpu> gpu, int piece,
            boolean large, long seed) {
        this.backend = backend;
        this.directory = directory;
        this.kinds = kinds;
        this.gpu = gpu;
        this.piece = piece;
        this.large = large;
        int[] sizes = large ? LARGE_FILES : SMALL_FILES;
        for (int i = 0; i < sizes.length; i++) {
            data.add(new DataFile(directory.resolve("data%s-%s".formatted(seed, i)), sizes[i], seed + i));
        }
        this.driver = CuFileDriver.open(backend);
        open();
    }

    CuFileDriver driver() {
        return driver;
    }

    /** Closes the driver and opens it anew. For a thread that is alone. */
    void reopen() {
        driver.close();
        driver = CuFileDriver.open(backend);
        open();
    }

    private void open() {
        data.forEach(file -> file.open(driver));
        batches = serves(() -> driver.batch(1).close());
        streams = Optional.empty();
    }

    /** Returns whether a driver serves operations on the program's streams. */
    static boolean servesStreams(RandomWork.Place place) {
        return serves(() -> {
            CuFileDriver driver = place.driver();
            Path path = place.directory().resolve("served" + Thread.currentThread().threadId());
            try (CuFileHandle handle =
                    driver.openFile(path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
                    MemoryAllocation memory = driver.allocator().allocate(place.kinds().getFirst(), PAGE);
                    ProgramStream program = newStream(place.gpu());
                    CuFileStream stream = driver.stream(program.address(), Set.of())) {
                stream.read(handle, memory, CuFileStream.Cells.of(1, 0, 0));
            } finally {
                path.toFile().delete();
            }
        });
    }

    private static boolean serves(Runnable call) {
        try {
            call.run();
            return true;
        } catch (CuFileException e) {
            if (e.error() == CuFileError.IO_NOT_SUPPORTED || e.error() == CuFileError.ASYNC_NOT_SUPPORTED) {
                return false;
            }
            throw e;
        }
    }

    boolean servesBatches() {
        return batches;
    }

    /** Asks at the first call: registering a stream prepares a GPU. */
    boolean servesStreams() {
        Optional<Boolean> known = streams;
        if (known.isEmpty()) {
            known = Optional
                    .of(servesStreams(new RandomWork.Place(driver, directory, kinds, gpu, new SplittableRandom())));
            streams = known;
        }
        return known.get();
    }

    /** Returns a stream of the program; without a GPU it is a {@link HostProgramStream}. */
    ProgramStream newStream() {
        return newStream(gpu);
    }

    private static ProgramStream newStream(Optional<ProgramGpu> gpu) {
        return gpu.isPresent() ? gpu.get().newStream() : new HostProgramStream();
    }

    DataFile anyData(RandomGenerator random) {
        return data.get(random.nextInt(5) < 3 ? random.nextInt(2) : random.nextInt(data.size()));
    }

    MemoryKind anyKind(RandomGenerator random) {
        return kinds.get(random.nextInt(kinds.size()));
    }

    int largestMemory() {
        return large ? LARGE_MEMORY : SMALL_MEMORY;
    }

    /** Counts operations that are over, with their bytes. */
    void count(long done, long moved) {
        operations.add(done);
        bytes.add(moved);
    }

    /** Closes the driver. */
    void close() {
        driver.close();
    }

    /** Deletes the files. */
    void delete() throws IOException {
        for (DataFile file : data) {
            file.delete();
        }
    }
}
