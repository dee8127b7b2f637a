package io.gds4j.tools.check;

/**
 * A problem that {@code gds check} found.
 *
 * @param what the problem
 * @param remedy what the user can do about it
 */
record Advice(String what, String remedy) {
}
