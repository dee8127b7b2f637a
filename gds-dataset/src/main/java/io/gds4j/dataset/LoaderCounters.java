package io.gds4j.dataset;

import jdk.jfr.FlightRecorder;

/** Counts what a loader delivers and who waits for whom. The ring's lock guards it. */
final class LoaderCounters {
    private static final double NANOS = 1e9;

    private final long begun = System.nanoTime();
    private long lastDelivery = begun;
    private long records;
    private long bytes;
    private long batches;
    private long skipped;
    private boolean consumerWaits;
    private boolean readersWait;
    private boolean stalled;
    private long changed = begun;
    private long stalledSince = begun;
    private long waitingForData;
    private long waitingForConsumer;

    /** Adds the time since the last change to what held until now. */
    void account(boolean takersWait, boolean noBufferIsFree, boolean allAreHeld) {
        if (takersWait == consumerWaits && noBufferIsFree == readersWait && allAreHeld == stalled) {
            return;
        }
        long now = System.nanoTime();
        add(now);
        if (allAreHeld && !stalled) {
            stalledSince = now;
        }
        consumerWaits = takersWait;
        readersWait = noBufferIsFree;
        stalled = allAreHeld;
    }

    private void add(long now) {
        waitingForData += consumerWaits ? now - changed : 0;
        waitingForConsumer += readersWait ? now - changed : 0;
        changed = now;
    }

    long stalledSince() {
        return stalledSince;
    }

    void delivered(BatchBuffer buffer, long epoch) {
        records += buffer.count - buffer.skipped;
        bytes += buffer.bytes;
        skipped += buffer.skipped;
        batches++;
        long now = System.nanoTime();
        if (FlightRecorder.isInitialized()) {
            DeliveryEvent.record(buffer, epoch, now - lastDelivery);
        }
        lastDelivery = now;
    }

    LoaderReport report(long memoryBytes) {
        add(System.nanoTime());
        return new LoaderReportParts(
                records,
                bytes,
                batches,
                skipped,
                (lastDelivery - begun) / NANOS,
                waitingForData / NANOS,
                waitingForConsumer / NANOS,
                memoryBytes);
    }
}
