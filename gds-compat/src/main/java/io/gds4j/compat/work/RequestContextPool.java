package io.gds4j.compat.work;

import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Supplier;

/** A pool of idle {@link RequestContext}s that works without a lock. */
final class RequestContextPool {
    private static final int PLACES = 64;

    /** Two cache lines for each place, so that threads that use different places do not contend. */
    private static final int SPACING = 32;

    private final AtomicReferenceArray<RequestContext> places = new AtomicReferenceArray<>((PLACES + 1) * SPACING);
    private final Supplier<RequestContext> maker;

    RequestContextPool(Supplier<RequestContext> maker) {
        this.maker = maker;
    }

    RequestContext borrow() {
        int first = firstPlace();
        for (int i = 0; i < PLACES; i++) {
            int place = place(first + i);
            if (places.getPlain(place) != null) {
                RequestContext context = places.getAndSet(place, null);
                if (context != null) {
                    return context;
                }
            }
        }
        return maker.get();
    }

    void giveBack(RequestContext context) {
        int first = firstPlace();
        for (int i = 0; i < PLACES; i++) {
            if (places.compareAndSet(place(first + i), null, context)) {
                return;
            }
        }
    }

    /** Returns the place where a thread starts its search, usually the place where it found its last context. */
    private static int firstPlace() {
        return (int) (Thread.currentThread().threadId() % PLACES);
    }

    private static int place(int number) {
        return (number % PLACES + 1) * SPACING;
    }
}
