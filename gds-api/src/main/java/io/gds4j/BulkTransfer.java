package io.gds4j;

import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.internal.lifetime.Undo;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One call of {@link CuFileBatch#transferAll}: keeps the batch full until all requests are complete. */
final class BulkTransfer {
    static final Duration FOREVER = Duration.ofNanos(Long.MAX_VALUE);

    /** Indexes of each submitted request, by identity; a list may hold the same request several times. */
    private final Map<Request, Deque<Integer>> indexes = new IdentityHashMap<>();

    private final CuFileBatch batch;
    private final List<Request> requests;
    private final @Nullable Completion[] completions;
    private int submitted;
    private int completed;

    BulkTransfer(CuFileBatch batch, List<Request> requests) {
        this.batch = batch;
        this.requests = List.copyOf(requests);
        this.completions = new Completion[this.requests.size()];
    }

    /** Transfers all requests, or throws if one failed. */
    List<Completion> run() {
        return requireComplete(complete());
    }

    /** Returns a completion for each request, in their order. A request that failed has one, too. */
    List<Completion> complete() {
        if (batch.outstanding() > 0) {
            throw CuFileException.of(
                    CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                    BatchLedger.SUBMIT,
                    batch.outstanding() + " other entries are outstanding");
        }
        Undo.ifFails(this::abandon, () -> {
            while (completed < requests.size()) {
                fill();
                take(batch.await(1, FOREVER));
                checkOutstanding();
            }
        });
        return Arrays.stream(completions).<Completion>map(Objects::requireNonNull).toList();
    }

    private void fill() {
        int free = Math.min(batch.capacity() - (submitted - completed), requests.size() - submitted);
        if (free > 0) {
            List<Request> part = requests.subList(submitted, submitted + free);
            batch.submit(part);
            for (int i = 0; i < free; i++) {
                indexes.computeIfAbsent(part.get(i), request -> new ArrayDeque<>()).add(submitted + i);
            }
            submitted += free;
        }
    }

    private void take(List<Completion> delivered) {
        for (Completion completion : delivered) {
            Deque<Integer> known = indexes.get(completion.request());
            Integer index = known == null ? null : known.poll();
            if (index != null) {
                completions[index] = completion;
                completed++;
            }
        }
    }

    /** Without this check the transfer would wait for completions that another thread has taken. */
    private void checkOutstanding() {
        int missing = submitted - completed - batch.outstanding();
        if (missing > 0) {
            throw CuFileException.of(
                    CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR,
                    "cuFileBatchIOGetStatus",
                    "another thread took %s completions of transferAll".formatted(missing));
        }
    }

    /** Cancels and waits: when it returns, no request uses its memory. */
    private void abandon() {
        boolean interrupted = Thread.interrupted();
        try {
            batch.cancel();
            while (batch.outstanding() > 0) {
                try {
                    take(batch.await(1, FOREVER));
                } catch (CuFileInterruptedException e) {
                    interrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Returns completions of which none failed. */
    static List<Completion> requireComplete(List<Completion> completions) {
        List<Completion> failures = completions.stream().filter(done -> !done.isComplete()).toList();
        if (!failures.isEmpty()) {
            throw new CuFileBatchException(failures, completions.size());
        }
        return completions;
    }
}
