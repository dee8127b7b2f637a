package io.gds4j.libcufile.process;

/**
 * A session as {@link LibraryProcess} sees it. At exit the process waits for its users and ends their batches and
 * streams before it closes the library.
 */
public interface LibraryUser {
    /** True while the library works for this session. */
    boolean isBusy();

    /** Cancels the entries of all batches that have not begun. */
    void cancelBatches();

    /** Releases all waiting streams, although operations are pending: the process ends. */
    void releaseStreams();

    /** Destroys all batches. */
    void closeBatches();
}
