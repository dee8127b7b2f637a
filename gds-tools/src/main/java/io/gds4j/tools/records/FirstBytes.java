package io.gds4j.tools.records;

import io.gds4j.dataset.RecordBatch;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import org.jspecify.annotations.Nullable;

/** Adds up the first bytes of records, and digests all of them if asked. Used by one thread at a time. */
final class FirstBytes implements AutoCloseable {
    /**
     * Shortest record of GPU memory whose first bytes are copied without the others. Batches of shorter ones are copied whole: a copy
     * of 8 bytes takes about as long as 16 KiB.
     */
    private static final long COPIED_ALONE = 16 << 10;

    private static final long MAX_UPDATE = 1 << 30;

    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final MemoryAllocator allocator;
    private final MemoryAllocation staging;
    private final MemorySegment bytes;
    private final @Nullable MessageDigest content;
    /** Ends of some records of a batch, which follow each other without gaps. */
    private final long[] ends = new long[512];
    private long sum;

    /**
     * Allocates room for copies of GPU memory.
     *
     * @param content takes the bytes of all records; null if no one asks for it
     */
    FirstBytes(MemoryAllocator allocator, boolean gpu, long batchBytes, int records, @Nullable MessageDigest content) {
        this.allocator = allocator;
        this.content = content;
        long most = content == null ? COPIED_ALONE * records : Long.MAX_VALUE;
        long room = gpu ? Math.min(batchBytes, most) : 0;
        boolean pinned = gpu && allocator.supports(MemoryKind.HOST_PINNED);
        this.staging =
                allocator.allocate(pinned ? MemoryKind.HOST_PINNED : MemoryKind.HOST, Math.max(Long.BYTES, room));
        this.bytes = staging.segment();
    }

    void add(RecordBatch batch) {
        MemoryRange memory = batch.memory();
        if (memory.length() == 0) {
            return;
        }
        if (memory.segment().isPresent()) {
            add(batch, memory.segment().get());
        } else if (content != null || memory.length() < COPIED_ALONE * batch.count()) {
            allocator.copyToHost(memory, bytes.asSlice(0, memory.length()));
            add(batch, bytes);
        } else if (isRegular(batch)) {
            long length = batch.length(0);
            MemoryRange rows = staging.range().slice(0, (long) Long.BYTES * batch.count());
            allocator.copyRows(memory, length, rows, Long.BYTES, Long.BYTES, batch.count());
            for (long offset = 0; offset < rows.length(); offset += Long.BYTES) {
                sum += word(bytes, offset, Long.BYTES);
            }
        } else {
            for (int i = 0; i < batch.count(); i++) {
                long length = Math.min(Long.BYTES, batch.length(i));
                if (length > 0) {
                    allocator.copyToHost(memory.slice(batch.offset(i), length), bytes.asSlice(0, length));
                    sum += word(bytes, 0, length);
                }
            }
        }
    }

    private void add(RecordBatch batch, MemorySegment records) {
        int count = batch.count();
        for (int done = 0; done < count; done += ends.length) {
            // In a loop of its own: the locks of a batch would let each first byte wait for the one before.
            int part = Math.min(ends.length, count - done);
            long begin = batch.offset(done);
            long end = begin;
            for (int i = 0; i < part; i++) {
                end += batch.length(done + i);
                ends[i] = end;
            }
            for (int i = 0; i < part; i++) {
                sum += word(records, begin, Math.min(Long.BYTES, ends[i] - begin));
                begin = ends[i];
            }
        }
        long length = content == null ? 0 : batch.memory().length();
        for (long at = 0; at < length; at += MAX_UPDATE) { // a buffer of Java has less than 2 GiB
            content.update(records.asSlice(at, Math.min(MAX_UPDATE, length - at)).asByteBuffer());
        }
    }

    /** Tells whether all records have the same length, of 8 bytes or more. */
    private static boolean isRegular(RecordBatch batch) {
        long length = batch.length(0);
        for (int i = 1; i < batch.count(); i++) {
            if (batch.length(i) != length) {
                return false;
            }
        }
        return length >= Long.BYTES;
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

    long sum() {
        return sum;
    }

    @Override
    public void close() {
        staging.close();
    }
}
