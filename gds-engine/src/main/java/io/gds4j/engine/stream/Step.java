package io.gds4j.engine.stream;

import io.gds4j.engine.kernel.CopyCell;
import org.jspecify.annotations.Nullable;

/**
 * A step of an operation in a stream: record an event; wait for a word; optionally copy and record an event.
 *
 * @param reached event before the wait
 * @param turn value of the word that ends the wait
 * @param cell the copy after the wait; null for none
 * @param copied event after the copy; 0 without a cell
 */
record Step(long reached, int turn, @Nullable CopyCell cell, long copied) {
}
