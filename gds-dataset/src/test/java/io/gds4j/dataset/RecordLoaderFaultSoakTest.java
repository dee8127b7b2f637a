package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileStream;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.Call;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.FakeStream;
import io.gds4j.testkit.FaultInjectingBackend;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Loaders of records of random lengths, whose reads fail, with several consumers, one of which may close the loader at any time. A record
 * arrives at most once, whole, and in order; nothing hangs, and no memory stays. {@code -Dgds4j.property.seconds} sets the length,
 * {@code -Dgds4j.property.seed} repeats a failure.
 */
class RecordLoaderFaultSoakTest {
    private static final Duration LENGTH = Duration.ofMillis(Long.getLong("gds4j.property.seconds", 0) * 1000 + 300);
    private static final long GPU_BYTES = 8 << 20;

    @TempDir
    Path folder;

    /** Records of random lengths with gaps; each byte tells its record. */
    private record Records(Path file, long[] offsets, long[] lengths) implements TestRecords.InOneFile {
        @Override
        public long records() {
            return offsets.length;
        }

        @Override
        public long maxLength() {
            return 300;
        }

        @Override
        public long fileOffset(long record) {
            return offsets[(int) record];
        }

        @Override
        public long length(long record) {
            return lengths[(int) record];
        }
    }

