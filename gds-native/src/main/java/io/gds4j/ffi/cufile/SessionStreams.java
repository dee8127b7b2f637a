package io.gds4j.ffi.cufile;

import io.gds4j.spi.StreamRequest;

/** Stream-ordered transfers of one session. */
interface SessionStreams {
    String READ = "cuFileReadAsync";
    String WRITE = "cuFileWriteAsync";

    static String function(boolean write) {
        return write ? WRITE : READ;
    }

    void register(long stream, int flags);

    /** Waits for what was queued on it. */
    void deregister(long stream);

    /**
     * Queues a transfer; the file is entered.
     *
     * @throws io.gds4j.error.CuFileException if it could not be queued; nothing has changed then
     */
    void submit(LibraryFile file, boolean write, StreamRequest request);

    /** Waits until no stream has a transfer of this file before it. */
    void settle(LibraryFile file);

    /** Waits until no stream has a transfer of the memory that is registered at this base before it. */
    void settle(long base);

    /** True while a stream may have a transfer before it. */
    boolean isBusy();

    /** Lets all streams go on whatever is pending: the process ends. */
    void releaseForExit();

    /** Waits for all and forgets all. */
    void close();
}
