package io.gds4j.compat.batch;

/** Serves claims on one thread. The copies of one claim may go on while the next claim is read. */
interface EntryRunner extends AutoCloseable {
    /** The result of an entry that was not served in a group. */
    long UNDONE = Long.MIN_VALUE;

    /** The result of an entry whose group failed. It may have moved bytes, so it runs again on its own, even if it is cancelled meanwhile. */
    long BEGUN = UNDONE + 1;

    /** Returns whether an entry with this result still has to run on its own. */
    static boolean isUndone(long result) {
        return result == UNDONE || result == BEGUN;
    }

    /**
     * Serves a claim. It ends here, in a later call, or in {@link #settle}. If this throws, the caller fails what has not ended of
     * this claim, and all earlier claims have ended.
     */
    void run(Claim claim);

    /** Ends all claims. */
    void settle();

    /** Frees the thread's resources. */
    @Override
    void close();
}
