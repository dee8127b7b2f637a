package io.gds4j.memory;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** What the calls that this thread is inside of are using: closing that here would wait for itself. */
final class HeldByThread {
    private static final ThreadLocal<HeldByThread> CURRENT = ThreadLocal.withInitial(HeldByThread::new);

    private @Nullable Lifetime[] held = new @Nullable Lifetime[4];
    private int depth;

    private HeldByThread() {
    }

    static void push(Lifetime one) {
        HeldByThread here = CURRENT.get();
        if (here.depth == here.held.length) {
            here.held = Arrays.copyOf(here.held, 2 * here.depth);
        }
        here.held[here.depth++] = one;
    }

    /** Calls nest, so that it is the last one pushed. */
    static void pop(Lifetime one) {
        HeldByThread here = CURRENT.get();
        int last = here.depth - 1;
        if (last < 0 || here.held[last] != one) {
            throw new AssertionError("not the innermost use of this thread");
        }
        here.held[last] = null;
        here.depth = last;
    }

    static boolean contains(Lifetime one) {
        HeldByThread here = CURRENT.get();
        for (int i = 0; i < here.depth; i++) {
            if (here.held[i] == one) {
                return true;
            }
        }
        return false;
    }
}
