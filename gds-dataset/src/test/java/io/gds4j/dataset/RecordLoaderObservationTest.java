package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import javax.management.JMException;
import javax.management.MBeanServer;
import javax.management.ObjectName;
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
                List.of(TestRecords.write(folder.resolve("records"), 0, 0, RECORDS)), 0, TestRecords.LENGTH);
    }

    private RecordLoader open(CuFileDriver driver) {
        return RecordLoader.builder(driver, source, 30).target(MemoryKind.HOST, 0).memory(1 << 20).open();
    }

    @Test
    void loaderIsABeanWhileItsSessionCounts() throws JMException {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName pattern = new ObjectName(RecordLoaderMXBean.NAME_PATTERN);
        try (CuFileDriver driver = CuFileDriver.open()) {
            driver.statistics().setLevel(1);
            driver.statistics().start();
            try (RecordLoader loader = open(driver)) {
                loader.next().close();
                Set<ObjectName> names = server.queryNames(pattern, null);
                assertThat(names).hasSize(1);
                ObjectName name = names.iterator().next();
                assertThat(server.getAttribute(name, "Records")).isEqualTo(30L);
                assertThat(server.getAttribute(name, "Position")).isEqualTo(30L);
                assertThat(server.getAttribute(name, "Batches")).isEqualTo(1L);
                assertThat(server.getAttribute(name, "Bytes")).isEqualTo(30L * TestRecords.LENGTH);
                assertThat(server.getAttribute(name, "Skipped")).isEqualTo(0L);
                assertThat((double) server.getAttribute(name, "WaitingForDataSeconds")).isNotNegative();
                assertThat((double) server.getAttribute(name, "WaitingForConsumerSeconds")).isNotNegative();
                assertThat((double) server.getAttribute(name, "RecordsPerSecond")).isPositive();
                assertThat((double) server.getAttribute(name, "BytesPerSecond")).isPositive();
                assertThat((long) server.getAttribute(name, "MemoryBytes")).isLessThanOrEqualTo(1 << 20);
            }
            assertThat(server.queryNames(pattern, null)).isEmpty();
        }
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
