package io.gds4j.testkit.random;

import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;

/**
 * Runs random sequences on a backend, one after the other, for a given time.
 *
 * <pre>{@code
 * new RandomRuns("ext4", MyBackend::new, directory, List.of(MemoryKind.HOST)).run(Duration.ofSeconds(10));
 * }</pre>
 *
 * <p>
 * Takes the seed of the first sequence from the system property {@value #SEED}, else chooses and prints one. Each
 * following sequence uses the next number. A failure names the seed of its sequence.
 *
 * @since 0.1
 */
public final class RandomRuns {
    /** System property with the seed of the first sequence. */
    public static final String SEED = "gds4j.property.seed";

    private static final int OPERATIONS = 120;

    private final String name;
    private final Function<CuFileConfig, CuFileBackend> backends;
    private final Path directory;
    private final List<MemoryKind> kinds;

    /**
     * Prepares runs.
     *
     * @param name name of the tested backend or file system, for messages
     * @param backends creates backends with a closed driver
     * @param directory directory for files
     * @param kinds kinds of memory to use
     */
    public RandomRuns(
            String name, Function<CuFileConfig, CuFileBackend> backends, Path directory, List<MemoryKind> kinds) {
        this.name = name;
        this.backends = backends;
        this.directory = directory;
        this.kinds = List.copyOf(kinds);
    }

    /**
     * Runs at least one sequence of each sort: one thread with several handles, and several threads on disjoint parts
     * of a file.
     *
     * @return number of sequences that ran
     */
    public int run(Duration time) {
        long seed = Long.getLong(SEED, System.nanoTime() & 0x7fffffffL);
        System.getLogger("io.gds4j.testkit").log(Level.INFO, "random operations: on=%s kinds=%s seconds=%s %s=%s"
                .formatted(name, kinds, time.toMillis() / 1000.0, SEED, seed));
        long end = System.nanoTime() + time.toNanos();
        int sequences = 0;
        while (sequences < 2 || System.nanoTime() < end) {
            long own = seed + sequences / 2;
            if (sequences % 2 == 0) {
                new RandomSequence(name, backends, directory, kinds, own).run(OPERATIONS);
            } else {
                new RandomCrowd(name, backends, directory, kinds, own).run(OPERATIONS / 4);
            }
            sequences++;
        }
        System.getLogger("io.gds4j.testkit")
                .log(Level.INFO, "random operations: on=%s sequences=%s".formatted(name, sequences));
        return sequences;
    }
}
