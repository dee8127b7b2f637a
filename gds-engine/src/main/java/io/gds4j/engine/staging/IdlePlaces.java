package io.gds4j.engine.staging;

import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Idle objects, which threads take and give back without a lock. Each thread begins at a place of its own, where it usually finds the object
 * that it gave back last.
 */
public final class IdlePlaces<T> {
    /** Number of places, a power of two. Threads with the same number modulo this begin at the same one. */
    public static final int PLACES = 64;

    /** Number of references in two cache lines: threads at different places do not contend. */
    private static final int SPACING = 32;

    private final AtomicReferenceArray<@Nullable T> places = new AtomicReferenceArray<>((PLACES + 1) * SPACING);

    /** Takes an object; null if there is none. */
    public @Nullable T take() {
        int first = (int) Thread.currentThread().threadId();
        for (int i = 0; i < PLACES; i++) {
            int place = place(first + i);
            if (places.getPlain(place) != null) {
                T idle = places.getAndSet(place, null);
                if (idle != null) {
                    return idle;
                }
            }
        }
        return null;
    }

    /** Gives an object back; false if it found no free place. */
    public boolean give(T object) {
        int first = (int) Thread.currentThread().threadId();
        for (int i = 0; i < PLACES; i++) {
            if (places.compareAndSet(place(first + i), null, object)) {
                return true;
            }
        }
        return false;
    }

    private static int place(int number) {
        return ((number & PLACES - 1) + 1) * SPACING;
    }
}
