package io.gds4j.internal.trace;

import io.gds4j.spi.Operation;
import java.nio.file.Path;
import java.util.Optional;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** Flight Recorder event of a piece that a thread reads from a file, or writes to one. */
@Name("gds4j.PieceRead")
@Label("Piece Read or Written")
@Description("A part of a request that one thread reads from a file or writes to it")
@Category({"gds4j"})
@Enabled(false)
@StackTrace(false)
public final class PieceReadEvent extends Event {
    @Label("File")
    @Nullable
    String path;

    @Label("Write")
    boolean write;

    @Label("Offset in the file")
    @DataAmount
    long offset;

    @Label("Bytes moved")
    @DataAmount
    long bytes;

    PieceReadEvent() {
    }

    /** Ends the event and records it. */
    public void record(Optional<Path> file, Operation operation, long from, long moved) {
        end();
        if (shouldCommit()) {
            path = file.map(Object::toString).orElse(null);
            write = operation.isWrite();
            offset = from;
            bytes = moved;
            commit();
        }
    }
}
