package io.gds4j.spark;

/** Shortens messages to one line. */
final class FirstLine {
    private static final int MAX = 1000;

    private FirstLine() {
    }

    /** Returns the first line of a failure's message; the name of its class if it has none. */
    static String of(Throwable failure) {
        String message = failure.getMessage();
        String first = message == null ? "" : message.strip().lines().findFirst().orElse("");
        String line = first.isEmpty() ? failure.getClass().getSimpleName() : first;
        return line.length() > MAX ? line.substring(0, MAX) + "…" : line;
    }
}
