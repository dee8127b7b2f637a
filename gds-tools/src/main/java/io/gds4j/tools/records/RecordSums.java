package io.gds4j.tools.records;

import io.gds4j.dataset.RecordBatch;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.memory.MemoryAllocator;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What identifies delivered records and their order: {@code recordSum}, {@code orderDigest} and, if asked, {@code digest}. Threads of its own add up the bytes,
 * so that looking at the records takes no time of reading them.
 */
final class RecordSums implements AutoCloseable {
    private static final int THREADS = 3;
    private static final int DIGEST_BUFFER = 8192;

    private final MessageDigest order;
    private final ByteBuffer numbers = ByteBuffer.allocate(DIGEST_BUFFER).order(ByteOrder.LITTLE_ENDIAN);
    private final List<FirstBytes> adders = new ArrayList<>();
    private final BlockingQueue<FirstBytes> idle = new ArrayBlockingQueue<>(THREADS);
    private final ExecutorService threads =
            Executors.newFixedThreadPool(THREADS, Thread.ofPlatform().daemon().name("gds-sums-", 0).factory());
    private final @Nullable MessageDigest content;
    private final AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();

    /**
     * Allocates room for copies of GPU memory.
     *
     * @param gpu whether the records go to GPU memory
     * @param batchBytes bytes of the largest batch
     * @param records records of the largest batch
     * @param content takes the bytes of all records, batch by batch; null if no one asks for it
     */
    RecordSums(MemoryAllocator allocator, boolean gpu, long batchBytes, int records, @Nullable MessageDigest content) {
        this.order = sha256();
        this.content = content;
        Undo.ifFails(this::close, () -> {
            for (int i = 0; i < (content == null ? THREADS : 1); i++) {
                adders.add(new FirstBytes(allocator, gpu, batchBytes, records, content));
            }
        });
        idle.addAll(adders);
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    /** Adds a batch, and closes it. Returns before that if a thread is idle. */
    void add(RecordBatch batch) throws InterruptedException {
        int count = batch.count(); // each look at a batch takes its lock
        for (int i = 0; i < count; i++) {
            if (!numbers.hasRemaining()) {
                flush();
            }
            numbers.putLong(batch.record(i));
        }
        FirstBytes adder = idle.take();
        if (content == null && batch.memory().segment().isPresent()) {
            add(adder, batch); // 8 bytes of a record cost less than to wake a thread
        } else {
            threads.execute(() -> add(adder, batch));
        }
    }

    private void add(FirstBytes adder, RecordBatch batch) {
        try (batch) {
            adder.add(batch);
        } catch (RuntimeException e) {
            failure.compareAndSet(null, e);
        } finally {
            idle.add(adder);
        }
    }

    private void flush() {
        order.update(numbers.flip());
        numbers.clear();
    }

    /** Waits for all batches. Returns the sum of each record's first 8 bytes as little-endian numbers, modulo 2^64. */
    BigInteger recordSum() throws InterruptedException {
        long sum = 0;
        for (int i = 0; i < adders.size(); i++) {
            sum += idle.take().sum();
        }
        RuntimeException failed = failure.get();
        if (failed != null) {
            throw failed;
        }
        return new BigInteger(Long.toUnsignedString(sum));
    }

    /** SHA-256 over the record numbers in the order they came, 8 bytes little-endian each; call it once. */
    String orderDigest() {
        flush();
        return HexFormat.of().formatHex(order.digest());
    }

    /** SHA-256 of all records' bytes as they came; null if no one asked. Call it once, after {@link #recordSum}. */
    @Nullable
    String digest() {
        return content == null ? null : HexFormat.of().formatHex(content.digest());
    }

    @Override
    public void close() {
        threads.close();
        adders.forEach(FirstBytes::close);
    }
}
