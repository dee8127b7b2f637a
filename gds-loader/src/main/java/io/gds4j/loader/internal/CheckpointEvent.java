package io.gds4j.loader.internal;

import java.nio.file.Path;
import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** Flight Recorder event of a load or a save. */
@Name("gds4j.Checkpoint")
@Label("Checkpoint")
@Description("A load or a save of a checkpoint")
@Category({"gds4j"})
@StackTrace(false)
public final class CheckpointEvent extends Event {
    /** The last name of the path. A path may be an address, which a recording should not show whole. */
    @Label("Checkpoint")
    @Nullable
    String checkpoint;

    @Label("Save")
    boolean save;

    @Label("Tensors")
    int tensors;

    @Label("Bytes of the tensors")
    @DataAmount
    long bytes;

    @Label("Succeeded")
    boolean succeeded;

    private CheckpointEvent() {
    }

    /** Begins the event. Only a process that has recorded may call this: loading this class starts the recorder, which takes 50 ms. */
    public static CheckpointEvent begin(boolean save) {
        CheckpointEvent event = new CheckpointEvent();
        event.save = save;
        event.begin();
        return event;
    }

    /** Ends the event and records it. */
    public void record(Path path, int numberOfTensors, long bytesOfTensors, boolean success) {
        end();
        if (shouldCommit()) {
            Path name = path.getFileName();
            checkpoint = name == null ? "" : name.toString();
            tensors = numberOfTensors;
            bytes = bytesOfTensors;
            succeeded = success;
            commit();
        }
    }
}
