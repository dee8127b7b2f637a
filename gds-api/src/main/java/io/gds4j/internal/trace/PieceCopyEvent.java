package io.gds4j.internal.trace;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** Flight Recorder event of a copy between slabs and a GPU, from its start until a thread sees that it is complete. */
@Name("gds4j.PieceCopy")
@Label("Piece Copied")
@Description("A copy between staging memory and a GPU, from its start until a thread sees that it is complete")
@Category({"gds4j"})
@Enabled(false)
@StackTrace(false)
public final class PieceCopyEvent extends Event {
    @Label("GPU, -1 for one whose context the program made")
    int gpu;

    @Label("Bytes")
    @DataAmount
    long bytes;

    PieceCopyEvent() {
    }

    /** Ends the event and records it. */
    public void record(int ofGpu, long copied) {
        end();
        if (shouldCommit()) {
            gpu = ofGpu;
            bytes = copied;
            commit();
        }
    }
}
