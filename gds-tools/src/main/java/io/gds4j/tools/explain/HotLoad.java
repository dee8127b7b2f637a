package io.gds4j.tools.explain;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadDestination;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadProgress;
import io.gds4j.loader.LoadReport;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.ParallelTensors;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.tools.terminal.TemporaryFolder;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Time of the first load of a process from memory on this machine: a constant and a part for each byte. Both come from loads of tensors of
 * the checkpoint that are in the page cache, or else of a generated checkpoint in /dev/shm. The first one creates classes, threads and
 * slabs, as the load does that is explained, and is that load where all of it is read. Those after it tell the speed of further bytes.
 *
 * @param fixedSeconds time of a first load of nothing
 * @param bytesPerSecond speed of what follows, of all bytes that a load reads
 * @param own true if measured by loads of the checkpoint, false if by loads of a generated one
 */
record HotLoad(double fixedSeconds, double bytesPerSecond, boolean own) {

    private static final Path MEMORY = Path.of("/dev/shm");
    private static final int TENSOR = 8 << 20;
    private static final long GENERATED = 1L << 30;
    private static final long MAX_BYTES = 4L << 30;

    /** Bytes in the page cache that tell enough about a larger checkpoint. */
    private static final long ENOUGH = 64L << 20;

    /** A load of the measurement takes at most this part of the available memory; all three together take half. */
    private static final int SHARE = 6;

    /** A load of the measurement ends early if it takes this much longer than to its first bytes. */
    private static final long MOST_NANOS = 600_000_000;
    private static final double NANOS_PER_SECOND = 1e9;

    /**
     * Measures.
     *
     * @throws CuFileException if the loads fail
     * @throws IOException if neither the page cache nor /dev/shm has enough
     */
    static HotLoad measure(
            CuFileDriver driver, List<LoadDestination> destinations, LoadPlan plan, List<ReadFile> files)
            throws IOException {
        long room = Math.min(MAX_BYTES, driver.allocator().available(MemoryKind.HOST, MemoryRange.NO_DEVICE) / SHARE);
        for (LoadDestination destination : destinations) {
            room = Math.min(room, driver.allocator().available(destination.kind(), destination.device()) / SHARE
                    / destinations.size());
        }
        Set<Path> cached = files.stream().filter(ReadFile::isCached).map(ReadFile::path).collect(Collectors.toSet());
        LoadPlan own = plan.select(tensor -> cached.contains(tensor.file()));
        LoadPlan part = part(own, room);
        if (part.bytes() >= Math.clamp(plan.bytes() / 2, 1, ENOUGH)) {
            return measure(driver, destinations, part, true);
        }
        long bytes = Math.min(Math.min(Math.clamp(plan.bytes(), TENSOR, GENERATED), room),
                Files.getFileStore(MEMORY).getUsableSpace() / 2);
        if (bytes < TENSOR) {
            throw new IOException("too little memory is available for loads of %s and more, of files in %s"
                    .formatted(Units.bytes(TENSOR), MEMORY));
        }
        try (TemporaryFolder folder = TemporaryFolder.in(MEMORY, "gds-explain-")) {
            Path file = folder.inside("generated.safetensors");
            write(file, (int) (bytes / TENSOR));
            return measure(driver, destinations, Checkpoint.open(file).plan(), false);
        }
    }

    private static HotLoad measure(
            CuFileDriver driver, List<LoadDestination> destinations, LoadPlan plan, boolean own) {
        try (Loads loads = new Loads(driver, destinations, plan)) {
            return loads.measure(own);
        }
    }

    /** Chooses tensors in the order of the plan, of these bytes at most. */
    private static LoadPlan part(LoadPlan plan, long bytes) {
        Set<String> names = new HashSet<>();
        long left = bytes;
        for (TensorInfo tensor : plan.tensors()) {
            if (tensor.length() <= left) {
                left -= tensor.length();
                names.add(tensor.name());
            }
        }
        return plan.select(tensor -> names.contains(tensor.name()));
    }

    private static void write(Path file, int tensors) {
        SafetensorsWriter writer = new SafetensorsWriter(file).durable(false);
        for (int i = 0; i < tensors; i++) {
            writer.tensor("t" + i, DType.U8, TENSOR);
        }
        writer.write((name, offset, to) -> to.fill((byte) 0));
    }

    /** Time of a load of this many bytes. */
    double seconds(long bytes) {
        return fixedSeconds + bytes / bytesPerSecond;
    }

    /** Ends a load that takes long. */
    private static final class Enough extends RuntimeException {
        private static final long serialVersionUID = 1;
        private final double fixedSeconds;
        private final double bytesPerSecond;

        Enough(double fixedSeconds, double bytesPerSecond) {
            super(null, null, false, false);
            this.fixedSeconds = fixedSeconds;
            this.bytesPerSecond = bytesPerSecond;
        }
    }

    /** Ends a load that takes long, once it has shown its speed. It opens its files before the first bytes, which tells of no speed. */
    private static final class Watch {
        private final int copies;
        private final long start = System.nanoTime();
        private long firstAt;
        private long firstBytes;

        /** @param copies of each byte that the progress counts */
        Watch(int copies) {
            this.copies = copies;
        }

        void hear(LoadProgress progress) {
            long now = System.nanoTime();
            if (firstBytes == 0) {
                firstAt = now;
                firstBytes = progress.bytes();
            } else if (now - firstAt > MOST_NANOS && progress.bytes() > firstBytes
                    && progress.bytes() < progress.totalBytes()) {
                double bytesPerSecond = (progress.bytes() - firstBytes) * NANOS_PER_SECOND / (now - firstAt);
                double untilFirst = (firstAt - start) / NANOS_PER_SECOND;
                throw new Enough(Math.max(0, untilFirst - firstBytes / bytesPerSecond), bytesPerSecond / copies);
            }
        }
    }

    /** Loads from memory. Their tensors stay until the end, so that each load has fresh memory, as the load of a program has. */
    private static final class Loads implements AutoCloseable {
        private final CuFileDriver driver;
        private final List<LoadDestination> destinations;
        private final LoadPlan plan;
        private final List<Runnable> loaded = new ArrayList<>();

        Loads(CuFileDriver driver, List<LoadDestination> destinations, LoadPlan plan) {
            this.driver = driver;
            this.destinations = destinations;
            this.plan = plan;
        }

        HotLoad measure(boolean own) {
            try {
                LoadReport first = load();
                load();
                LoadReport warm = load();
                return new HotLoad(Math.max(0, seconds(first) - seconds(warm)), warm.bytesAsked() / seconds(warm), own);
            } catch (Enough e) {
                return new HotLoad(e.fixedSeconds, e.bytesPerSecond, own);
            }
        }

        /** Time of a load without that of the headers, which gds load reads while the driver opens. */
        private static double seconds(LoadReport load) {
            return load.seconds() - load.headerSeconds();
        }

        private LoadReport load() {
            Watch watch = new Watch(destinations.size());
            if (destinations.size() > 1) {
                ParallelTensors tensors = plan.across(destinations, ParallelPlan.replicate())
                        .load(driver, watch::hear);
                loaded.add(tensors::close);
                return tensors.report().load();
            }
            LoadDestination only = destinations.getFirst();
            LoadedTensors tensors =
                    plan.to(only.kind(), only.device()).load(driver, watch::hear);
            loaded.add(tensors::close);
            return tensors.report();
        }

        @Override
        public void close() {
            loaded.forEach(Runnable::run);
        }
    }
}
