package io.gds4j.memory;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Who hears that an allocation is freed. Refers to no allocation, so that a forgotten one can be found. */
final class FreeListeners {
    private final Set<FreeListener> listeners = new HashSet<>();

    synchronized void add(FreeListener listener) {
        listeners.add(listener);
    }

    void tell(long base) {
        List<FreeListener> all;
        synchronized (this) {
            all = List.copyOf(listeners);
            listeners.clear();
        }
        all.forEach(listener -> listener.freeing(base));
    }
}
