package io.gds4j.tools.check;

/**
 * Something that could be better.
 *
 * @param what is off, in plain words
 * @param remedy what a person could do about it
 */
record Advice(String what, String remedy) {
}
