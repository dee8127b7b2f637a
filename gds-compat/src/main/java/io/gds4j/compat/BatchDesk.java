package io.gds4j.compat;

import io.gds4j.compat.SessionLog.Severity;
import io.gds4j.engine.statistics.CuFileCounters;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The batches of a driver session: {@code cuFileBatchIO*}, each function a few lines. */
final class BatchDesk {
    private static final String SET_UP = "cuFileBatchIOSetUp";
    private static final String SUBMIT = "cuFileBatchIOSubmit";
    private static final String STATUS = "cuFileBatchIOGetStatus";

    private static final long[] ALONE = {DeviceReadGroup.UNDONE};

    private final CompatSession session;
    private final int largest;
    private final RequestRunners runners;
    private final CuFileCounters counters;
    private final Set<CompatBatch> batches = ConcurrentHashMap.newKeySet();

    /**
     * @param largest {@code properties.io_batchsize}
     */
    BatchDesk(CompatSession session, int largest, RequestRunners runners, CuFileCounters counters) {
        this.session = session;
        this.largest = largest;
        this.runners = runners;
        this.counters = counters;
    }

    CompatBatch setUp(int capacity) {
        boolean well = capacity >= 1 && capacity <= largest;
        counters.batchSetUp(well);
        if (!well) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    SET_UP,
                    "capacity is %d, allowed: 1 to %d (properties.io_batchsize)".formatted(capacity, largest));
        }
        CompatBatch batch = new CompatBatch(capacity);
        batches.add(batch);
        session.log().log(Severity.DEBUG, "%s entries=%d", SET_UP, capacity);
        return batch;
    }

    void submit(BackendBatch batch, List<BatchRequest> requests) {
        long begun = System.nanoTime();
        boolean well = false;
        try {
            CompatBatch ours = own(batch, CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, SUBMIT);
            if (requests.isEmpty()) {
                throw CuFileException.of(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR, SUBMIT, "no requests");
            }
            List<BatchRequest> entries = List.copyOf(requests);
            entries.forEach(this::check);
            runners.run(ours.enter(entries.size(),
                    into -> new Submission(into, entries, waitsForDisk(entries), this::run)));
            well = true;
            session.log().log(Severity.DEBUG, "%s entries=%d", SUBMIT, entries.size());
        } catch (CuFileException e) {
            session.log().failed(e);
            throw e;
        } finally {
            counters.batchSubmitted(well, requests, request -> CompatBackend.POSIX, begun);
        }
    }

    /** As far as the first and the last entry tell. */
    private boolean waitsForDisk(List<BatchRequest> entries) {
        return waitsForDisk(entries.getFirst()) || waitsForDisk(entries.getLast());
    }

    private boolean waitsForDisk(BatchRequest entry) {
        return session.planner()
                .waitsForDisk(
                        CompatFile.own(session, entry.file(), SUBMIT), entry.fileOffset(), entry.size(), entry.write());
    }

    /** All entries or none: an entry that could not even begin refuses its submission. */
    private void check(BatchRequest entry) {
        try {
            CompatFile file = CompatFile.own(session, entry.file(), SUBMIT);
            RequestArguments.check(
                    SUBMIT,
                    file,
                    entry.memory(),
                    entry.size(),
                    entry.fileOffset(),
                    entry.bufferOffset(),
                    entry.write());
        } catch (CuFileException e) {
            throw CuFileException.builder(SUBMIT)
                    .error(CuFileError.INTERNAL_BATCH_SUBMIT_ERROR)
                    .errno(e.errno().orElse(0))
                    .path(e.path())
                    .range(entry.fileOffset(), entry.size())
                    .detail(e.detail())
                    .cause(e)
                    .build();
        }
    }

    private void run(Lane lane, List<BatchRequest> entries, long submitted, List<BatchEvent> events) {
        long[] results = entries.size() > 1 ? session.readTogether(lane, entries) : ALONE;
        for (int i = 0; i < entries.size(); i++) {
            BatchRequest entry = entries.get(i);
            long result = results[i] == DeviceReadGroup.UNDONE ? perform(lane, entry) : results[i];
            boolean well = result >= 0;
            counters.batchProcessed(CompatBackend.POSIX, entry.write(), well, Math.max(0, result), submitted);
            events.add(new BatchEvent(entry.cookie(), well ? BatchStatus.COMPLETE : BatchStatus.FAILED, result));
        }
    }

    /** Bytes moved, or a negative errno or code. */
    private long perform(Lane lane, BatchRequest entry) {
        try {
            return session.perform(lane, entry, entry.write() ? "cuFileWrite" : "cuFileRead");
        } catch (CuFileException e) {
            int errno = e.errno().orElse(0);
            return -(long) (errno == 0 ? e.error().code() : errno);
        } catch (RuntimeException e) {
            session.log().error("batch entry failed: " + entry, e);
            return -Errno.EIO;
        }
    }

    List<BatchEvent> status(BackendBatch batch, int minimum, int maximum, Optional<Duration> timeout) {
        boolean well = false;
        try {
            CompatBatch ours = own(batch, CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR, STATUS);
            if (minimum < 0 || maximum < minimum) {
                throw CuFileException.of(
                        CuFileError.INVALID_VALUE,
                        STATUS,
                        "minimum is %d, allowed: 0 to %d".formatted(minimum, maximum));
            }
            List<BatchEvent> events = ours.take(minimum, maximum, timeout);
            well = true;
            return events;
        } finally {
            counters.batchAsked(well);
        }
    }

    /** As libcufile, ignores what it does not know. */
    void cancel(BackendBatch batch) {
        if (batch instanceof CompatBatch ours && batches.contains(ours)) {
            ours.cancel();
        }
        counters.batchCancelled();
    }

    /** As libcufile, ignores what it does not know. */
    void destroy(BackendBatch batch) {
        if (batch instanceof CompatBatch ours && batches.remove(ours)) {
            ours.destroy();
            counters.batchDestroyed();
        }
    }

    /** Entries on their way. */
    long atWork() {
        return batches.stream().mapToLong(CompatBatch::atWork).sum();
    }

    /** Cancels what has not begun, everywhere. */
    void cancelAll() {
        batches.forEach(CompatBatch::cancel);
    }

    /** Destroys all batches and ends the threads. */
    void close() {
        for (CompatBatch batch : batches) {
            batches.remove(batch);
            batch.destroy();
        }
        runners.close();
    }

    private CompatBatch own(BackendBatch batch, CuFileError error, String function) {
        if (batch instanceof CompatBatch ours && batches.contains(ours)) {
            return ours;
        }
        throw CuFileException.of(error, function, "not a batch of this driver session: " + batch);
    }
}
