package io.gds4j.testkit.random;

import java.util.ArrayDeque;
import java.util.Deque;

/** The last steps of one thread, for the message of a failure. */
final class OperationLog {
    private static final int KEPT = 40;

    private final String name;
    private final Deque<Line> lines = new ArrayDeque<>();
    private long count;

    /** A step, which only a failure writes out: most are forgotten. */
    private record Line(long number, String format, Object[] arguments) {
        @Override
        public String toString() {
            return "%6s  %s".formatted(number, format.formatted(arguments));
        }
    }

    /** @param name of the thread */
    OperationLog(String name) {
        this.name = name;
    }

    /** @param arguments values that do not change */
    synchronized void add(String format, Object... arguments) {
        lines.addLast(new Line(++count, format, arguments));
        if (lines.size() > KEPT) {
            lines.removeFirst();
        }
    }

    /** Returns the steps, the last one at the end. */
    @Override
    public synchronized String toString() {
        StringBuilder text = new StringBuilder("last steps of ").append(name).append(':');
        lines.forEach(line -> text.append(System.lineSeparator()).append(line));
        return text.toString();
    }
}
