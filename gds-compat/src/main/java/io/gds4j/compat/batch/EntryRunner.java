package io.gds4j.compat.batch;

/** Serves claims on one thread. The copies of one claim may go on while the next claim is read. */
public interface EntryRunner extends AutoCloseable {
    /** The result of an entry that was not served in a group. */
    long UNDONE = Long.MIN_VALUE;

    /** The result of an entry whose group failed, and which may have moved bytes. It runs again on its own, even if it is cancelled meanwhile. */
    long BEGUN = UNDONE + 1;

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