    private Records write(Random random, int number) throws IOException {
        int count = 1 + random.nextInt(300);
        long[] offsets = new long[count];
        long[] lengths = new long[count];
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int i = 0; i < count; i++) {
            bytes.writeBytes(new byte[random.nextInt(3) == 0 ? random.nextInt(50) : 0]);
            offsets[i] = bytes.size();
            lengths[i] = random.nextInt(4) == 0 ? 0 : random.nextInt(301);
            for (long k = 0; k < lengths[i]; k++) {
                bytes.write(i * 7 + 1);
            }
        }
        return new Records(Files.write(folder.resolve("r" + number % 2), bytes.toByteArray()), offsets, lengths);
    }

    @Test
    void faultsLoseAndSpoilNothingElse() throws Exception {
        long end = System.nanoTime() + LENGTH.toNanos();
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        int runs = 0;
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            do {
                try {
                    run(new Random(seed), runs, threads);
                } catch (Exception | AssertionError e) {
                    threads.shutdownNow();
                    throw new AssertionError("repeat with -Dgds4j.property.seed=" + seed, e);
                }
                runs++;
                seed++;
            } while (System.nanoTime() < end);
        }
        System.out.println(runs + " loaders with faults");
    }

    private void run(Random random, int number, ExecutorService threads) throws Exception {
        Records source = write(random, number);
        FakeGpu gpu = FakeGpu.builder().bytesPerDevice(GPU_BYTES).seed(random.nextLong()).build();
        FaultInjectingBackend backend = new FaultInjectingBackend(gpu.backend());
        boolean faulty = random.nextInt(3) > 0;
        if (faulty) {
            backend.on(random.nextBoolean() ? Call.reads() : Set.of(Call.READ)).after(random.nextInt(200))
                    .probability(random.nextBoolean() ? 0.3 : 0.01, random.nextLong()).fails(Errno.EIO);
        }
        boolean closes = random.nextInt(4) == 0;
        ErrorPolicy policy = random.nextBoolean() ? ErrorPolicy.SKIP : ErrorPolicy.STOP;
        RecordOrder order = switch (random.nextInt(3)) {
            case 0 -> RecordOrder.sequential();
            case 1 -> RecordOrder.shuffled(random.nextLong());
            default -> RecordOrder.shuffledBlocks(random.nextLong(), 1 + random.nextInt(30), 1 + random.nextInt(4));
        };
        int epochs = 1 + random.nextInt(3);
        List<Consumer> consumers = new ArrayList<>();
        long skipped;
        try (CuFileDriver driver = CuFileDriver.open(backend);
                FakeStream queue = gpu.newStream();
                CuFileStream stream = driver.stream(queue.address(), Set.of());
                RecordLoader loader = RecordLoader.builder(driver, source, 1 + random.nextInt(40)).order(order)
                        .epochs(epochs).onError(policy).readers(1 + random.nextInt(4))
                        .target(random.nextBoolean() ? MemoryKind.HOST : MemoryKind.CUDA_DEVICE, 0)
                        .memory(4096 * (4 + random.nextInt(30))).open()) {
            int count = 1 + random.nextInt(3);
            List<Future<?>> ends = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                Consumer consumer = new Consumer(
                        driver, loader, queue, stream, source, new Random(random.nextLong()),
                        closes && i == 0 ? random.nextInt(20) : Integer.MAX_VALUE);
                consumers.add(consumer);
                ends.add(threads.submit(consumer));
            }
            for (Future<?> each : ends) {
                try {
                    each.get(30, TimeUnit.SECONDS);
                } catch (TimeoutException e) {
                    throw new AssertionError("hangs: " + loader.report(), e);
                }
            }
            skipped = loader.report().skipped();
            queue.synchronize();
        }
        gpu.verify();
        BitSet positions = new BitSet();
        long records = 0;
        for (Consumer consumer : consumers) {
            assertThat(consumer.positions).isSorted();
            for (long position : consumer.positions) {
                assertThat(positions.get((int) position)).isFalse();
                positions.set((int) position);
            }
            records += consumer.records;
        }
        Optional<CuFileException> failure =
                consumers.stream().flatMap(consumer -> consumer.failure.stream()).findFirst();
        if (!closes && failure.isEmpty()) {
            assertThat(records + skipped).isEqualTo(source.records() * epochs);
        }
        if (!faulty) {
            assertThat(skipped).isZero();
        }
        if (!closes && (policy == ErrorPolicy.SKIP || !faulty)) {
            assertThat(failure).isEmpty();
        }
    }

    private static final class Consumer implements Runnable {
        private final CuFileDriver driver;
        private final RecordLoader loader;
        private final FakeStream queue;
        private final CuFileStream stream;
        private final Records source;
        private final Random random;
        private final int closesAfter;
        final List<Long> positions = new ArrayList<>();
        long records;
        Optional<CuFileException> failure = Optional.empty();

        Consumer(
                CuFileDriver driver, RecordLoader loader, FakeStream queue, CuFileStream stream, Records source,
                Random random, int closesAfter) {
            this.driver = driver;
            this.loader = loader;
            this.queue = queue;
            this.stream = stream;
            this.source = source;
            this.random = random;
            this.closesAfter = closesAfter;
        }

        @Override
        public void run() {
            try {
                while (true) {
                    if (positions.size() >= closesAfter) {
                        loader.close();
                    }
                    RecordBatch batch = next();
                    check(batch);
                    if (random.nextBoolean()) {
                        batch.close();
                    } else {
                        enqueueCheck(batch);
                        batch.close(stream);
                    }
                }
            } catch (NoSuchElementException e) {
                // the end
            } catch (CuFileException e) {
                failure = Optional.of(e);
            }
        }

        /** The bytes stay until the stream has passed this work. */
        private void enqueueCheck(RecordBatch batch) {
            MemoryRange memory = batch.memory();
            byte[] before = bytes(memory);
            queue.enqueue(() -> assertThat(bytes(memory)).isEqualTo(before));
        }

        private byte[] bytes(MemoryRange memory) {
            byte[] bytes = new byte[(int) memory.length()];
            if (bytes.length > 0) {
                driver.allocator().copyToHost(memory, MemorySegment.ofArray(bytes));
            }
            return bytes;
        }

        private RecordBatch next() {
            switch (random.nextInt(4)) {
                case 0 -> {
                    CompletableFuture<RecordBatch> future = loader.nextAsync();
                    for (int spins = random.nextInt(500); spins > 0; spins--) {
                        Thread.onSpinWait();
                    }
                    if (future.cancel(false)) {
                        return loader.next();
                    }
                    return arrived(future);
                }
                case 1 -> {
                    return loader.poll(Duration.ofNanos(random.nextInt(100_000))).orElseGet(loader::next);
                }
                case 2 -> {
                    return arrived(loader.nextAsync());
                }
                default -> {
                    return loader.next();
                }
            }
        }

        private static RecordBatch arrived(CompletableFuture<RecordBatch> future) {
            try {
                return future.get();
            } catch (ExecutionException e) {
                throw (RuntimeException) e.getCause();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        private void check(RecordBatch batch) {
            positions.add(batch.state().position(0));
            records += batch.count();
            byte[] bytes = bytes(batch.memory());
            long at = 0;
            for (int i = 0; i < batch.count(); i++) {
                long record = batch.record(i);
                assertThat(batch.offset(i)).isEqualTo(at);
                assertThat(batch.length(i)).isEqualTo(source.length(record));
                for (int k = 0; k < batch.length(i); k++) {
                    if (bytes[(int) at + k] != (byte) (record * 7 + 1)) {
                        throw new AssertionError("wrong byte in record " + record);
                    }
                }
                at += batch.length(i);
            }
            assertThat(at).isEqualTo(bytes.length);
        }
    }
}
