package io.gds4j.engine.stream;

/**
 * A step of an operation in a stream: record an event; wait for a word; optionally copy and record an event.
 *
 * @param reached event before the wait
 * @param turn value of the word that ends the wait
 * @param copy the copy after the wait
 * @param copied event after the copy; 0 without a copy
 */
record Step(long reached, int turn, StreamCopy copy, long copied) {
}
