package io.gds4j.memory;

import java.util.Arrays;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * What the calls that a thread is inside of are using: closing that here would wait for itself. Whoever begins a call looks it
 * up once and hands it to all that the call uses, since each look costs nanoseconds. For use by gds4j's own modules.
 *
 * @since 0.1
 */
public final class HeldByThread {
    private static final ThreadLocal<HeldByThread> CURRENT = ThreadLocal.withInitial(HeldByThread::new);

    private static final long[] NOTHING = {};

    /** {@link Lifetime#number()} of each: numbers keep nobody from being collected, and are no business of the collector's. */
    private long[] held = new long[4];
    private int depth;
    private @Nullable Object attachment;
    private LongPredicate usedLater = number -> false;

    private HeldByThread() {
    }

    /** {@return that of the calling thread; not to be handed to another} */
    public static HeldByThread current() {
        return CURRENT.get();
    }

    /**
     * What the backends keep of this thread, which are thus spared a thread-local of their own, some 20 ns on the way of a request.
     *
     * @return what {@link #attach} was given; null before
     */
    public @Nullable Object attachment() {
        return attachment;
    }

    /**
     * Keeps something of this thread, once.
     *
     * @param one to be kept as long as the thread lives
     */
    public void attach(Object one) {
        attachment = one;
    }

    /**
     * For a thread that does queued work: what only later work ends cannot be waited for in earlier work.
     *
     * @param queued tells by {@link Lifetime#number()} whether work that is still queued uses an object
     */
    public void setUsedLater(LongPredicate queued) {
        usedLater = queued;
    }

    /** {@return numbers of all that the calls of this thread are using now} */
    public long[] uses() {
        return depth == 0 ? NOTHING : Arrays.copyOf(held, depth);
    }

    /** Makes room for one more, so that {@link #push} cannot fail. */
    void reserve() {
        if (depth == held.length) {
            held = Arrays.copyOf(held, 2 * depth);
        }
    }

    void push(Lifetime one) {
        held[depth++] = one.number();
    }

    /** Calls nest, so that it is the last one pushed. */
    void pop(Lifetime one) {
        int last = depth - 1;
        if (last < 0 || held[last] != one.number()) {
            throw new AssertionError("not the innermost use of this thread");
        }
        depth = last;
    }

    boolean isUsedLater(Lifetime one) {
        return usedLater.test(one.number());
    }

    boolean contains(Lifetime one) {
        for (int i = 0; i < depth; i++) {
            if (held[i] == one.number()) {
                return true;
            }
        }
        return false;
    }
}
