package io.gds4j.engine.stream;

import io.gds4j.spi.BatchRequest;

/** Moves the bytes of stream operations. Made by the backend; one thread uses it at a time. */
public interface StreamMover {
    /**
     * Moves the bytes of an operation.
     *
     * @param request the operation with all that was bound late
     * @return bytes moved
     * @throws io.gds4j.error.CuFileException whose code the program finds in the result cell
     */
    long move(BatchRequest request);

    /**
     * Moves a part of a staged operation.
     *
     * @param part its memory is a slab
     * @param operation bytes of all parts
     * @param arrived of a read: may hear of all pieces that were read, from any thread, or of none; not after this method has returned
     * @return bytes moved; a read returns fewer than asked at the end of the file
     * @throws io.gds4j.error.CuFileException whose code the program finds in the result cell
     */
    default long movePart(BatchRequest part, long operation, PieceListener arrived) {
        return move(part);
    }

    /** Ends its use. */
    void giveBack();

    /** Hears which bytes of a part are in its slab. Thread-safe. */
    @FunctionalInterface
    interface PieceListener {
        /**
         * A piece has arrived. Pieces come in any order and once each.
         *
         * @param at offset of its first byte in the part
         * @param bytes at least 1
         */
        void arrived(long at, long bytes);
    }
}
