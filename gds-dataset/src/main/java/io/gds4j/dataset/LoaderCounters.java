package io.gds4j.dataset;

import java.util.concurrent.TimeUnit;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

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

    /** Flight Recorder event of a delivered batch. */
    @Name("gds4j.RecordBatch")
    @Label("Record Batch")
    @Description("A batch of records that a loader has delivered")
    @Category({"gds4j"})
    @StackTrace(false)
    static final class DeliveryEvent extends Event {
        @Label("Epoch")
        long epoch;

        @Label("Position of the first record")
        long position;

        @Label("Records")
        int records;

        @Label("Records left out")
        int skipped;

        @Label("Bytes")
        @DataAmount
        long bytes;

        @Label("Time since the batch before")
        @Timespan(Timespan.MICROSECONDS)
        long sincePrevious;

        static void record(BatchBuffer buffer, long epoch, long nanos) {
            DeliveryEvent event = new DeliveryEvent();
            if (event.shouldCommit()) {
                event.epoch = epoch;
                event.position = buffer.position;
                event.records = buffer.count - buffer.skipped;
                event.skipped = buffer.skipped;
                event.bytes = buffer.bytes;
                event.sincePrevious = TimeUnit.NANOSECONDS.toMicros(nanos);
                event.commit();
            }
        }
    }
}
