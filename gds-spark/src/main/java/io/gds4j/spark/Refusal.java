package io.gds4j.spark;

/** A failure that a repetition does not cure; its message is one line for the user. */
final class Refusal extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Refusal(String line) {
        super(line);
    }
}
