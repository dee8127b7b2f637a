package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileStream;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.FakeStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Loaders of random shapes on fake GPUs, with consumers that take and close batches in every way. Each delivers the records of its order,
 * and leaves no memory. {@code -Dgds4j.property.seconds} sets the length, {@code -Dgds4j.property.seed} repeats a failure.
 */
class RecordLoaderSoakTest {
    private static final Duration LENGTH = Duration.ofMillis(Long.getLong("gds4j.property.seconds", 0) * 1000 + 300);
    private static final long GPU_BYTES = 8 << 20;
    private static final long PAGE = 4096;

    @TempDir
    Path folder;

    @Test
    void anyLoaderDeliversItsOrder() throws IOException {
        long end = System.nanoTime() + LENGTH.toNanos();
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        int runs = 0;
        do {
            try {
                run(new Random(seed), runs);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("repeat with -Dgds4j.property.seed=" + seed, e);
            }
            runs++;
            seed++;
        } while (System.nanoTime() < end);
        System.out.println(runs + " loaders");
    }

    private void run(Random random, int number) throws IOException {
        int records = 1 + random.nextInt(400);
        int cut = random.nextInt(records + 1);
        int header = random.nextInt(100);
        RecordSource source = RecordFiles.afterHeader(
                List.of(TestRecords.write(folder.resolve("a" + number % 2), header, 0, cut),
                        TestRecords.write(folder.resolve("b" + number % 2), header, cut, records)),
                header,
                TestRecords.LENGTH);
        RecordOrder order = switch (random.nextInt(3)) {
            case 0 -> RecordOrder.sequential();
            case 1 -> RecordOrder.shuffled(random.nextLong());
            default -> RecordOrder.shuffledBlocks(random.nextLong(), 1 + random.nextInt(30), 1 + random.nextInt(4));
        };
        int epochs = 1 + random.nextInt(3);
        int batch = 1 + random.nextInt(60);
        long resumed = random.nextInt(records * epochs + 1);
        List<Long> expected = LongStream.range(resumed, (long) records * epochs)
                .map(position -> order.recordAt(position % records, records, position / records)).boxed().toList();
        LoaderState state = new LoaderState(
                new RecordPlan(order, records, DoneRecords.NONE, 1, batch, Remainder.KEEP), true, Map.of(0, resumed));
        FakeGpu gpu = FakeGpu.builder().bytesPerDevice(GPU_BYTES).seed(random.nextLong()).build();
        int readers = 1 + random.nextInt(6);
        long bound = PAGE * (2 + random.nextInt(6));
        try (CuFileDriver driver = gpu.openDriver();
                FakeStream queue = gpu.newStream();
                CuFileStream stream = driver.stream(queue.address(), Set.of());
                RecordLoader loader = RecordLoader.builder(driver, source, batch).order(order).epochs(epochs)
                        .resume(state).readers(readers).memory(bound).open()) {
            assertThat(consume(driver, loader, queue, stream, random)).isEqualTo(expected);
            driver.allocator().usage().forEach((kind, use) -> assertThat(use.peakBytes()).as("%s", kind)
                    .isLessThanOrEqualTo(kind.isCuda() ? bound : PAGE * readers + PAGE + bound));
        }
        assertThat(gpu.availableBytes(0)).isEqualTo(GPU_BYTES);
        gpu.verify();
    }

    private static List<Long> consume(
            CuFileDriver driver, RecordLoader loader, FakeStream queue, CuFileStream stream, Random random) {
        List<Long> seen = new ArrayList<>();
        while (loader.hasNext()) {
            RecordBatch batch = switch (random.nextInt(4)) {
                case 0 -> loader.nextAsync().join();
                case 1 -> loader.poll(Duration.ofMinutes(1)).orElseThrow();
                case 2 -> {
                    CompletableFuture<RecordBatch> cancelled = loader.nextAsync();
                    yield cancelled.cancel(false) ? loader.next() : cancelled.join();
                }
                default -> loader.next();
            };
            List<Long> numbers = TestRecords.numbers(driver, batch);
            seen.addAll(numbers);
            if (random.nextBoolean()) {
                batch.close();
            } else {
                MemoryRange memory = batch.memory();
                int count = batch.count();
                queue.enqueue(() -> TestRecords.check(driver, memory, numbers.subList(0, count)));
                batch.close(stream);
            }
        }
        queue.synchronize();
        return seen;
    }
}
