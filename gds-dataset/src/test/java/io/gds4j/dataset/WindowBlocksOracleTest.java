package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.FaultInjectingBackend;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Records of random lengths, with gaps and in any files, in windows of blocks, over several epochs and ranks, with reads that fail and loaders that
 * close early: each record comes once, with its bytes. {@code -Dgds4j.property.seconds} sets the length, {@code -Dgds4j.property.seed} repeats.
 */
@Timeout(120)
class WindowBlocksOracleTest {
    private static final int RUNS = 40;
    private static final int MAX_LENGTH = 300;

    @TempDir
    Path folder;

    private record Places(List<Path> files, int[] file, long[] offset, int[] size) implements RecordSource {
        @Override
        public long records() {
            return size.length;
        }

        @Override
        public long maxLength() {
            return MAX_LENGTH;
        }

        @Override
        public boolean isFixedLength() {
            return false;
        }

        @Override
        public int file(long record) {
            return file[(int) record];
        }

        @Override
        public long fileOffset(long record) {
            return offset[(int) record];
        }

        @Override
        public long length(long record) {
            return size[(int) record];
        }
    }

    private static byte[] content(long record, int size) {
        byte[] bytes = new byte[size];
        new Random(record).nextBytes(bytes);
        return bytes;
    }

    private Places places(Random random) throws IOException {
        int records = 1 + random.nextInt(300);
        int files = 1 + random.nextInt(3);
        Places places = new Places(
                new ArrayList<>(), new int[records], new long[records], new int[records]);
        int most = random.nextInt(4) == 0 ? 20 : MAX_LENGTH;
        int record = 0;
        for (int f = 0; f < files; f++) {
            byte[] bytes = new byte[MAX_LENGTH];
            int at = random.nextInt(3) * 50;
            int end = f == files - 1 ? records : record + random.nextInt(records - record + 1);
            for (; record < end; record++) {
                int size = random.nextInt(5) == 0 ? 0 : random.nextInt(most + 1);
                places.file[record] = f;
                places.offset[record] = at;
                places.size[record] = size;
                bytes = at + size <= bytes.length ? bytes : Arrays.copyOf(bytes, 2 * (at + size));
                System.arraycopy(content(record, size), 0, bytes, at, size);
                at += size + (random.nextInt(4) == 0 ? random.nextInt(80) : 0)
                        + (random.nextInt(90) == 0 ? (16 << 10) + random.nextInt(2) : 0);
            }
            places.files.add(Files.write(folder.resolve("f" + f), Arrays.copyOf(bytes, at)));
        }
        return places;
    }

    @Test
    void eachRecordComesOnceWithItsBytes() throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        long end = System.nanoTime() + Duration.ofSeconds(Long.getLong("gds4j.property.seconds", 0)).toNanos();
        for (int run = 0; run < RUNS || System.nanoTime() < end; run++, seed++) {
            try {
                run(new Random(seed));
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("-Dgds4j.property.seed=" + seed, e);
            }
        }
    }

    private void run(Random random) throws IOException {
        Places source = places(random);
        int records = source.size.length;
        RecordOrder order = RecordOrder.shuffledBlocks(
                random.nextLong(), 1 + random.nextInt(50), 2 + random.nextInt(4));
        int epochs = 1 + random.nextInt(4);
        int world = 1 + random.nextInt(3);
        int rank = random.nextInt(world);
        boolean fails = random.nextInt(3) == 0;
        FakeGpu gpu = FakeGpu.builder().seed(random.nextLong()).build();
        long free = gpu.availableBytes(0);
        FaultInjectingBackend faults = new FaultInjectingBackend(gpu.backend());
        if (fails) {
            faults.on(Call.READ).nth(1 + random.nextInt(30)).times(1 + random.nextInt(3)).fails(Errno.EIO);
        }
        List<Long> expected = new ArrayList<>();
        int first = rank * (records / world) + Math.min(rank, records % world);
        int count = records / world + (rank < records % world ? 1 : 0);
        for (int epoch = 0; epoch < epochs; epoch++) {
            int e = epoch;
            LongStream.range(first, first + count).map(i -> order.recordAt(i, records, e)).forEach(expected::add);
        }
        long stop = random.nextInt(4) == 0 ? random.nextInt(expected.size() + 1) : Long.MAX_VALUE;
        List<Long> seen = new ArrayList<>();
        boolean failed = false;
        try (CuFileDriver driver = CuFileDriver.open(faults);
                RecordLoader loader = RecordLoader.builder(driver, source, 1 + random.nextInt(40)).order(order)
                        .epochs(epochs).share(new Share(rank, world)).readers(1 + random.nextInt(5))
                        .target(random.nextBoolean() ? MemoryKind.HOST : MemoryKind.CUDA_DEVICE, 0)
                        .memory(4096L * (8 << random.nextInt(8))).open()) {
            while (loader.hasNext() && seen.size() < stop) {
                try (RecordBatch batch = loader.next()) {
                    byte[] all = new byte[(int) batch.memory().length()];
                    if (all.length > 0) {
                        driver.allocator().copyToHost(
                                batch.memory(), MemorySegment.ofArray(all));
                    }
                    for (int i = 0; i < batch.count(); i++) {
                        long record = batch.record(i);
                        seen.add(record);
                        int at = (int) batch.offset(i);
                        assertThat(Arrays.copyOfRange(all, at, at + (int) batch.length(i)))
                                .as("record %s", record).isEqualTo(content(record, source.size[(int) record]));
                    }
                }
            }
        } catch (CuFileException e) {
            failed = true;
            assertThat(fails).as("%s", e).isTrue();
        }
        assertThat(gpu.availableBytes(0)).isEqualTo(free);
        boolean isWhole = !failed && stop >= expected.size();
        assertThat(seen).isEqualTo(expected.subList(0, isWhole ? expected.size() : seen.size()));
    }
}
