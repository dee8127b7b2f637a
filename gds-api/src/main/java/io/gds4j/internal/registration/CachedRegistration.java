package io.gds4j.internal.registration;

import io.gds4j.internal.lifetime.InFlight;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.AllocationTag;
import io.gds4j.memory.MemoryRange;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A whole allocation that the cache has registered. Requests count themselves in and out. A retired registration takes no more
 * requests, and the last one deregisters it. So no memory is unpinned under running I/O, and no thread waits for the I/O.
 */
public final class CachedRegistration {
    /** How often a thread that waits for the end checks for claims, in milliseconds. */
    private static final long CLAIM_POLL_MILLIS = 10;

    private final RegistrationCache cache;
    private final MemoryRange whole;
    private final @Nullable AllocationTag tag;
    private final long pinnedBytes;
    private final InFlight users = new InFlight();
    private final AtomicBoolean over = new AtomicBoolean();
    private final AtomicInteger claims = new AtomicInteger();
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile long lastUse;

    /**
     * @param whole the allocation, without its owner
     * @param tag tells it from a later allocation at its address; null if the allocation reports its end
     * @param pinnedBytes bytes of its pages
     */
    CachedRegistration(RegistrationCache cache, MemoryRange whole, @Nullable AllocationTag tag, long pinnedBytes) {
        this.cache = cache;
        this.whole = whole;
        this.tag = tag;
        this.pinnedBytes = pinnedBytes;
    }

    /** {@return the allocation, without its owner} */
    public MemoryRange whole() {
        return whole;
    }

    @Nullable
    AllocationTag tag() {
        return tag;
    }

    long pinnedBytes() {
        return pinnedBytes;
    }

    long lastUse() {
        return lastUse;
    }

    void touch(long now) {
        lastUse = now;
    }

    boolean holds(MemoryRange range) {
        long offset = range.address() - whole.address();
        return offset >= 0 && range.length() <= whole.length() && offset <= whole.length() - range.length();
    }

    boolean overlaps(MemoryRange range) {
        return range.address() - whole.address() < whole.length()
                && whole.address() - range.address() < range.length();
    }

    boolean enter() {
        return users.enter();
    }

    /** Counts a user out that {@link RegistrationCache#use} counted in. */
    public void exit() {
        users.exit();
        endIfUnused();
    }

    /** Marks a user that stays until the program takes a completion. */
    public void claim() {
        claims.incrementAndGet();
    }

    /** Ends what {@link #claim} began. */
    public void unclaim() {
        claims.decrementAndGet();
    }

    boolean isClaimed() {
        return claims.get() > 0;
    }

    boolean isIdle() {
        return users.users() == 0;
    }

    /** Takes no more requests; ends now if no request is running. */
    void retire() {
        users.turnAway();
        endIfUnused();
    }

    /** Ends a retired registration that is unused; of several users that leave at once, one ends it. */
    private void endIfUnused() {
        if (users.isClosed() && users.users() == 0 && over.compareAndSet(false, true)) {
            try {
                cache.ended(this);
            } finally {
                ended.countDown();
            }
        }
    }

    /**
     * Waits until it is retired and its last request has ended. An interrupt does not end the wait; the flag stays set.
     *
     * @return false if an entry of a batch claims it, whose end may wait for this thread
     */
    boolean awaitEnd() {
        Uninterruptibly.await(() -> {
            while (!isClaimed() && !ended.await(CLAIM_POLL_MILLIS, TimeUnit.MILLISECONDS)) {
                // checks for claims again
            }
        });
        return ended.getCount() == 0;
    }
}
