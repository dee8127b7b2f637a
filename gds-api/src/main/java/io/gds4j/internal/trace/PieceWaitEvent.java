package io.gds4j.internal.trace;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Enabled;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;
import org.jspecify.annotations.Nullable;

/** Flight Recorder event of a thread that waits for a copy, or for staging memory, before it can move its next piece. */
@Name("gds4j.PieceWait")
@Label("Piece Waited For")
@Description("The wait of a thread for a copy, or for staging memory, before it can move its next piece")
@Category({"gds4j"})
@Enabled(false)
@StackTrace(false)
@Threshold("10 us")
public final class PieceWaitEvent extends Event {
    /** Waits for a copy to or from a GPU. */
    public static final String COPY = "copy";
    /** Waits for staging memory and a stream of copies. */
    public static final String SLAB = "slab";

    @Label("GPU, -1 if unknown")
    int gpu;

    @Label("Waits for")
    @Nullable
    String what;

    PieceWaitEvent() {
    }

    /** Ends the event and records it if it reaches the recording's threshold. */
    public void record(int ofGpu, String waitedFor) {
        end();
        if (shouldCommit()) {
            gpu = ofGpu;
            what = waitedFor;
            commit();
        }
    }
}
