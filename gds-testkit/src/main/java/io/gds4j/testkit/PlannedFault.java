package io.gds4j.testkit;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.Uninterruptibly;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * One fault of a {@link FaultInjectingBackend}: which calls it hits, and what happens to them. Filters come first, then one
 * outcome, which makes it effective:
 *
 * <pre>{@code
 * backend.on(Call.READ).nth(3).fails(Errno.EIO);
 * backend.on(Call.writes()).file(path).always().fails(Errno.ENOSPC);
 * backend.on(Call.FSYNC).always().delays(Duration.ofMillis(20));
 * }</pre>
 *
 * <p>
 * A fault hits one call unless {@link #times}, {@link #always} or {@link #probability} says otherwise. Filters count only calls
 * that start after the outcome was chosen. Thread-safe once it is effective.
 *
 * @since 0.1
 */
public final class PlannedFault {
    private static final int CERTAIN = 1;

    private final Set<Call> calls;
    private @Nullable Path file;
    private LongPredicate number = any -> true;
    private String which = "";
    private long first = 1;
    private long times = 1;
    private double chance = CERTAIN;
    private Random random = new Random(0);
    private long bytes;
    private @Nullable Outcome outcome;
    private boolean slows;
    private long matches;
    private long hits;

    /** What happens to a call: a wait, a failure, or both. A failure has a code; its errno is 0 if it has none. */
    private record Outcome(String text, Runnable before, @Nullable Failure failure) {
    }

    /** How a call fails, after it moved up to {@code bytes} bytes. */
    record Failure(CuFileError code, int errno, long bytes) {
        CuFileException.Builder exception(String function) {
            CuFileException.Builder failure = CuFileException.builder(function)
                    .error(code)
                    .detail("injected by FaultInjectingBackend");
            return errno == 0 ? failure : failure.errno(errno);
        }

        /** {@return the result of a batch entry or a stream operation: a negative errno or code} */
        long result() {
            return errno == 0 ? -code.code() : -errno;
        }
    }

    PlannedFault(Set<Call> calls) {
        if (calls.isEmpty()) {
            throw new IllegalArgumentException("no calls");
        }
        this.calls = EnumSet.copyOf(calls);
    }

    /**
     * Hits only calls on (or opening) a file.
     *
     * @param path full path, or the last names of one, such as {@code Path.of("model.safetensors")}
     * @return this fault
     */
    public synchronized PlannedFault file(Path path) {
        checkOpen();
        file = Objects.requireNonNull(path, "path");
        return this;
    }

    /**
     * Hits first the n-th call that the other filters accept.
     *
     * @param n 1 for the next call, or more
     * @return this fault
     * @throws IllegalArgumentException if {@code n} is below 1
     */
    public synchronized PlannedFault nth(long n) {
        checkOpen();
        first = atLeastOne(n);
        return this;
    }

    /**
     * Hits this number of calls in a row.
     *
     * @param count number of calls, 1 or more
     * @return this fault
     * @throws IllegalArgumentException if {@code count} is below 1
     */
    public synchronized PlannedFault times(long count) {
        checkOpen();
        times = atLeastOne(count);
        return this;
    }

    /**
     * Hits every call from the first on.
     *
     * @return this fault
     */
    public PlannedFault always() {
        return times(Long.MAX_VALUE);
    }

    /**
     * Hits each call with a probability; replaces {@link #times}. The same seed hits the same calls if they start in the same
     * order.
     *
     * @param probability more than 0, at most 1
     * @param seed seed of the random numbers
     * @return this fault
     * @throws IllegalArgumentException for a probability out of range
     */
    public synchronized PlannedFault probability(double probability, long seed) {
        checkOpen();
        if (!(probability > 0 && probability <= CERTAIN)) {
            throw new IllegalArgumentException(
                    "probability %s, allowed: more than 0, at most 1".formatted(probability));
        }
        chance = probability;
        random = new Random(seed);
        times = Long.MAX_VALUE;
        return this;
    }

    /**
     * Lets a transfer move some bytes before it fails. Other calls ignore it.
     *
     * @param count largest number of bytes to move, 0 or more
     * @return this fault
     * @throws IllegalArgumentException if {@code count} is negative
     */
    public synchronized PlannedFault after(long count) {
        checkOpen();
        if (count < 0) {
            throw new IllegalArgumentException("bytes: " + count);
        }
        bytes = count;
        return this;
    }

    /**
     * Outcome: the call fails with this errno.
     *
     * @param errno errno of Linux, above 0; see {@link Errno}
     * @return this fault
     * @throws IllegalArgumentException if {@code errno} is below 1
     */
    public PlannedFault fails(int errno) {
        if (errno <= 0) {
            throw new IllegalArgumentException("errno %s".formatted(errno));
        }
        return fails(code(errno), errno, Errno.name(errno));
    }

    /**
     * Outcome: the call fails with this code of cuFile, without an errno.
     *
     * @param error the code, not SUCCESS
     * @return this fault
     * @throws IllegalArgumentException for SUCCESS
     */
    public PlannedFault fails(CuFileError error) {
        if (error == CuFileError.SUCCESS) {
            throw new IllegalArgumentException("SUCCESS is no failure");
        }
        return fails(error, 0, error.name());
    }

    private synchronized PlannedFault fails(CuFileError error, int errno, String name) {
        return choose("fails with " + name, () -> {
        }, new Failure(error, errno, bytes));
    }

    /**
     * Outcome: the call takes longer. It waits before it begins; an interrupt does not end the wait.
     *
     * @param latency time to add, 0 or more
     * @return this fault
     * @throws IllegalArgumentException for a negative time
     */
    public PlannedFault delays(Duration latency) {
        if (latency.isNegative()) {
            throw new IllegalArgumentException("latency " + latency);
        }
        slows = latency.isPositive();
        return choose("waits " + latency, () -> sleep(latency.toNanos()), null);
    }

    /**
     * Outcome: the call waits at a gate before it begins.
     *
     * @return the gate, which the test opens
     */
    public Gate holds() {
        Gate gate = new Gate();
        choose("waits at a gate", gate::pass, null);
        return gate;
    }

    /** {@return number of calls that it has hit} */
    public synchronized long hits() {
        return hits;
    }

    /** Only the call with this number among all calls of its kind. */
    synchronized PlannedFault numbered(long wanted) {
        number = actual -> actual == wanted;
        which = " " + wanted;
        return this;
    }

    /** True if the call is one to wait for or to make fail; counts it. */
    synchronized boolean hits(Call call, long callNumber, Optional<Path> path) {
        if (outcome == null || !calls.contains(call) || !number.test(callNumber) || !isOnFile(path)) {
            return false;
        }
        matches++;
        boolean hit = matches >= first
                && matches - first < times
                && (chance == CERTAIN || random.nextDouble() < chance);
        if (hit) {
            hits++;
        }
        return hit;
    }

    private boolean isOnFile(Optional<Path> path) {
        return file == null || path.isPresent() && path.get().endsWith(file);
    }

    /** {@return whether it delays such calls on this file; an answer that says so is a hit, as a program may avoid the call then} */
    synchronized boolean slows(Call call, Optional<Path> path) {
        boolean slow = slows && calls.contains(call) && isOnFile(path);
        hits += slow ? 1 : 0;
        return slow;
    }

    /** Waits as planned; on the thread of the call, without a lock. */
    void before() {
        Outcome chosen = outcome();
        if (chosen != null) {
            chosen.before().run();
        }
    }

    /** {@return the planned failure; null if the call only waits} */
    @Nullable
    Failure failure() {
        Outcome chosen = outcome();
        return chosen == null ? null : chosen.failure();
    }

    private synchronized @Nullable Outcome outcome() {
        return outcome;
    }

    private synchronized PlannedFault choose(String text, Runnable before, @Nullable Failure failure) {
        checkOpen();
        outcome = new Outcome(text, before, failure);
        return this;
    }

    private void checkOpen() {
        if (outcome != null) {
            throw new IllegalStateException("the fault is effective already: " + this);
        }
    }

    private static long atLeastOne(long count) {
        if (count < 1) {
            throw new IllegalArgumentException("%s, allowed: 1 or more".formatted(count));
        }
        return count;
    }

    private static void sleep(long nanos) {
        long end = System.nanoTime() + nanos;
        Uninterruptibly.await(() -> TimeUnit.NANOSECONDS.sleep(end - System.nanoTime()));
    }

    private static CuFileError code(int errno) {
        return switch (errno) {
            case Errno.EACCES, Errno.EPERM, Errno.EROFS -> CuFileError.PERMISSION_DENIED;
            case Errno.EINVAL, Errno.ENOENT -> CuFileError.INVALID_VALUE;
            case Errno.EBADF -> CuFileError.INVALID_FILE_OPEN_FLAG;
            case Errno.ENOMEM -> CuFileError.NOMEM_ERROR;
            default -> CuFileError.IO_ERROR;
        };
    }

    /** {@return the fault in words, such as "READ 3 fails with EIO: hit 0 of 2 matching calls"} */
    @Override
    public synchronized String toString() {
        StringBuilder text =
                new StringBuilder(String.join(" or ", calls.stream().map(Call::name).toList())).append(which);
        if (file != null) {
            text.append(" of ").append(file);
        }
        if (first > 1) {
            text.append(", from call ").append(first).append(" on,");
        }
        if (chance < CERTAIN) {
            text.append(" with probability ").append(chance);
        }
        return text.append(' ')
                .append(outcome == null ? "has no outcome" : outcome.text())
                .append(": hit %s of %s matching calls".formatted(hits, matches))
                .toString();
    }
}
