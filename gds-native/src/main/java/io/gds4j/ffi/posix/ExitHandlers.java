package io.gds4j.ffi.posix;

/**
 * Lets streams pass the words that they wait for when the process ends, however it does: at {@code Runtime.halt} no hook and no
 * Java code runs, but exit handlers of C do. Those of libcufile and of the CUDA driver free and unpin memory, which waits for all
 * streams, and without us for ever. The last handler that was added runs first: a word is to be added once those libraries are
 * open.
 */
public interface ExitHandlers {
    /** What a word is then, as a number of 32 bits. */
    int PASSED = 0x7fff_ffff;

    /** So many bytes at the word may be written. */
    long BYTES = 128;

    /**
     * Adds a handler.
     *
     * @param word address of the word, whose memory stays until it is forgotten
     * @param group what it is forgotten with, not 0: an address that nobody else uses so
     * @return false if the word will not be written to
     */
    boolean add(long word, long group);

    /** Runs the handlers of a group now, and never again. Those that did not run are not forgotten. */
    void runAndForget(long group);
}
