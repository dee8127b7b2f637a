package io.gds4j.internal.http;

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;

/** The clients that have sent requests in this process, for reports. Thread-safe. */
public final class HttpClients {
    private static final Set<String> USED = new ConcurrentSkipListSet<>();

    private HttpClients() {
    }

    /**
     * Notes that a client sends a request.
     *
     * @param name name and version
     */
    public static void uses(String name) {
        USED.add(name);
    }

    /** {@return names and versions, sorted} */
    public static List<String> used() {
        return List.copyOf(USED);
    }
}
