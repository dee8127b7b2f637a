package io.gds4j.diagnosis;

import java.util.Objects;

/**
 * A problem that a diagnosis found, and what the user can do about it. Immutable; equal if both texts are.
 *
 * @since 0.1
 */
public final class Advice {
    private final String what;
    private final String remedy;

    /**
     * Gives advice.
     *
     * @param what the problem, in one line
     * @param remedy what the user can do about it, in one line
     */
    public Advice(String what, String remedy) {
        this.what = Objects.requireNonNull(what, "what");
        this.remedy = Objects.requireNonNull(remedy, "remedy");
    }

    /** {@return the problem, in one line} */
    public String what() {
        return what;
    }

    /** {@return what the user can do about it, in one line} */
    public String remedy() {
        return remedy;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Advice advice && what.equals(advice.what) && remedy.equals(advice.remedy);
    }

    @Override
    public int hashCode() {
        return Objects.hash(what, remedy);
    }

    /** {@return problem and remedy in one line} */
    @Override
    public String toString() {
        return what + "; " + remedy;
    }
}
