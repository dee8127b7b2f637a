package io.gds4j.compat.transfer;

import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Supplier;

/** Idle contexts of transfers: borrowed and given back without a lock. */
final class TransferContextPool {
    private static final int PLACES = 64;

    /** Two cache lines for each place, so that threads that use different places do not contend. */
    private static final int SPACING = 32;

    private final AtomicReferenceArray<TransferContext> places = new AtomicReferenceArray<>((PLACES + 1) * SPACING);
    private final Supplier<TransferContext> maker;

    TransferContextPool(Supplier<TransferContext> maker) {
        this.maker = maker;
    }

    TransferContext borrow() {
        int first = firstPlace();
        for (int i = 0; i < PLACES; i++) {
            int place = place(first + i);
            if (places.getPlain(place) != null) {
                TransferContext lane = places.getAndSet(place, null);
                if (lane != null) {
                    return lane;
                }
            }
        }
        return maker.get();
    }

    void giveBack(TransferContext lane) {
        int first = firstPlace();
        for (int i = 0; i < PLACES; i++) {
            if (places.compareAndSet(place(first + i), null, lane)) {
                return;
            }
        }
        lane.close();
    }

    /** Threads begin their search at different places, each where it found its context the last time. */
    private static int firstPlace() {
        return (int) (Thread.currentThread().threadId() % PLACES);
    }

    private static int place(int number) {
        return (number % PLACES + 1) * SPACING;
    }

    void close() {
        for (int i = 0; i < PLACES; i++) {
            TransferContext lane = places.getAndSet(place(i), null);
            if (lane != null) {
                lane.close();
            }
        }
    }
}
