package io.gds4j.testkit.random;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The first failure of a round's threads. */
final class Failure {
    private final AtomicReference<@Nullable Known> first = new AtomicReference<>();

    /** @param steps the last steps of the thread */
    private record Known(Throwable cause, String steps) {
    }

    boolean isKnown() {
        return first.get() != null;
    }

    void set(Throwable cause, Object steps) {
        first.compareAndSet(null, new Known(cause, steps.toString()));
    }

    /** Throws the failure, if there is one, with the seed that repeats it. */
    void check(String round, long seed) {
        Known known = first.get();
        if (known != null) {
            throw new AssertionError("%s failed: %s%nrepeat with -D%s=%s%n%s"
                    .formatted(round, known.cause(), Campaign.SEED, seed, known.steps()), known.cause());
        }
    }
}
