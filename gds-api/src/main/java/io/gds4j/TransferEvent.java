package io.gds4j;

import jdk.jfr.DataAmount;
import jdk.jfr.Event;
import jdk.jfr.Label;
import org.jspecify.annotations.Nullable;

/** What the events of reads and writes have in common. They cost something only while somebody records. */
abstract sealed class TransferEvent extends Event permits ReadEvent, WriteEvent {
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

    /** Ends it and records it. */
    final void record(CuFileHandle handle, long from, long asked, long moved) {
        end();
        if (shouldCommit()) {
            path = handle.path().map(Object::toString).orElse(null);
            ioPath = handle.file().ioPath().path().name();
            offset = from;
            size = asked;
            bytes = moved;
            commit();
        }
    }
}
