package io.gds4j.tools.explain;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.LoadDestination;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadReport;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.ParallelTensors;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Time of the first load of a process from memory on this machine: a constant and a part for each byte. Both come from loads of tensors of
 * the checkpoint that are in the page cache. The first one creates classes, threads and slabs, as the load does that is explained. The
 * second one tells what that cost, and how much the third one may read, which tells the speed of further bytes.
 *
 * @param fixedSeconds time of a first load of nothing
 * @param bytesPerSecond speed of what follows, of all bytes that a load reads
 */
record HotLoad(double fixedSeconds, double bytesPerSecond) {

    private static final long MAX_BYTES = 4L << 30;

    /** Bytes in the page cache that tell enough about a larger checkpoint, and bytes of the first loads. */
    private static final long ENOUGH = 64L << 20;

    /** A load of the measurement takes at most this part of the available memory; all three together take half. */
    private static final int SHARE = 6;

    /** Time of the third load, about. */
    private static final double SECONDS = 0.6;

    /**
     * Measures.
     *
     * @throws CuFileException if the loads fail
     * @throws IOException if the page cache has too little of the checkpoint
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
        LoadPlan own = part(plan.select(
                tensor -> tensor.boxes().stream().allMatch(box -> cached.contains(box.file()))), room);
        long least = Math.clamp(plan.bytes() / 2, 1, ENOUGH);
        if (own.bytes() < least) {
            throw new IOException(
                    "the page cache has %s of the checkpoint, and %s are needed to measure loads".formatted(
                            Units.bytes(own.bytes()), Units.bytes(least)));
        }
        long shortest = own.tensors().stream().mapToLong(TensorInfo::length).filter(bytes -> bytes > 0).min().orElse(0);
        LoadPlan few = part(own, Math.max(ENOUGH, shortest));
        try (Loads loads = new Loads(driver, destinations)) {
            double first = seconds(loads.load(few));
            LoadReport warm = loads.load(few);
            double fixed = Math.max(0, first - seconds(warm));
            LoadReport last = loads.load(part(own, (long) (few.bytes() * Math.max(1, SECONDS / seconds(warm)))));
            return new HotLoad(fixed, last.bytesAsked() / seconds(last));
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

    /** Time of a load without that of the headers, which gds load reads while the driver opens. */
    private static double seconds(LoadReport load) {
        return load.seconds() - load.headerSeconds();
    }

    /** Time of a load of this many bytes. */
    double seconds(long bytes) {
        return fixedSeconds + bytes / bytesPerSecond;
    }

    /** Loads from memory. Their tensors stay until the end, so that each load has fresh memory, as the load of a program has. */
    private static final class Loads implements AutoCloseable {
        private final CuFileDriver driver;
        private final List<LoadDestination> destinations;
        private final List<Runnable> loaded = new ArrayList<>();

        Loads(CuFileDriver driver, List<LoadDestination> destinations) {
            this.driver = driver;
            this.destinations = destinations;
        }

        LoadReport load(LoadPlan plan) {
            if (destinations.size() > 1) {
                ParallelTensors tensors = plan.across(destinations, ParallelPlan.replicate()).load(driver);
                loaded.add(tensors::close);
                return tensors.report().load();
            }
            LoadDestination only = destinations.getFirst();
            LoadedTensors tensors = plan.to(only.kind(), only.device()).load(driver);
            loaded.add(tensors::close);
            return tensors.report();
        }

        @Override
        public void close() {
            loaded.forEach(Runnable::run);
        }
    }
}
