package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
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

    @Test
    void failedRequestIsRecordedWithTheBytesThatItMoved() throws Exception {
        Path dump = folder.resolve("dump.jfr");
        int size = 5 * Rig.PIECE;
        long moved;
        try (Rig rig = Rig.onGpu()) {
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, size);
            try (CuFileHandle handle = rig.open(rig.file(size)); Recording recording = new Recording()) {
                recording.enable("gds4j.Read").withThreshold(Duration.ZERO);
                recording.start();
                rig.cuda().failDeferred(4, 719);
                moved = Failures.expect(CuFileError.CUDA_DRIVER_ERROR, () -> handle.read(memory.range(), 0))
                        .bytesTransferred();
                rig.cuda().heal();
                recording.stop();
                recording.dump(dump);
            }
        }
        assertThat(moved).isPositive();
        assertThat(RecordingFile.readAllEvents(dump)).singleElement()
                .satisfies(event -> assertThat(event.getLong("bytes")).isEqualTo(moved));
    }

    /** Off unless a recording asks: the first test sees none. */
    @Test
    void piecesAreRecordedOnRequest() throws Exception {
        Path dump = folder.resolve("dump.jfr");
        int size = 5 * Rig.PIECE + 7;
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(size);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, size);
            try (CuFileHandle handle = rig.open(file); Recording recording = new Recording()) {
                for (String name : List.of("Read", "Copy", "Wait")) {
                    recording.enable("gds4j.Piece" + name).withThreshold(Duration.ZERO);
                }
                recording.start();
                handle.read(memory.range(), 0);
                recording.stop();
                recording.dump(dump);
            }
            Map<String, List<RecordedEvent>> events = RecordingFile.readAllEvents(dump).stream()
                    .collect(Collectors.groupingBy(event -> event.getEventType().getName()));
            List<RecordedEvent> reads = events.get("gds4j.PieceRead");
            assertThat(reads).hasSizeGreaterThan(1).allSatisfy(event -> {
                assertThat(event.getString("path")).isEqualTo(file.path().toString());
                assertThat(event.getBoolean("write")).isFalse();
            });
            assertThat(sum(reads)).isEqualTo(size);
            assertThat(sum(events.get("gds4j.PieceCopy"))).isEqualTo(size);
            assertThat(events.get("gds4j.PieceCopy")).allSatisfy(
                    event -> assertThat(event.getInt("gpu")).isZero());
            assertThat(events.get("gds4j.PieceWait")).extracting(event -> event.getString("what"))
                    .contains("slab", "copy");
        }
    }

    @Test
    void copiesToSeveralGpusAreRecordedWithTheBytesOfEach() throws Exception {
        Path dump = folder.resolve("dump.jfr");
        FakeCuda cuda = new FakeCuda(2, 64L << 20);
        int size = 300_000;
        Path file = Files.write(folder.resolve("file"), new byte[size]);
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(64L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(8L))
                .build();
        try (CuFileDriver driver = CuFileDriver.open(new CompatBackend(config, FfmPosix.instance(), cuda.available()));
                CuFileHandle handle = driver.openFile(file, StandardOpenOption.READ);
                MemoryAllocation most = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, size, 0);
                MemoryAllocation few = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, size, 1);
                Recording recording = new Recording()) {
            recording.enable("gds4j.PieceCopy").withThreshold(Duration.ZERO);
            recording.start();
            handle.readScattered(0, size, List.of(
                    new ScatterCopy(0, size - 1000, most, 0),
                    new ScatterCopy(100, 49, 20, 6000, few, 0, 20),
                    new ScatterCopy(size - 1000, 1000, few, 200_000)));
            recording.stop();
            recording.dump(dump);
        }
        Map<Integer, List<RecordedEvent>> copies = RecordingFile.readAllEvents(dump).stream()
                .filter(event -> event.getEventType().getName().equals("gds4j.PieceCopy"))
                .collect(Collectors.groupingBy(event -> event.getInt("gpu")));
        assertThat(copies.keySet()).containsExactly(0, 1);
        assertThat(sum(copies.get(0))).isEqualTo(size - 1000);
        assertThat(sum(copies.get(1))).isEqualTo(6000 * 20 + 1000);
    }

    private static long sum(List<RecordedEvent> events) {
        return events.stream().mapToLong(event -> event.getLong("bytes")).sum();
    }
}
