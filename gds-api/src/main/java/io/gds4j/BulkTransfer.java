package io.gds4j;

import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One {@link CuFileBatch#transferAll}: keeps the batch full until all requests are over. */
final class BulkTransfer {
    private static final Duration FOREVER = Duration.ofNanos(Long.MAX_VALUE);

    /** The batch's own record of a request is the request itself: these tell equal ones apart. */
    private final Map<Request, Deque<Integer>> places = new IdentityHashMap<>();

    private final CuFileBatch batch;
    private final List<Request> requests;
    private final @Nullable Completion[] fates;
    private int submitted;
    private int over;

    BulkTransfer(CuFileBatch batch, List<Request> requests) {
        this.batch = batch;
        this.requests = List.copyOf(requests);
        this.fates = new Completion[this.requests.size()];
    }

    List<Completion> run() {
        if (batch.outstanding() > 0) {
            throw CuFileException.of(
                    CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                    BatchLedger.SUBMIT,
                    batch.outstanding() + " other entries are outstanding");
        }
        boolean done = false;
        try {
            while (over < requests.size()) {
                fill();
                take(batch.await(1, FOREVER));
                checkOutstanding();
            }
            done = true;
        } finally {
            if (!done) {
                abandon();
            }
        }
        return result();
    }

    private void fill() {
        int free = Math.min(batch.capacity() - (submitted - over), requests.size() - submitted);
        if (free > 0) {
            List<Request> part = requests.subList(submitted, submitted + free);
            batch.submit(part);
            for (int i = 0; i < free; i++) {
                places.computeIfAbsent(part.get(i), request -> new ArrayDeque<>()).add(submitted + i);
            }
            submitted += free;
        }
    }

    private void take(List<Completion> completions) {
        for (Completion completion : completions) {
            Deque<Integer> known = places.get(completion.request());
            Integer place = known == null ? null : known.poll();
            if (place != null) {
                fates[place] = completion;
                over++;
            }
        }
    }

    /** Without this check the transfer would wait for completions that another thread has taken. */
    private void checkOutstanding() {
        int missing = submitted - over - batch.outstanding();
        if (missing > 0) {
            throw CuFileException.of(
                    CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR,
                    "cuFileBatchIOGetStatus",
                    "another thread took %d completions of transferAll".formatted(missing));
        }
    }

    /** The memory of a request is its owner's again when this returns. */
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

    private List<Completion> result() {
        List<Completion> all = new ArrayList<>(requests.size());
        List<Completion> failures = new ArrayList<>();
        for (Completion fate : fates) {
            if (fate != null) {
                all.add(fate);
                if (!fate.isComplete()) {
                    failures.add(fate);
                }
            }
        }
        if (!failures.isEmpty()) {
            throw new CuFileBatchException(failures, requests.size());
        }
        return all;
    }
}
