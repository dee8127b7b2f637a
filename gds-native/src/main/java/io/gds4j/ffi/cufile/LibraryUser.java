package io.gds4j.ffi.cufile;

/** A session as the library's process sees it: one user of the open library, which must end before the library is closed. */
interface LibraryUser {
    /** True while the library works for this session. */
    boolean isBusy();

    /** Cancels the entries of all batches that have not begun. */
    void cancelBatches();

    /** Lets all streams go on, whatever is pending: the process ends. */
    void releaseStreams();

    /** Destroys all batches. */
    void closeBatches();
}
