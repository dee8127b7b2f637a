package io.gds4j.samples;

import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;

/**
 * Feeds a training loop with records of many shard files in random order. Reads ahead into a few slots of memory while a kernel
 * (or a loop on the host) processes earlier records. The same loop without reading ahead shows the difference.
 */
final class DataLoader {
    private static final int SHARDS = 8;
    private static final int RECORDS = 16;
    private static final int AHEAD = 8;
    private static final String LESSON =
            "Reading ahead into a few slots hides the storage behind the work; more slots gain nothing.";

    /** A record in the process of being read into a slot. */
    private record Pending(int slot, CompletableFuture<Long> read) {
    }

    private final SampleArguments arguments;
    private final CuFileDriver driver;
    private final int record;
    private final int perShard;
    private final List<CuFileHandle> shards = new ArrayList<>();
    private long expected;
    private long bytes;

    private DataLoader(SampleArguments arguments, CuFileDriver driver) {
        this.arguments = arguments;
        this.driver = driver;
        // 16 records per shard or more, of whole pages
        int most = Math.max(1, arguments.size() / (RECORDS * SHARDS * 4096)) * 4096;
        this.record = Math.min(most, Math.max(1, arguments.ioSize() / 4096) * 4096);
        this.perShard = Math.max(RECORDS, arguments.size() / (SHARDS * record));
    }

    /** Runs the sample. */
    public static void main(String[] args) throws Exception {
        SampleMain.run(DataLoader::run, args);
    }

    static SampleResult run(SampleArguments arguments) throws InterruptedException {
        try (CuFileDriver driver = arguments.openDriver()) {
            DataLoader loader = new DataLoader(arguments, driver);
            try {
                loader.makeShards();
                return loader.run();
            } finally {
                loader.shards.forEach(CuFileHandle::close);
            }
        }
    }

    private SampleResult run() throws InterruptedException {
        try (TrainingStep step = arguments.openTrainingStep(driver);
                MemoryAllocation slots = arguments.allocate(driver, (long) AHEAD * record)) {
            epoch(slots, 1, step, 1); // warms up
            double alone = epoch(slots, 1, step, 2);
            bytes = 0;
            step.reset();
            double seconds = epoch(slots, AHEAD, step, 2);
            boolean verified = step.sum() == expected * step.rounds();
            arguments.say("%d shards of %d records of %d KiB in random order, through %d slots (%d KiB)",
                    SHARDS, perShard, record >> 10, AHEAD, (AHEAD * record) >> 10);
            arguments.say("one at a time %.3f s; read ahead %.3f s, of which %.3f s for the work: %.2f times as fast",
                    alone, seconds, step.seconds(), alone / seconds);
            return new SampleResult(bytes, seconds, verified, driver.bytesByPath(), LESSON);
        }
    }

    private void makeShards() {
        try (MemoryAllocation memory = arguments.allocate(driver, (long) perShard * record)) {
            for (int shard = 0; shard < SHARDS; shard++) {
                byte[] data = new byte[perShard * record];
                new Random(shard).nextBytes(data);
                ByteBuffer words = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
                while (words.hasRemaining()) {
                    expected += Integer.toUnsignedLong(words.getInt());
                }
                Bytes.put(driver, data, memory.range());
                shards.add(driver.openFile(
                        arguments.folder().resolve("shard-" + shard), CREATE_NEW, READ, WRITE,
                        CuFileOpenOption.DIRECT));
                shards.getLast().write(memory.range(), 0);
            }
        }
    }

    /** Processes all records once in random order, reading {@code ahead} records in advance; returns the seconds. */
    private double epoch(MemoryAllocation slots, int ahead, TrainingStep step, long seed) throws InterruptedException {
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < SHARDS * perShard; i++) {
            order.add(i);
        }
        Collections.shuffle(order, new Random(seed));
        Deque<Pending> pending = new ArrayDeque<>();
        long start = System.nanoTime();
        for (int next = 0, done = 0; done < order.size(); done++) {
            while (next < order.size() && pending.size() < ahead) {
                pending.add(read(slots, next % ahead, order.get(next)));
                next++;
            }
            Pending oldest = pending.remove();
            bytes += oldest.read().join();
            step.work(slot(slots, oldest.slot())); // the reads of the other slots continue
        }
        return (System.nanoTime() - start) / 1e9;
    }

    private Pending read(MemoryAllocation slots, int slot, int number) {
        CuFileHandle shard = shards.get(number / perShard);
        long offset = (long) (number % perShard) * record;
        return new Pending(slot, shard.readAsync(slot(slots, slot), record, offset, 0));
    }

    private MemoryRange slot(MemoryAllocation slots, int slot) {
        return slots.range().slice((long) slot * record, record);
    }
}
