package io.gds4j.tools.io;

/** Moves the bytes of one thread; one implementation per transfer type. */
interface Mover extends AutoCloseable {
    /**
     * Moves the bytes of the first {@code count} requests, and records when each started and ended. The requests run
     * concurrently if the transfer type can. All are complete on return.
     */
    void move(IoRequest[] requests, int count);

    @Override
    void close();
}
