package io.gds4j.engine.stream;

import org.jspecify.annotations.Nullable;

/**
 * A place in a stream: it says that it has come there, waits for a word, and may then copy something itself and say that it has.
 *
 * @param reached event: the stream has come here
 * @param turn value of the word that lets it go on
 * @param cell what it copies then; null for nothing
 * @param copied event: it has copied; 0 without a cell
 */
record Step(long reached, int turn, @Nullable CopyCell cell, long copied) {
}
