package io.gds4j.testkit.random;

import java.util.ArrayDeque;
import java.util.Deque;

/** The last operations of a sequence, for the message of a failure. */
final class OperationLog {
    private static final int KEPT = 40;

    private final Deque<String> lines = new ArrayDeque<>();
    private long count;

    synchronized void add(String format, Object... arguments) {
        count++;
        lines.addLast("%6s  %s".formatted(count, format.formatted(arguments)));
        if (lines.size() > KEPT) {
            lines.removeFirst();
        }
    }

    /** Returns the failure with its last operations and the seed that repeats it. */
    synchronized AssertionError failure(String sequence, long seed, Throwable cause) {
        return new AssertionError(
                "%s failed: %s%nrepeat with -D%s=%s%nlast operations:%n%s"
                        .formatted(sequence, cause, RandomRuns.SEED, seed, String.join(System.lineSeparator(), lines)),
                cause);
    }
}
