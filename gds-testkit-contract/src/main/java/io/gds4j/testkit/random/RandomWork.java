package io.gds4j.testkit.random;

import io.gds4j.CuFileDriver;
import io.gds4j.memory.MemoryKind;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/**
 * Work that a {@link Campaign} does beside its own steps, such as loads of checkpoints. Checks what it moves.
 *
 * @since 0.1
 */
@FunctionalInterface
public interface RandomWork {
    /**
     * What work may use.
     */
    static final class Place {
        private final CuFileDriver driver;
        private final Path directory;
        private final List<MemoryKind> kinds;
        private final Optional<ProgramGpu> gpu;
        private final RandomGenerator random;

        /**
         * Copies the list.
         *
         * @param driver as {@link #driver}
         * @param directory as {@link #directory}
         * @param kinds as {@link #kinds}
         * @param gpu as {@link #gpu}
         * @param random as {@link #random}
         */
        public Place(
                CuFileDriver driver,
                Path directory,
                List<MemoryKind> kinds,
                Optional<ProgramGpu> gpu,
                RandomGenerator random) {
            this.driver = driver;
            this.directory = directory;
            this.kinds = List.copyOf(kinds);
            this.gpu = gpu;
            this.random = random;
        }

        /** {@return an open driver, which other threads use too} */
        public CuFileDriver driver() {
            return driver;
        }

        /** {@return a folder for files, which the work removes} */
        public Path directory() {
            return directory;
        }

        /** {@return kinds of memory} */
        public List<MemoryKind> kinds() {
            return kinds;
        }

        /** {@return the program's own use of a GPU; empty without one} */
        public Optional<ProgramGpu> gpu() {
            return gpu;
        }

        /** {@return what decides everything} */
        public RandomGenerator random() {
            return random;
        }

        /** Returns one of the kinds. */
        public MemoryKind kind() {
            return kinds.get(random.nextInt(kinds.size()));
        }

        @Override
        public String toString() {
            return "Place[driver=" + driver + ", directory=" + directory + ", kinds=" + kinds.size() + ", gpu=" + gpu
                    + ", random=" + random + ']';
        }
    }

    /**
     * Does some work.
     *
     * @return number of operations; 0 if it does not apply here
     * @throws Exception if something was wrong
     */
    long run(Place place) throws Exception;

    /** Returns whether the work is done before other threads start. */
    default boolean isAlone() {
        return false;
    }
}
