package io.gds4j.ffi.posix;

/**
 * Sets words in memory when the process ends, in every way it may end: at {@code Runtime.halt} no hook and no Java code runs, but exit
 * handlers of C do. Streams that wait for these words pass then. The exit handlers of libcufile and of the CUDA driver free and unpin
 * memory, which waits for all streams, and would otherwise wait for ever. The last added handler runs first, so that a word must be
 * added after those libraries are open.
 */
public interface ExitHandlers {
    /** Value of a word after its handler ran, as 32 bits. */
    int PASSED = 0x7fff_ffff;

    /** Bytes from the word on that a handler may write. */
    long BYTES = 128;

    /**
     * Adds a handler.
     *
     * @param word address of the word, whose memory stays until the group is forgotten
     * @param group key of {@link #runAndForget}, not 0: an address that no other group uses
     * @return false if no handler will set the word
     */
    boolean add(long word, long group);

    /** Runs the handlers of a group now, and never again. A handler that did not run is not forgotten. */
    void runAndForget(long group);
}
