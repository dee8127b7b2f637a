package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileHandle;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The events of reads, writes and batches in Java Flight Recorder, with its default settings. */
class FlightRecordingTest {
    private static final int SIZE = 3 * Rig.PAGE;

    @TempDir
    private Path folder;

    @Test
    void requestsAreRecordedWithFilePathOffsetAndBytes() throws Exception {
        Path dump = folder.resolve("dump.jfr");
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.host(SIZE);
            try (CuFileHandle handle = rig.open(file); Recording recording = new Recording()) {
                handle.read(memory.range(), 0);
                recording.start();
                handle.read(memory.range(), SIZE, Rig.PAGE, 0);
                handle.write(memory.range(), 100, 7, 0);
                try (CuFileBatch batch = rig.driver().batch(2)) {
                    batch.transferAll(List.of(Request.read(handle, memory.range(), Rig.PAGE, 0, 0)));
                }
                recording.stop();
                recording.dump(dump);
            }
            List<RecordedEvent> events = RecordingFile.readAllEvents(dump).stream()
                    .filter(event -> event.getEventType().getName().startsWith("gds4j."))
                    .toList();
            assertThat(events)
                    .extracting(event -> event.getEventType().getName())
                    .containsExactlyInAnyOrder("gds4j.Read", "gds4j.Write", "gds4j.Batch");
            RecordedEvent read = events.stream()
                    .filter(event -> event.getEventType().getName().equals("gds4j.Read"))
                    .findFirst()
                    .orElseThrow();
            assertThat(read.getString("path")).isEqualTo(file.path().toString());
            assertThat(read.getString("ioPath")).startsWith("COMPAT_");
            assertThat(read.getLong("offset")).isEqualTo(Rig.PAGE);
            assertThat(read.getLong("bytes")).isEqualTo(SIZE - Rig.PAGE);
            assertThat(read.getDuration()).isPositive();
        }
    }
}
