package io.gds4j.engine.stream;

/** Lends the movers that serve the streams of a session. Made by the backend; thread-safe. */
public interface StreamMovers {
    /** Makes what operations need while streams wait for them. Called before the first stream waits. */
    void prepareForWaits();

    /** Returns true if some operations are staged ({@link StreamTransfer#isStaged}): their slabs are made in advance. */
    default boolean stages() {
        return false;
    }

    /** Returns a mover for host streams; {@link StreamMover#giveBack} ends its use. */
    StreamMover borrow();

    /**
     * Returns a mover that has all it needs for memory of a CUDA context, so that it makes nothing while streams wait.
     *
     * @throws io.gds4j.error.CuFileException if CUDA refuses; then there is nothing to give back
     */
    StreamMover borrow(long context);
}
