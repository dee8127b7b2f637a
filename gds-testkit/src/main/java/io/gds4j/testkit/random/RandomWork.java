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
     *
     * @param driver an open driver, which other threads use too
     * @param directory a folder for files, which the work removes
     * @param kinds kinds of memory
     * @param gpu the program's own use of a GPU; empty without one
     * @param random decides everything
     */
    record Place(
            CuFileDriver driver, Path directory, List<MemoryKind> kinds, Optional<ProgramGpu> gpu,
            RandomGenerator random) {
        /** Copies the list. */
        public Place {
            kinds = List.copyOf(kinds);
        }

        /** Returns one of the kinds. */
        public MemoryKind kind() {
            return kinds.get(random.nextInt(kinds.size()));
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
