package io.gds4j.tools.records;

import io.gds4j.dataset.RecordBatch;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** What identifies delivered records and their order: {@code recordSum} and {@code orderDigest}. */
final class RecordSums implements AutoCloseable {
    /**
     * Shortest record of GPU memory whose first bytes are copied alone. Batches of shorter ones are copied whole: a copy of 8 bytes takes
     * about 10 microseconds, as long as 512 KiB into pinned memory.
     */
    private static final long COPIED_ALONE = 512 << 10;
    private static final int DIGEST_BUFFER = 8192;

    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final MemoryAllocator allocator;
    private final MemoryAllocation staging;
    private final MemorySegment bytes;
    private final MessageDigest order;
    private final ByteBuffer numbers = ByteBuffer.allocate(DIGEST_BUFFER).order(ByteOrder.LITTLE_ENDIAN);
    private long sum;

    /**
     * Allocates room for copies of GPU memory.
     *
     * @param gpu whether the records go to GPU memory
     * @param batchBytes bytes of the largest batch
     * @param records records of the largest batch
     */
    RecordSums(MemoryAllocator allocator, boolean gpu, long batchBytes, int records) {
        this.allocator = allocator;
        long room = gpu ? Math.min(batchBytes, COPIED_ALONE * records) : 0;
        boolean pinned = gpu && allocator.supports(MemoryKind.HOST_PINNED);
        this.staging =
                allocator.allocate(pinned ? MemoryKind.HOST_PINNED : MemoryKind.HOST, Math.max(Long.BYTES, room));
        this.bytes = staging.segment();
        try {
            this.order = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    void add(RecordBatch batch) {
        MemoryRange memory = batch.memory();
        boolean onHost = memory.segment().isPresent();
        boolean whole = !onHost && memory.length() < COPIED_ALONE * batch.count();
        if (whole && memory.length() > 0) {
            allocator.copyToHost(memory, bytes.asSlice(0, memory.length()));
        }
        MemorySegment source = onHost ? memory.segment().orElseThrow() : bytes;
        for (int i = 0; i < batch.count(); i++) {
            long length = Math.min(Long.BYTES, batch.length(i));
            if (onHost || whole) {
                sum += word(source, batch.offset(i), length);
            } else if (length > 0) {
                allocator.copyToHost(memory.slice(batch.offset(i), length), bytes.asSlice(0, length));
                sum += word(bytes, 0, length);
            }
            if (!numbers.hasRemaining()) {
                flush();
            }
            numbers.putLong(batch.record(i));
        }
    }

    /** Returns the first bytes of a record as a little-endian number. */
    private static long word(MemorySegment from, long offset, long length) {
        if (length == Long.BYTES) {
            return from.get(WORD, offset);
        }
        long word = 0;
        for (int i = 0; i < length; i++) {
            word |= Byte.toUnsignedLong(from.get(ValueLayout.JAVA_BYTE, offset + i)) << (Byte.SIZE * i);
        }
        return word;
    }

    private void flush() {
        order.update(numbers.flip());
        numbers.clear();
    }

    /** Sum of each record's first 8 bytes as little-endian numbers, modulo 2^64. */
    BigInteger recordSum() {
        return new BigInteger(Long.toUnsignedString(sum));
    }

    /** SHA-256 over the record numbers in the order they came, 8 bytes little-endian each; call it once. */
    String orderDigest() {
        flush();
        return HexFormat.of().formatHex(order.digest());
    }

    @Override
    public void close() {
        staging.close();
    }
}
