package io.gds4j.tools.io;

/** One thread's way of moving bytes: one implementation for each kind of transfer. */
interface Mover extends AutoCloseable {
    /**
     * Moves the bytes of the first {@code count} requests, all under way together where the transfer can, and notes when each
     * began and ended. Complete on return.
     */
    void move(IoRequest[] requests, int count);

    @Override
    void close();
}
