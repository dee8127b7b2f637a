package io.gds4j.testkit;

import io.gds4j.spi.BackendBatch;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.BatchStatus;
import io.gds4j.testkit.PlannedFault.Failure;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A batch of another backend, some of whose entries fail. The other backend moves the bytes that such an entry may move, so the
 * order of entries, the waits and cancelling stay as they are; only the event changes.
 */
record FaultyBatch(BackendBatch delegate, Map<Long, Failure> failures) implements BackendBatch {
    FaultyBatch(BackendBatch delegate) {
        this(delegate, new ConcurrentHashMap<>());
    }

    @Override
    public int capacity() {
        return delegate.capacity();
    }

    /** {@return the request for the other backend: with its own file, and short if the entry has to fail} */
    BatchRequest entry(BatchRequest request, BackendFile target, FaultPlan plan) {
        Failure failure = plan.begin(request.write() ? Call.BATCH_WRITE : Call.BATCH_READ, target.path());
        long size = request.size();
        if (failure != null) {
            failures.put(request.cookie(), failure);
            size = Math.min(size, failure.bytes());
        }
        return request.at(target).first(size);
    }

    /** Forgets entries that the other backend refused. */
    void forget(List<BatchRequest> requests) {
        requests.forEach(request -> failures.remove(request.cookie()));
    }

    /** {@return the event that the program sees} */
    BatchEvent event(BatchEvent event) {
        Failure failure = failures.remove(event.cookie());
        return failure == null || event.status() == BatchStatus.CANCELED
                ? event
                : new BatchEvent(event.cookie(), BatchStatus.FAILED, failure.result());
    }
}
