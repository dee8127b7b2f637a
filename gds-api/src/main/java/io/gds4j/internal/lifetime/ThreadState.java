package io.gds4j.internal.lifetime;

import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * The objects that the calls on a thread's stack use: closing one of them on that thread would wait for itself. A call looks
 * up its thread's state once and passes it on, since each look-up costs nanoseconds.
 */
public final class ThreadState {
    /** Holds the state weakly: a thread that lives on would else keep the class loader of gds4j, and all that is static in it. */
    private static final ThreadLocal<WeakReference<ThreadState>> CURRENT = new ThreadLocal<>();

    /** Keeps the states as long as their threads. By number: a subclass of Thread may equal another thread. */
    private static final Map<Long, Kept> ALL = new HashMap<>();
    private static final ReferenceQueue<Thread> ENDED = new ReferenceQueue<>();

    private static final long[] NOTHING = {};

    /** {@link Lifetime#number()} of each object: a number keeps no object reachable. */
    private long[] held = new long[4];
    private int depth;
    private @Nullable NativeState nativeState;
    private LongPredicate usedLater = number -> false;
    private int sources;

    private static final class Kept extends WeakReference<Thread> {
        private final long number;
        private final ThreadState state = new ThreadState();

        Kept(Thread thread) {
            super(thread, ENDED);
            number = thread.threadId();
        }
    }

    private ThreadState() {
    }

    /** {@return the state of the calling thread; must not be passed to another} */
    public static ThreadState current() {
        WeakReference<ThreadState> known = CURRENT.get();
        ThreadState state = known == null ? null : known.get();
        return state == null ? first() : state;
    }

    /** Also of a thread whose thread-locals a pool has erased since. */
    private static ThreadState first() {
        Thread thread = Thread.currentThread();
        ThreadState state;
        synchronized (ALL) {
            for (Reference<?> ended = ENDED.poll(); ended != null; ended = ENDED.poll()) {
                ALL.remove(((Kept) ended).number, ended);
            }
            Kept kept = ALL.get(thread.threadId());
            if (kept == null || !kept.refersTo(thread)) {
                kept = new Kept(thread);
                ALL.put(kept.number, kept);
            }
            state = kept.state;
        }
        CURRENT.set(new WeakReference<>(state));
        return state;
    }

    /**
     * Returns what {@link #setNativeState} was given; null before. The state is here because a thread-local of its own
     * would cost each request 20 ns.
     */
    public @Nullable NativeState nativeState() {
        return nativeState;
    }

    /** Keeps the native module's state as long as the thread lives. */
    public void setNativeState(NativeState state) {
        nativeState = state;
    }

    /**
     * Tells which objects the queued work of this thread still uses: earlier work must not wait for their release.
     *
     * @param queued tells by {@link Lifetime#number()} whether queued work uses an object
     * @return what was set before
     */
    public LongPredicate setUsedLater(LongPredicate queued) {
        LongPredicate before = usedLater;
        usedLater = queued;
        return before;
    }

    /** {@return numbers of all objects that the calls of this thread use now} */
    public long[] uses() {
        return depth == 0 ? NOTHING : Arrays.copyOf(held, depth);
    }

    /** A source of the program runs on this thread; {@link #exitSource} ends it. */
    public void enterSource() {
        sources++;
    }

    /** Ends what {@link #enterSource} began. */
    public void exitSource() {
        sources--;
    }

    /** Returns whether this thread runs a source for the call of another thread, which waits for it. */
    public boolean servesAnotherCall() {
        return sources > 0 && depth == 0;
    }

    /** Makes room for one more object, so that {@link #push} cannot fail. */
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

    /** State of a thread for the native module. The only subclass is {@code io.gds4j.ffi.CallState}. */
    public abstract static class NativeState {
        /** For the native module. */
        protected NativeState() {
        }
    }
}
