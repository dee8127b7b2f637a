package io.gds4j.compat.deliver;

import io.gds4j.error.CuFileException;

/** Why a piece moved fewer bytes than asked. An enum, not a record for each: a piece that finds no memory must be able to end. */
enum Ending {
    /** The file ends there. Not a failure. */
    END_OF_FILE,
    /** The kernel refused. */
    ERRNO,
    /** A failure that names its code: of the CUDA driver, or of a program's source. */
    FAILED,
    /** The program closed the arena of its memory. */
    ARENA_CLOSED,
    /** An error of gds4j, or of the JVM: the caller gets it as it is. */
    DEFECT;

    /**
     * Returns what a throwable means that moving a piece threw.
     *
     * @param arenaClosed whether an arena of the request's memory is closed, which using it reports by an IllegalStateException
     */
    static Ending of(Throwable thrown, boolean arenaClosed) {
        if (thrown instanceof CuFileException) {
            return FAILED;
        }
        return arenaClosed && thrown instanceof IllegalStateException ? ARENA_CLOSED : DEFECT;
    }
}
