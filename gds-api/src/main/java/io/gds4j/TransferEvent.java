package io.gds4j;

import jdk.jfr.DataAmount;
import jdk.jfr.Event;
import jdk.jfr.Label;
import org.jspecify.annotations.Nullable;

/** What the events of reads and writes have in common. They cost something only while somebody records. */
abstract sealed class TransferEvent extends Event permits ReadEvent, WriteEvent {
    /** Asked before each request; made once, because a request allocates nothing. */
    private static final ReadEvent READS = new ReadEvent();
    private static final WriteEvent WRITES = new WriteEvent();

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

    /** Begins an event; null unless somebody records. */
    static @Nullable TransferEvent begin(boolean write) {
        if (write ? !WRITES.isEnabled() : !READS.isEnabled()) {
            return null;
        }
        TransferEvent event = write ? new WriteEvent() : new ReadEvent();
        event.begin();
        return event;
    }

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
