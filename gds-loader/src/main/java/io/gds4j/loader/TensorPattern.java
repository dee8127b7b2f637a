package io.gds4j.loader;

import io.gds4j.loader.save.TensorContent;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Generates pseudo-random bytes from a tensor's name and a seed, so that every byte of a checkpoint can be checked without a copy.
 * All 64 KiB blocks of a tensor differ, so a misplaced piece is detected.
 *
 * <p>
 * Block {@code k} of a tensor holds the words {@code splitmix64(base ^ k)}, then {@code splitmix64(base + j)} for j from 1
 * to 8191, little-endian, where {@code base} is the seed xor the FNV-1a hash of the name in UTF-8.
 *
 * @since 0.1
 */
public final class TensorPattern implements TensorContent {
    private static final int BLOCK = 64 << 10;
    private static final ValueLayout.OfLong WORD =
            ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final long seed;

    /** Creates a pattern; different seeds give different bytes. */
    public TensorPattern(long seed) {
        this.seed = seed;
    }

    @Override
    public void fill(String name, long offset, MemorySegment to) {
        long base = base(name);
        MemorySegment block = block(base);
        long done = 0;
        while (done < to.byteSize()) {
            long within = (offset + done) % BLOCK;
            long length = Math.min(BLOCK - within, to.byteSize() - done);
            block.set(WORD, 0, splitMix64(base ^ ((offset + done) / BLOCK)));
            MemorySegment.copy(block, within, to, done, length);
            done += length;
        }
    }

    /**
     * Compares bytes with the pattern of a tensor.
     *
     * @param offset offset of {@code actual} within the tensor
     * @return offset within {@code actual} of the first byte that differs, or -1
     */
    public long mismatch(String name, long offset, MemorySegment actual) {
        long base = base(name);
        MemorySegment block = block(base);
        long done = 0;
        while (done < actual.byteSize()) {
            long within = (offset + done) % BLOCK;
            long length = Math.min(BLOCK - within, actual.byteSize() - done);
            block.set(WORD, 0, splitMix64(base ^ ((offset + done) / BLOCK)));
            long at = MemorySegment.mismatch(block, within, within + length, actual, done, done + length);
            if (at >= 0) {
                return done + at;
            }
            done += length;
        }
        return -1;
    }

    private long base(String name) {
        long hash = 0xcbf29ce484222325L;
        for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ (b & 0xff)) * 0x100000001b3L;
        }
        return seed ^ hash;
    }

    private static MemorySegment block(long base) {
        MemorySegment block = MemorySegment.ofArray(new byte[BLOCK]);
        for (int j = 1; j < BLOCK / Long.BYTES; j++) {
            block.set(WORD, (long) j * Long.BYTES, splitMix64(base + j));
        }
        return block;
    }

    private static long splitMix64(long value) {
        long x = value + 0x9E3779B97F4A7C15L;
        x = (x ^ (x >>> 30)) * 0xBF58476D1CE4E5B9L;
        x = (x ^ (x >>> 27)) * 0x94D049BB133111EBL;
        return x ^ (x >>> 31);
    }
}
