package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;

/** A flight recording of loads and saves. */
public final class CheckpointRecording implements AutoCloseable {
    private static final String EVENT = "gds4j.Checkpoint";

    private final Recording recording = new Recording();

    /** Begins to record. */
    public CheckpointRecording() {
        recording.enable(EVENT).withoutThreshold();
        recording.start();
    }

    /** Checks the only event of a checkpoint. */
    public void check(Path dump, String checkpoint, boolean save, int tensors, long bytes, boolean succeeded)
            throws IOException {
        recording.dump(dump);
        assertThat(RecordingFile.readAllEvents(dump))
                .filteredOn(event -> event.getEventType().getName().equals(EVENT)
                        && event.getString("checkpoint").equals(checkpoint))
                .singleElement()
                .satisfies(event -> {
                    assertThat(event.getBoolean("save")).isEqualTo(save);
                    assertThat(event.getInt("tensors")).isEqualTo(tensors);
                    assertThat(event.getLong("bytes")).isEqualTo(bytes);
                    assertThat(event.getBoolean("succeeded")).isEqualTo(succeeded);
                });
    }

    @Override
    public void close() {
        recording.close();
    }
}
