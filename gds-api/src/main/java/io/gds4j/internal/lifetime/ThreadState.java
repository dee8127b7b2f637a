package io.gds4j.internal.lifetime;

import java.util.Arrays;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The objects that the calls on a thread's stack are using: closing one of them on that thread would wait for itself. A call
 * looks its thread's state up once and passes it on, since each look-up costs nanoseconds.
 */
public final class ThreadState {
    private static final ThreadLocal<ThreadState> CURRENT = ThreadLocal.withInitial(ThreadState::new);

    private static final long[] NOTHING = {};

    /** {@link Lifetime#number()} of each: numbers keep no object reachable. */
    private long[] held = new long[4];
    private int depth;
    private @Nullable NativeThreadState nativeState;
    private LongPredicate usedLater = number -> false;

    private ThreadState() {
    }

    /** {@return the state of the calling thread; must not be passed to another} */
    public static ThreadState current() {
        return CURRENT.get();
    }

    /**
     * The native module's state of this thread. It is here because a thread-local of its own would cost each request 20 ns.
     *
     * @return what {@link #setNativeState} was given; null before
     */
    public @Nullable NativeThreadState nativeState() {
        return nativeState;
    }

    /**
     * Keeps the native module's state as long as the thread lives.
     *
     * @param state the state
     */
    public void setNativeState(NativeThreadState state) {
        nativeState = state;
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

    /** Calls nest: only the last one pushed can leave. */
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
