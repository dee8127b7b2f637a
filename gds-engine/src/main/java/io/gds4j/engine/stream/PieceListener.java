package io.gds4j.engine.stream;

/** Hears which bytes of a part are in its slab. Thread-safe. */
@FunctionalInterface
public interface PieceListener {
    /**
     * A piece has arrived. Pieces come in any order and once each.
     *
     * @param at offset of its first byte in the part
     * @param bytes at least 1
     */
    void arrived(long at, long bytes);
}
