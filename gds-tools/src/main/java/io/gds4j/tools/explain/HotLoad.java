package io.gds4j.tools.explain;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadDestination;
import io.gds4j.loader.LoadPlan;
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
 * Time of the first load of a process from memory on this machine: a constant and a part for each byte. Both come from real loads of
 * tensors of the checkpoint that are in the page cache, or else of a generated checkpoint in /dev/shm. The first loads create classes,
 * threads and slabs, as the load does that is explained; those after them tell the speed.
 *
 * @param fixedSeconds time of a first load of nothing, without headers
 * @param bytesPerSecond speed of what follows, of all bytes that a load reads
 * @param own true if measured by loads of the checkpoint, false if by loads of a generated one
 */
record HotLoad(double fixedSeconds, double bytesPerSecond, boolean own) {

    private static final Path MEMORY = Path.of("/dev/shm");
    private static final int TENSOR = 8 << 20;
    private static final long GENERATED = 512L << 20;
    private static final long FIRST = 128L << 20;
    private static final long MAX_BYTES = 4L << 30;

    /** A load of the measurement takes at most this part of the available memory; all five together take half. */
    private static final int SHARE = 10;

    /** A load of the measurement takes about so long at most. */
    private static final double SECONDS = 0.2;

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
        if (part(own, Math.min(FIRST, room)).bytes() >= Math.clamp(plan.bytes(), 1, FIRST / 2)) {
            return measure(driver, destinations, own, true, room);
        }
        long bytes = Math.min(Math.min(GENERATED, room), Files.getFileStore(MEMORY).getUsableSpace() / 2);
        if (bytes < TENSOR) {
            throw new IOException("too little memory is available for loads of %s and more, of files in %s"
                    .formatted(Units.bytes(TENSOR), MEMORY));
        }
        try (TemporaryFolder folder = TemporaryFolder.in(MEMORY, "gds-explain-")) {
            Path file = folder.path().resolve("generated.safetensors");
            write(file, (int) (bytes / TENSOR));
            return measure(driver, destinations, Checkpoint.open(file).plan(), false, room);
        }
    }

    private static HotLoad measure(
            CuFileDriver driver, List<LoadDestination> destinations, LoadPlan plan, boolean own, long room) {
        try (Loads loads = new Loads(driver, destinations, plan)) {
            return loads.measure(own, room);
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

    /**
     * Loads of parts of a plan from memory. Their tensors stay until the end, so that each load has fresh memory, as the load of a program
     * has.
     */
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

        /**
         * Two loads are cold: what they take longer than warm ones is the cost of a first load. Two warm sizes tell the speed, apart from
         * what any load needs to begin and to end.
         */
        HotLoad measure(boolean own, long room) {
            long most = Math.min(room, plan.bytes());
            LoadReport first = load(Math.min(FIRST, most));
            long some = Math.min(most, Math.min(Math.max(first.bytesAsked(), most / 4), within(first)));
            LoadReport second = load(some);
            LoadReport warm = load(some);
            long many = Math.min(most, within(warm));
            LoadReport last = load(many);
            double longest = seconds(last);
            if (longest < SECONDS) {
                longest = (longest + seconds(load(many))) / 2;
            }
            double rate = last.bytesAsked() / longest;
            double slope = (last.bytesAsked() - warm.bytesAsked()) / (longest - seconds(warm));
            if (last.bytesAsked() > 2 * warm.bytesAsked() && slope > rate && slope < 2 * rate) {
                rate = slope;
            }
            double each = longest - last.bytesAsked() / rate;
            double fixed = seconds(first) + seconds(second) - each
                    - (first.bytesAsked() + second.bytesAsked()) / rate;
            return new HotLoad(Math.max(0, fixed), rate, own);
        }

        /** What a load of about {@link #SECONDS} reads, after another one; not less than that one read. */
        private static long within(LoadReport load) {
            return Math.max(load.bytesAsked(), (long) (load.bytesAsked() / seconds(load) * SECONDS));
        }

        /** Time of a load, without that of the headers. */
        private static double seconds(LoadReport load) {
            return load.seconds() - load.headerSeconds();
        }

        private LoadReport load(long bytes) {
            LoadPlan part = part(plan, bytes);
            if (destinations.size() > 1) {
                ParallelTensors tensors = part.across(destinations, ParallelPlan.replicate()).load(driver);
                loaded.add(tensors::close);
                return tensors.report().load();
            }
            LoadDestination only = destinations.getFirst();
            LoadedTensors tensors = part.to(only.kind(), only.device()).load(driver);
            loaded.add(tensors::close);
            return tensors.report();
        }

        @Override
        public void close() {
            loaded.forEach(Runnable::run);
        }
    }
}
