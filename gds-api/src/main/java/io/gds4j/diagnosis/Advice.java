package io.gds4j.diagnosis;

import java.util.Objects;

/**
 * A problem that a diagnosis found, and what the user can do about it. Immutable; equal if both texts are.
 *
 * @param what the problem, in one line
 * @param remedy what the user can do about it, in one line
 * @since 0.1
 */
public record Advice(String what, String remedy) {
    /** Refuses null. */
    public Advice {
        Objects.requireNonNull(what, "what");
        Objects.requireNonNull(remedy, "remedy");
    }

    /** {@return problem and remedy in one line} */
    @Override
    public String toString() {
        return what + "; " + remedy;
    }
}
