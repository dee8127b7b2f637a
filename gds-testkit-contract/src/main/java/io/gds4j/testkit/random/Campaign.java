package io.gds4j.testkit.random;

import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * A random test of a backend by the whole API, beside a model of each byte: reads, futures, batches, streams, scattered reads, writes,
 * interrupts, cancels and closes on many threads.
 *
 * <pre>{@code
 * new Campaign("ext4", MyBackend::new, List.of(directory), List.of(MemoryKind.HOST)).run(Duration.ofSeconds(10));
 * }</pre>
 *
 * <p>
 * A campaign runs rounds, each with a driver of its own. Takes the seed of the first round from the system property {@value #SEED},
 * else chooses and prints one; later rounds count on from it. A failure names the seed of its round and the last steps of its thread. A step
 * that does not end for a minute fails with the stacks of all threads.
 *
 * <p>
 * The methods that return this object change it. Not thread-safe.
 *
 * @since 0.1
 */
public final class Campaign {
    /** System property with the seed of the first round. */
    public static final String SEED = "gds4j.property.seed";

    /** Rounds that always run: one thread and several, and more than one directory. */
    private static final int FIRST = 2;

    private static final int MIN_STEPS = 60;
    private static final int HANG_SECONDS = 60;

    private final String name;
    private final Function<CuFileConfig, CuFileBackend> backends;
    private final List<Path> directories;
    private final List<MemoryKind> kinds;
    private final List<RandomWork> works = new ArrayList<>();
    private Optional<ProgramGpu> gpu = Optional.empty();
    private Optional<CuFileConfig> config = Optional.empty();
    private Set<Step> steps = EnumSet.allOf(Step.class);
    private int platform = -1;
    private int virtual;
    private int hang = HANG_SECONDS;
    private boolean large;

    /** The sorts of steps. */
    public enum Step {
        /** Reads of files and sources by calls. */
        READ,
        /** Writes, truncations and writes of other programs. */
        WRITE,
        /** Asynchronous reads. */
        FUTURE,
        /** Batches. */
        BATCH,
        /** Batches that are cancelled or closed in flight. */
        CANCEL,
        /** Operations on streams. */
        STREAM,
        /** Scattered reads. */
        SCATTER,
        /** Interrupts of reads. */
        INTERRUPT,
        /** Opening and closing files. */
        HANDLE,
        /** Registering memory. */
        REGISTER,
        /** Freeing and allocating memory. */
        MEMORY,
        /** Closing and opening the driver, where there is one thread. */
        REOPEN
    }

    /**
     * What a campaign did.
     */
    public static final class Outcome {
        private final long seed;
        private final int rounds;
        private final long operations;
        private final long bytes;

        Outcome(long seed, int rounds, long operations, long bytes) {
            this.seed = seed;
            this.rounds = rounds;
            this.operations = operations;
            this.bytes = bytes;
        }

        /** {@return seed of the first round} */
        public long seed() {
            return seed;
        }

        /** {@return number of rounds} */
        public int rounds() {
            return rounds;
        }

        /** {@return number of operations; each entry of a batch is one} */
        public long operations() {
            return operations;
        }

        /** {@return bytes that they moved} */
        public long bytes() {
            return bytes;
        }

        @Override
        public String toString() {
            return "Outcome[seed=" + seed + ", rounds=" + rounds + ", operations=" + operations + ", bytes=" + bytes
                    + ']';
        }
    }

    /**
     * Prepares a campaign whose rounds have one thread and several threads in turn.
     *
     * @param name name of the tested backend or file system, for messages
     * @param backends creates backends with a closed driver
     * @param directories directories for files, which rounds use in turn
     * @param kinds kinds of memory to use
     */
    public Campaign(
            String name, Function<CuFileConfig, CuFileBackend> backends, List<Path> directories,
            List<MemoryKind> kinds) {
        this.name = name;
        this.backends = backends;
        this.directories = List.copyOf(directories);
        this.kinds = List.copyOf(kinds);
    }

    /** Lets the program use a GPU, too, and makes streams there. */
    public Campaign gpu(ProgramGpu program) {
        gpu = Optional.of(program);
        return this;
    }

    /** Sets the numbers of threads of all rounds. */
    public Campaign threads(int platformThreads, int virtualThreads) {
        platform = platformThreads;
        virtual = virtualThreads;
        return this;
    }

    /** Leaves out all other sorts of steps. */
    public Campaign only(Set<Step> sorts) {
        steps = EnumSet.copyOf(sorts);
        return this;
    }

    /** Gives all rounds this configuration instead of random ones. */
    public Campaign config(CuFileConfig fixed) {
        config = Optional.of(fixed);
        return this;
    }

    /**
     * Adds work. Work that {@linkplain RandomWork#isAlone needs the driver alone} is done first: all of it in the first two
     * rounds, one piece in later ones.
     */
    public Campaign with(List<? extends RandomWork> more) {
        works.addAll(more);
        return this;
    }

    /** Begins rounds with situations that random steps hardly meet, such as a graph that is captured beside reads. Takes seconds. */
    public Campaign scenarios() {
        works.addAll(Scenarios.all());
        return this;
    }

    /** Has some rounds use files of 24 MiB and memories of up to 9 MiB. */
    public Campaign longRequests() {
        large = true;
        return this;
    }

    /** Sets the seconds after which a step that has not ended fails. */
    public Campaign hangAfter(int seconds) {
        hang = seconds;
        return this;
    }

    /**
     * Runs at least two rounds, then others until the time is over.
     *
     * @throws AssertionError if something was wrong
     */
    public Outcome run(Duration time) {
        long seed = Long.getLong(SEED, System.nanoTime() & 0x7fffffffL);
        log("%s=%s kinds=%s seconds=%s".formatted(SEED, seed, kinds, time.toMillis() / 1000.0));
        Round.Wish wish = new Round.Wish(
                name, backends, directories, kinds, gpu, Set.copyOf(steps), List.copyOf(works), config, platform,
                virtual,
                large, hang);
        long end = System.nanoTime() + time.toNanos();
        int rounds = 0;
        long operations = 0;
        long bytes = 0;
        while (rounds < FIRST || System.nanoTime() - end < 0) {
            long own = platform < 0 ? seed + rounds / 2 : seed + rounds;
            long[] done =
                    new Round(wish, own, rounds % 2 == 0).run(rounds < FIRST, rounds < FIRST ? MIN_STEPS : 0, end);
            operations += done[0];
            bytes += done[1];
            rounds++;
        }
        log("rounds=%s operations=%s bytes=%s".formatted(rounds, operations, bytes));
        return new Outcome(seed, rounds, operations, bytes);
    }

    private void log(String text) {
        System.getLogger("io.gds4j.testkit").log(Level.INFO, "random operations: on=%s %s".formatted(name, text));
    }
}
