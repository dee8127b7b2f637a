package io.gds4j.spark.records;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.dataset.RecordBatch;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.RecordOrder;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordFormatException;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spark.LocalCluster;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.stream.LongStream;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A data set of two files on two executors. */
@Timeout(60)
@ExtendWith(LocalCluster.class)
class RecordPartitionsTest {
    private static final long SEED = 42;
    private static final int RECORDS = 1003;
    private static final int LENGTH = 64;

    @TempDir
    Path folder;

    private SparkSession spark;
    private RecordPartitions records;

    @BeforeEach
    void write() throws IOException {
        spark = LocalCluster.session();
        String first = write("first", 0, 400);
        String second = write("second", 400, RECORDS);
        records = RecordPartitions.of(() -> RecordFiles.fixed(List.of(Path.of(first), Path.of(second)), LENGTH), 32)
                .with(loader -> loader.order(RecordOrder.shuffled(SEED)).target(MemoryKind.HOST,
                        MemoryRange.NO_DEVICE));
    }

    /** Writes records that begin with their numbers. */
    private String write(String name, long begin, long end) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate((int) (end - begin) * LENGTH).order(ByteOrder.nativeOrder());
        for (long record = begin; record < end; record++) {
            bytes.putLong((int) (record - begin) * LENGTH, record);
        }
        return Files.write(folder.resolve(name), bytes.array()).toString();
    }

    /** Returns the numbers that a partition's records contain. */
    private static FlatMapFunction<RecordLoader, Long> numbers() {
        return loader -> {
            List<Long> numbers = new ArrayList<>();
            while (loader.hasNext()) {
                try (RecordBatch batch = loader.next()) {
                    addNumbers(batch, numbers);
                }
            }
            return numbers.iterator();
        };
    }

    private static void addNumbers(RecordBatch batch, List<Long> numbers) {
        for (int i = 0; i < batch.count(); i++) {
            long number = batch.memory().segment().orElseThrow().get(ValueLayout.JAVA_LONG_UNALIGNED, batch.offset(i));
            if (number != batch.record(i)) {
                throw new AssertionError("record %d has the bytes of %d".formatted(batch.record(i), number));
            }
            numbers.add(number);
        }
    }

    private static List<Long> expected(long epoch) {
        RecordOrder order = RecordOrder.shuffled(SEED);
        return LongStream.range(0, RECORDS).mapToObj(index -> order.recordAt(index, RECORDS, epoch)).toList();
    }

    @Test
    void partitionsReadEachRecordOnceInTheOrderOfSeedAndEpoch() {
        for (int partitions : new int[]{1, 3, 8}) {
            for (long epoch : new long[]{0, 5}) {
                List<Long> read = records.epoch(spark, partitions, epoch, numbers()).collect();
                assertThat(read).as("%d partitions, epoch %d, seed %d", partitions, epoch, SEED)
                        .isEqualTo(expected(epoch))
                        .doesNotHaveDuplicates();
            }
        }
    }

    @Test
    void morePartitionsThanRecordsLeaveSomeEmpty() throws IOException {
        String path = write("three", 0, 3);
        RecordPartitions three = RecordPartitions.of(() -> RecordFiles.fixed(List.of(Path.of(path)), LENGTH), 2)
                .with(loader -> loader.target(MemoryKind.HOST, MemoryRange.NO_DEVICE));
        assertThat(three.epoch(spark, 5, 1, numbers()).collect()).containsExactly(0L, 1L, 2L);
    }

    @Test
    void aRepeatedTaskReadsTheSameRecords() {
        List<Long> read = records.epoch(spark, 2, 1, loader -> {
            if (TaskContext.get().attemptNumber() == 0) {
                loader.next().close();
                throw new IllegalStateException("the first attempt fails");
            }
            return numbers().call(loader);
        }).collect();
        assertThat(read).isEqualTo(expected(1));
    }

    private static Iterator<Integer> counts(RecordLoader loader) {
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return loader.hasNext();
            }

            @Override
            public Integer next() {
                try (RecordBatch batch = loader.next()) {
                    return batch.count();
                }
            }
        };
    }

    @Test
    void theLoaderStaysOpenForALazyIterator() {
        List<Integer> counts = records.epoch(spark, 2, 0, RecordPartitionsTest::counts).collect();
        assertThat(counts).hasSize(32);
        assertThat(counts.stream().mapToInt(Integer::intValue).sum()).isEqualTo(RECORDS);
    }

    @Test
    void refusesBadInputOnTheDriver() {
        assertThatThrownBy(() -> records.epoch(spark, 0, 0, numbers())).isInstanceOf(CuFileException.class)
                .hasMessageContaining("0 partitions, epoch 0; allowed are 1 and more");
        assertThatThrownBy(() -> records.epoch(spark, 1, -1, numbers())).isInstanceOf(CuFileException.class);
        String missing = folder.resolve("missing.npy").toString();
        RecordPartitions none = RecordPartitions.of(() -> RecordFiles.npy(List.of(Path.of(missing))), 1);
        assertThatThrownBy(() -> none.epoch(spark, 1, 0, numbers())).isInstanceOf(RecordFormatException.class)
                .message()
                .contains(missing)
                .hasLineCount(1);
    }
}
