package io.gds4j.libcufile.batch;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Serves entries of a batch as single transfers, a few at a time, in their order. */
final class EntryThreads<E> {
    /**
     * Number of entries served at a time: twice the library's threads for each GPU. On an H200 this is a third faster than
     * as many threads as the library has; 16 are no faster.
     */
    private static final int THREADS = 8;

    private final Executor executor;
    private final Consumer<E> service;
    private final Deque<E> waiting = new ArrayDeque<>();
    private int running;

    /** @param service moves the bytes of an entry and reports its end; throws nothing */
    EntryThreads(Executor executor, Consumer<E> service) {
        this.executor = executor;
        this.service = service;
    }

    /**
     * Adds entries and starts threads for them. If the system has no more threads, those at work serve the entries.
     *
     * @return the entries, if no thread is at work and none can be started: then nothing serves them
     */
    synchronized List<E> add(Collection<E> entries) {
        waiting.addAll(entries);
        int wanted = Math.min(THREADS - running, entries.size());
        while (wanted > 0 && start()) {
            wanted--;
        }
        return running == 0 ? takeWaiting() : List.of();
    }

    private boolean start() {
        try {
            executor.execute(this::work);
            running++;
            return true;
        } catch (OutOfMemoryError e) {
            // no thread can be started
            return false;
        }
    }

    /** Removes and returns the entries that have not begun. */
    synchronized List<E> takeWaiting() {
        List<E> taken = new ArrayList<>(waiting);
        waiting.clear();
        return taken;
    }

    private void work() {
        for (@Nullable E entry = next(); entry != null; entry = next()) {
            service.accept(entry);
        }
    }

    private synchronized @Nullable E next() {
        @Nullable E entry = waiting.poll();
        if (entry == null) {
            running--;
        }
        return entry;
    }
}
