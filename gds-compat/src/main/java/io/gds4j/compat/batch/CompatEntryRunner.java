package io.gds4j.compat.batch;

import io.gds4j.compat.transfer.Operation;
import io.gds4j.compat.transfer.RequestContext;
import io.gds4j.compat.transfer.RequestExecutor;
import io.gds4j.compat.transfer.RequestLog;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import java.lang.ref.Reference;
import java.util.Arrays;
import java.util.List;

/** Runs entries of batches on one thread: small ones in groups where that is possible, the others one by one. */
public final class CompatEntryRunner implements EntryRunner {
    /** The results of a single entry, which is not grouped. Never written. */
    private static final long[] ALONE = {UNDONE};

    private final RequestContext context;
    private final RequestExecutor executor;
    private final CoalescedDeviceReads deviceReads;
    private final UringTransfers uringTransfers;
    private final CuFileCounters statistics;
    private final RequestLog log;

    public CompatEntryRunner(
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
    public void run(List<BatchRequest> entries, long submitted, List<BatchEvent> events) {
        long[] results = runGroups(entries);
        for (int i = 0; i < results.length; i++) {
            BatchRequest entry = entries.get(i);
            long result = results[i] == UNDONE ? runAlone(entry) : results[i];
            boolean succeeded = result >= 0;
            statistics.batchProcessed(
                    RequestExecutor.STATISTICS_PATH, entry.write(), succeeded, Math.max(0, result), submitted);
            events.add(new BatchEvent(
                    entry.cookie(), succeeded ? BatchStatus.COMPLETE : BatchStatus.FAILED, result));
        }
    }

    private long[] runGroups(List<BatchRequest> entries) {
        if (entries.size() == 1) {
            return ALONE;
        }
        long[] results = new long[entries.size()];
        Arrays.fill(results, UNDONE);
        try {
            deviceReads.read(entries, results);
            uringTransfers.move(entries, results);
            return results;
        } finally {
            Reference.reachabilityFence(entries);
        }
    }

    /** Runs an entry, and returns the bytes moved, or a negative errno or cuFile code. */
    private long runAlone(BatchRequest entry) {
        try {
            return executor.execute(context, Operation.of(entry.write()), entry);
        } catch (CuFileException e) {
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
