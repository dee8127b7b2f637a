package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.StringJoiner;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which records a batch has, where they go, and which reads fetch them. */
@Timeout(value = 10, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BatchPlannerTest {
    private static final int KIB = 1 << 10;
    private static final int MIB = 1 << 20;

    /** Records by their file, first byte and length. */
    private record Places(boolean isFixedLength, long[]... places) implements RecordSource {
        /** Reads records as {@code file:offset+length}. */
        static Places of(boolean fixed, String text) {
            return new Places(fixed, Arrays.stream(text.split(" "))
                    .map(place -> Arrays.stream(place.split("[:+]")).mapToLong(Long::parseLong).toArray())
                    .toArray(long[][]::new));
        }

        @Override
        public List<Path> files() {
            return List.of(Path.of("a"), Path.of("b"));
        }

        @Override
        public long records() {
            return places.length;
        }

        @Override
        public long maxLength() {
            return Arrays.stream(places).mapToLong(place -> place[2]).max().orElse(0);
        }

        @Override
        public int file(long record) {
            return (int) places[(int) record][0];
        }

        @Override
        public long fileOffset(long record) {
            return places[(int) record][1];
        }

        @Override
        public long length(long record) {
            return places[(int) record][2];
        }
    }

    private static BatchPlanner planner(RecordSource source, long bufferBytes, long bytes, int readers) {
        int batch = (int) source.records();
        RecordPlan plan = new RecordPlan(RecordOrder.sequential(), batch, DoneRecords.NONE, 1, batch, Remainder.KEEP);
        return new BatchPlanner(source, Itinerary.of(plan, 0, 1), bufferBytes, bytes, readers);
    }

    /** Returns the reads of the first batch as {@code file:offset+length@place}; tasks end with {@code /}. */
    private static String reads(BatchPlanner planner, RecordSource source) {
        BatchBuffer buffer = new BatchBuffer(0, (int) source.records());
        buffer.begin(0, planner.count(0));
        planner.plan(buffer);
        StringJoiner tasks = new StringJoiner(" / ");
        for (int task = 0; task < buffer.tasks; task++) {
            StringJoiner runs = new StringJoiner(" ");
            for (int run = buffer.taskFirst[task]; run < buffer.taskFirst[task + 1]; run++) {
                runs.add("%d:%d+%d@%d".formatted(
                        buffer.runFile[run], buffer.runFileOffset[run], buffer.runBytes(run), buffer.runStart(run)));
            }
            tasks.add(runs.toString());
        }
        assertThat(buffer.taskFirst[buffer.tasks]).isEqualTo(buffer.runs);
        assertThat(buffer.bytes).isEqualTo(buffer.offsets[buffer.count]);
        for (int i = 0; i < buffer.count; i++) {
            assertThat(buffer.records[i]).isEqualTo(i);
            assertThat(buffer.offsets[i + 1] - buffer.offsets[i]).isEqualTo(source.length(i));
        }
        return tasks.toString();
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            # records                      | reads
            0:0+10 0:10+10 0:20+10         | 0:0+30@0
            0:0+10 0:10+10 0:21+10         | 0:0+20@0 0:21+10@20
            0:0+10 0:9+10                  | 0:0+10@0 0:9+10@10
            0:0+10 1:10+10 1:20+10         | 0:0+10@0 1:10+20@10
            0:20+10 0:10+10 0:0+10         | 0:20+10@0 0:10+10@10 0:0+10@20
            0:0+10 0:10+0 0:10+5           | 0:0+15@0
            0:5+0                          | 0:5+0@0
            """)
    void neighboursInAFileAreOneRead(String records, String reads) {
        Places source = Places.of(false, records);
        assertThat(reads(planner(source, 1000, 64 * MIB, 1), source)).isEqualTo(reads);
    }

    /** Runs have at least 1 MiB and at most 16, and tasks of several reads at most 1 MiB. */
    @ParameterizedTest(name = "{0} bytes, {1} readers")
    @CsvSource({
            // bytes of all buffers, readers, bytes of a run, bytes of a task
            "268435456, 1, 16777216, 1048576",
            "268435456, 8, 8388608, 1048576",
            "67108864, 16, 1048576, 1048576",
            "1048576, 1, 1048576, 262144",
            "1048576, 16, 1048576, 16384",
            "1048576, 256, 1048576, 4096"
    })
    void memoryAndReadersLimitReads(long bytes, int readers, int run, int task) {
        int length = 512 * KIB;
        StringJoiner records = new StringJoiner(" ");
        for (int i = 0; i < 64; i++) {
            records.add("0:%d+%d".formatted((long) i * length, length));
        }
        Places source = Places.of(true, records.toString());
        BatchPlanner planner = planner(source, 32L * MIB, bytes, readers);

        assertThat(reads(planner, source).split(" / ")).as("each long run is a task").hasSize(32 * MIB / run);
        assertThat(planner.longestTask()).isEqualTo(task);
        planner.setDiskSlow(true);
        assertThat(reads(planner, source).split(" / ")).as("while a disk keeps readers waiting").hasSize(32);
        planner.setDiskSlow(false);
        assertThat(reads(planner, source).split(" / ")).hasSize(32 * MIB / run);
    }

    @Test
    void shortReadsShareATaskUpToItsLimit() {
        // 4 KiB at most a task: 256 readers share 1 MiB.
        Places source =
                Places.of(false, "0:0+2048 0:9000+2048 0:20000+1 0:30000+4095 0:40000+4096 0:50000+0 0:60000+1");
        assertThat(reads(planner(source, 1 << 16, 1 << 20, 256), source)).isEqualTo(
                "0:0+2048@0 0:9000+2048@2048 / 0:20000+1@4096 0:30000+4095@4097 / 0:40000+4096@8192 0:50000+0@12288"
                        + " / 0:60000+1@12288");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            # records of different lengths | buffer | count
            0:0+10 0:10+10 0:20+10         | 30     | 3
            0:0+10 0:10+10 0:20+10         | 29     | 2
            0:0+10 0:10+20 0:30+10         | 29     | 1
            0:0+40 0:40+10                 | 30     | 1
            0:0+30 0:30+0 0:30+1           | 30     | 2
            """)
    void batchEndsWhereItsBufferIsFull(String records, long buffer, int count) {
        assertThat(planner(Places.of(false, records), buffer, MIB, 1).count(0)).isEqualTo(count);
    }

    @Test
    void recordsOfOneLengthFillTheirBatch() {
        assertThat(planner(Places.of(true, "0:0+10 0:10+10 0:20+10"), 30, MIB, 1).count(0)).isEqualTo(3);
    }

    /** A negative length must not make room for the records behind it. */
    @Test
    void negativeLengthMakesNoRoom() {
        Places source = new Places(false, new long[]{0, 0, 20}, new long[]{0, 20, -10}, new long[]{0, 10, 15});
        assertThat(planner(source, 30, MIB, 1).count(0)).isEqualTo(2);
    }

    @ParameterizedTest
    @CsvSource({"0, -1", "1, -10", "1, 21", "2, 11"})
    void lengthThatDoesNotFitIsRefused(int record, long length) {
        long[][] places = {{0, 0, 10}, {0, 10, 10}, {0, 20, 10}};
        places[record][2] = length;
        Places source = new Places(true, places);
        BatchPlanner planner = planner(source, 30, MIB, 1);
        BatchBuffer buffer = new BatchBuffer(0, 3);
        buffer.begin(0, 3);

        assertThatThrownBy(() -> planner.plan(buffer)).isInstanceOf(CuFileException.class).hasMessageContaining(
                "record %d has %d bytes, allowed by its source: 0 to %d".formatted(record, length, source.maxLength()));
    }
}
