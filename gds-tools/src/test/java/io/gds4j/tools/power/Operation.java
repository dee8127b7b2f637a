package io.gds4j.tools.power;

import java.nio.file.Path;

/** A call that makes a promise about crashes. Rounds count from 1, and each leaves content that its number decides. */
interface Operation {
    /** Phase of a round that has begun. */
    String BEGUN = "begun";
    /** Phase of a round whose call has returned. */
    String DONE = "done";

    /** Tells that a round has come to a phase. */
    interface Phases {
        /** All that happened before this call happens before the phase. */
        void reached(String phase) throws Exception;
    }

    /** Returns its name in marks and tables. */
    String name();

    /** Does one round below a folder; tells phases between {@link #BEGUN} and {@link #DONE}, which the caller tells. */
    void run(Path root, int round, Phases phases) throws Exception;

    /**
     * Checks the promise after a crash, and that the next call repairs what it left.
     *
     * @param round the last round that had begun
     * @param phase what it had come to
     * @throws Exception or an error that says which promise is broken
     */
    void check(Path root, int round, String phase) throws Exception;
}
