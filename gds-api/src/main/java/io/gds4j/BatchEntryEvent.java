package io.gds4j;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** An entry of a batch from its submission until its completion is taken, for Java Flight Recorder. */
@Name("gds4j.Batch")
@Label("GPUDirect Storage Batch Entry")
@Description("An entry of a batch, from cuFileBatchIOSubmit until its completion is taken")
@Category({"gds4j"})
@StackTrace(false)
final class BatchEntryEvent extends Event {
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

    /** Ends it and records it. */
    void record(CuFileBatch.Completion completion) {
        end();
        if (shouldCommit()) {
            CuFileBatch.Request request = completion.request();
            path = request.handle().path().map(Object::toString).orElse(null);
            ioPath = request.handle().file().ioPath().path().name();
            offset = request.fileOffset();
            bytes = Math.max(0, completion.result());
            write = request.write();
            status = completion.status().name();
            commit();
        }
    }
}
