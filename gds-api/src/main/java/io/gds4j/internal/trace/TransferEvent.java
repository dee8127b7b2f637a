package io.gds4j.internal.trace;

import io.gds4j.spi.BackendFile;
import jdk.jfr.DataAmount;
import jdk.jfr.Event;
import jdk.jfr.Label;
import org.jspecify.annotations.Nullable;

/** Flight Recorder event of a read or a write; exists only while a recording is on. */
public abstract sealed class TransferEvent extends Event permits ReadEvent, WriteEvent {
    @Label("File")
    @Nullable
    String path;

    @Label("I/O path")
    @Nullable
    String ioPath;

    @Label("Offset in the file")
    @DataAmount
    long offset;

    @Label("Bytes asked for")
    @DataAmount
    long size;

    @Label("Bytes moved")
    @DataAmount
    long bytes;

    TransferEvent() {
    }

    /** Ends the event and records it if it reaches the recording's threshold. */
    public final void record(BackendFile file, long from, long asked, long moved) {
        end();
        if (shouldCommit()) {
            path = file.path().map(Object::toString).orElse(null);
            ioPath = file.ioPath().path().name();
            offset = from;
            size = asked;
            bytes = moved;
            commit();
        }
    }
}
