package io.gds4j.engine.staging;

/** The request whose pieces are copied. */
public interface PieceFailures {
    /** Reports that the copy of a piece failed. */
    void failed(long piece, RuntimeException cause);

    /** Returns whether a thread that waits for a lane or a slab may leave: the request was cancelled or interrupted. */
    default boolean isOver() {
        return false;
    }
}
