package io.gds4j.tools.explain;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadDestination;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.ParallelTensors;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.tools.demo.DemoFolder;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Time of the first load of a process from memory on this machine: a constant and a part for each byte, from real loads of two generated
 * checkpoints in /dev/shm. The first of them loads classes, as the load does that is explained; the fastest tell the speed.
 *
 * @param fixedSeconds time of a first load of nothing, without headers
 * @param bytesPerSecond speed of what follows
 */
record HotLoad(double fixedSeconds, double bytesPerSecond) {
    private static final Path MEMORY = Path.of("/dev/shm");
    private static final int TENSOR = 8 << 20;
    private static final int FEW = 4;
    private static final int MANY = 16;
    private static final int REPEATS = 2;

    /** Measures; empty if /dev/shm has no room, or the loads fail. */
    static Optional<HotLoad> measure(CuFileDriver driver, List<LoadDestination> destinations) {
        try {
            FileStore store = Files.getFileStore(MEMORY);
            if (store.getUsableSpace() < 2L * MANY * TENSOR) {
                return Optional.empty();
            }
            try (DemoFolder folder = DemoFolder.in(MEMORY, "gds-explain-")) {
                Path file = folder.path().resolve("generated.safetensors");
                write(file, FEW);
                double first = load(driver, destinations, file);
                double few = fastest(driver, destinations, file);
                write(file, MANY);
                double many = fastest(driver, destinations, file);
                double rate = many > few
                        ? (double) (MANY - FEW) * TENSOR / (many - few)
                        : (double) MANY * TENSOR / many;
                return Optional.of(new HotLoad(Math.max(0, first - (double) FEW * TENSOR / rate), rate));
            }
        } catch (IOException | CuFileException e) {
            return Optional.empty();
        }
    }

    private static double fastest(CuFileDriver driver, List<LoadDestination> destinations, Path file) {
        double fastest = Double.MAX_VALUE;
        for (int i = 0; i < REPEATS; i++) {
            fastest = Math.min(fastest, load(driver, destinations, file));
        }
        return fastest;
    }

    private static double load(CuFileDriver driver, List<LoadDestination> destinations, Path file) {
        Checkpoint checkpoint = Checkpoint.open(file);
        if (destinations.size() > 1) {
            try (ParallelTensors loaded = checkpoint.plan().across(destinations, ParallelPlan.replicate())
                    .load(driver)) {
                return loaded.report().load().seconds();
            }
        }
        LoadDestination only = destinations.getFirst();
        try (LoadedTensors loaded = checkpoint.plan().to(only.kind(), only.device()).load(driver)) {
            return loaded.report().seconds();
        }
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
}
