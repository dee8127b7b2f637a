package io.gds4j.dataset;

import java.util.concurrent.TimeUnit;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/** Flight Recorder event of a delivered batch. */
@Name("gds4j.RecordBatch")
@Label("Record Batch")
@Description("A batch of records that a loader has delivered")
@Category({"gds4j"})
@StackTrace(false)
final class DeliveryEvent extends Event {
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
