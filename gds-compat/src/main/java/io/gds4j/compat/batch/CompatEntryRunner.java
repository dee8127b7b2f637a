package io.gds4j.compat.batch;

import io.gds4j.compat.batch.Submission.Kind;
import io.gds4j.compat.file.RequestLog;
import io.gds4j.compat.transfer.RequestExecutor;
import io.gds4j.compat.work.RequestContext;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.source.Cancellation;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.Operation;
import java.lang.ref.Reference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/** Serves claims on one thread: small and adjacent reads in groups where that is possible, other entries one by one. */
final class CompatEntryRunner implements EntryRunner {
    /** Number of groups after which a thread gives its slabs back, although there is more to do: others may wait for them. */
    private static final int MAX_GROUPS = 16;

    private final RequestContext context;
    private final RequestExecutor executor;
    private final CoalescedDeviceReads deviceReads;
    private final UringTransfers uringTransfers;
    private final CuFileCounters statistics;
    private final RequestLog log;

    /** Claims that have not ended, in their order. */
    private final Deque<Begun> begun = new ArrayDeque<>();

    /** Number of groups that had begun when the thread gave its slabs back. */
    private long settled;

    /**
     * A claim whose groups have begun.
     *
     * @param groups number of groups that have begun, including those of the claim
     */
    private record Begun(Claim claim, long groups) {
    }

    CompatEntryRunner(
            RequestContext context,
            RequestExecutor executor,
            CoalescedDeviceReads deviceReads,
            UringTransfers uringTransfers,
            CuFileCounters statistics,
            RequestLog log) {
        this.context = context;
        this.executor = executor;
        this.deviceReads = deviceReads;
        this.uringTransfers = uringTransfers;
        this.statistics = statistics;
        this.log = log;
    }

    @Override
    public void run(Claim claim) {
        boolean succeeded = false;
        try {
            boolean grouped = claim.submission().kind() == Kind.GROUPED;
            if (claim.submission().kind() == Kind.ADJACENT) {
                settle(); // the request needs the slots that open groups use
                readTogether(claim);
            } else if (grouped || claim.entries().size() > 1) {
                deviceReads.begin(claim);
            }
            begun.add(new Begun(claim, deviceReads.begun()));
            boolean heldLong = deviceReads.begun() - settled >= MAX_GROUPS;
            if (heldLong || !grouped || claim.hasUndone()) {
                settle();
            } else {
                endComplete();
            }
            succeeded = true;
        } finally {
            if (!succeeded) {
                deviceReads.settle();
                begun.forEach(failed -> failed.claim().failRest());
                begun.clear();
            }
        }
    }

    /** Reads adjacent entries as one request. If it fails they stay undone, so that each gets its own result. */
    private void readTogether(Claim claim) {
        List<BatchRequest> entries = claim.entries();
        long[] results = claim.results();
        BatchRequest first = entries.getFirst();
        BatchRequest last = entries.getLast();
        long size = last.fileOffset() + last.size() - first.fileOffset();
        try {
            BatchRequest together =
                    BatchRequest.scattered(first.file(), Operation.READ, first.fileOffset(), size, fragments(entries))
                            .reportTo(claim.submission().sinkOf(entries));
            long read = executor.execute(context, Operation.READ, together, claim.submission());
            for (int i = 0; i < results.length; i++) {
                BatchRequest entry = entries.get(i);
                results[i] = Math.clamp(read - (entry.fileOffset() - first.fileOffset()), 0, entry.size());
            }
        } catch (CuFileException e) {
            // Each entry runs again on its own, and gets its error.
            if (!isCancelledBeforeItBegan(e, claim.submission())) {
                Arrays.fill(results, BEGUN);
            }
        }
    }

    /** Returns where adjacent entries go: a fragment for each stretch of memory. One copy must not cross two allocations. */
    private static List<ScatterCopy> fragments(List<BatchRequest> entries) {
        List<ScatterCopy> fragments = new ArrayList<>();
        BatchRequest first = entries.getFirst();
        long bytes = 0;
        for (BatchRequest entry : entries) {
            if (!entry.memory().equals(first.memory()) || entry.bufferOffset() != first.bufferOffset() + bytes) {
                fragments.add(fragment(entries, first, bytes));
                first = entry;
                bytes = 0;
            }
            bytes += entry.size();
        }
        fragments.add(fragment(entries, first, bytes));
        return fragments;
    }

    private static ScatterCopy fragment(List<BatchRequest> entries, BatchRequest first, long bytes) {
        long from = first.fileOffset() - entries.getFirst().fileOffset();
        return new ScatterCopy(from, bytes, first.memory(), first.bufferOffset());
    }

    @Override
    public void settle() {
        deviceReads.settle();
        settled = deviceReads.begun();
        endComplete();
    }

    private void endComplete() {
        while (!begun.isEmpty() && begun.getFirst().groups() <= deviceReads.complete()) {
            end(begun.getFirst().claim());
            begun.removeFirst();
        }
    }

    private void end(Claim claim) {
        List<BatchRequest> entries = claim.entries();
        long[] results = claim.results();
        if (claim.hasUndone()) {
            // An entry on its own may need slabs and locks of a file, for which a thread waits only while it holds no slab.
            deviceReads.settle();
            for (int i = 0; i < results.length; i++) {
                if (EntryRunner.isUndone(results[i])) {
                    entries.get(i).sink().begin(entries.get(i).fileOffset(), entries.get(i).size());
                }
            }
            if (entries.size() > 1 && !claim.submission().isCancelled()) {
                uringTransfers.move(entries, results);
            }
        }
        List<BatchEvent> events = new ArrayList<>(results.length);
        try {
            for (int i = 0; i < results.length; i++) {
                BatchRequest entry = entries.get(i);
                long result = EntryRunner.isUndone(results[i])
                        ? runAlone(entry, claim.submission(), results[i] == BEGUN)
                        : results[i];
                if (result == UNDONE) {
                    events.add(Submission.cancelled(entry));
                    continue;
                }
                boolean succeeded = result >= 0;
                statistics.batchProcessed(
                        RequestExecutor.STATISTICS_PATH, entry.operation(), succeeded, Math.max(0, result),
                        claim.submission().submitted());
                events.add(new BatchEvent(
                        entry.cookie(), succeeded ? BatchStatus.COMPLETE : BatchStatus.FAILED, result));
            }
        } finally {
            claim.end(events);
            Reference.reachabilityFence(entries);
        }
    }

    private static boolean isCancelledBeforeItBegan(CuFileException e, Submission submission) {
        return e instanceof CuFileInterruptedException && submission.isCancelled() && e.bytesTransferred() == 0;
    }

    /**
     * Runs an entry, and returns the bytes moved, or a negative errno or cuFile code; UNDONE if it was cancelled before it began.
     *
     * @param begun whether it has moved bytes already, so that it cannot be cancelled
     */
    private long runAlone(BatchRequest entry, Submission submission, boolean begun) {
        if (!begun && submission.isCancelled()) {
            return UNDONE;
        }
        try {
            return executor.execute(
                    context, entry.operation(), entry, begun ? Cancellation.NEVER : submission);
        } catch (CuFileException e) {
            if (!begun && isCancelledBeforeItBegan(e, submission)) {
                return UNDONE;
            }
            int errno = e.errno().orElse(0);
            return -(long) (errno == 0 ? e.error().code() : errno);
        } catch (RuntimeException e) {
            log.error("batch entry failed: " + entry, e);
            return -Errno.EIO;
        } catch (OutOfMemoryError e) {
            return -Errno.ENOMEM;
        }
    }

    @Override
    public void close() {
        uringTransfers.close();
    }
}
