package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a loader shows from outside. */
class RecordLoaderObservationTest {
    private static final int RECORDS = 100;

    @TempDir
    Path folder;

    private RecordSource source = TestRecords.none();

    @BeforeEach
    void makeRecords() throws IOException {
        source = RecordFiles.fixed(
                List.of(TestRecords.write(folder.resolve("records"), 0, 0, RECORDS)), TestRecords.LENGTH);
    }

    private RecordLoader open(CuFileDriver driver) {
        return RecordLoader.builder(driver, source, 30).target(MemoryKind.HOST, 0).memory(1 << 20).open();
    }

    @Test
    void flightRecordingHasAnEventForEachBatch() throws IOException {
        Path file = folder.resolve("batches.jfr");
        try (Recording recording = new Recording(); CuFileDriver driver = CuFileDriver.open()) {
            recording.enable("gds4j.RecordBatch");
            recording.start();
            try (RecordLoader loader = open(driver)) {
                assertThat(TestRecords.all(driver, loader)).hasSize(RECORDS);
            }
            recording.stop();
            recording.dump(file);
        }
        List<RecordedEvent> events = RecordingFile.readAllEvents(file).stream()
                .filter(event -> event.getEventType().getName().equals("gds4j.RecordBatch")).toList();
        assertThat(events).extracting(event -> event.getInt("records")).containsExactlyInAnyOrder(30, 30, 30, 10);
        assertThat(events).extracting(event -> event.getLong("position")).containsExactlyInAnyOrder(0L, 30L, 60L, 90L);
    }
}
