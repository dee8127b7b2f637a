package io.gds4j.internal.trace;

import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchStatus;
import io.gds4j.spi.Operation;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** Flight Recorder event of a batch entry, from submission until a caller takes its completion. */
@Name("gds4j.Batch")
@Label("GPUDirect Storage Batch Entry")
@Description("An entry of a batch, from cuFileBatchIOSubmit until its completion is taken")
@Category({"gds4j"})
@StackTrace(false)
public final class BatchEntryEvent extends Event {
    @Label("File")
    @Nullable
    String path;

    @Label("I/O path")
    @Nullable
    String ioPath;

    @Label("Offset in the file")
    @DataAmount
    long offset;

    @Label("Bytes moved")
    @DataAmount
    long bytes;

    @Label("Write")
    boolean write;

    @Label("State")
    @Nullable
    String status;

    BatchEntryEvent() {
    }

    /** Ends the event and records it if it reaches the recording's threshold. */
    public void record(BackendFile file, Operation operation, long fileOffset, BatchStatus outcome, long result) {
        end();
        if (shouldCommit()) {
            path = file.path().map(Object::toString).orElse(null);
            ioPath = file.ioPath().path().name();
            offset = fileOffset;
            bytes = Math.max(0, result);
            write = operation.isWrite();
            status = outcome.name();
            commit();
        }
    }
}
