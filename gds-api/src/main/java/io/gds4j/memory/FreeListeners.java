package io.gds4j.memory;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongConsumer;

/** The listeners of an allocation. Does not refer to the allocation, so that the cleaner can find a forgotten one. */
final class FreeListeners {
    private final Set<LongConsumer> listeners = new HashSet<>();

    /** Adds a listener; adding it twice has no effect. */
    synchronized void add(LongConsumer listener) {
        listeners.add(listener);
    }

    /** Calls every listener with the address of the allocation, and removes them. */
    void notifyAndClear(long base) {
        List<LongConsumer> all;
        synchronized (this) {
            all = List.copyOf(listeners);
            listeners.clear();
        }
        all.forEach(listener -> listener.accept(base));
    }
}
