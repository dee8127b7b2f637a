package io.gds4j.testkit;

import java.util.ArrayList;
import java.util.List;

/** What programs did wrong with a fake GPU, in words. Thread-safe. */
final class FakeMisuse {
    private final List<String> found = new ArrayList<>();

    synchronized void add(String problem) {
        found.add(problem);
    }

    /** Forgets a problem that the program has seen as an exception. */
    synchronized void remove(String problem) {
        found.remove(problem);
    }

    synchronized List<String> found() {
        return List.copyOf(found);
    }
}
