package io.gds4j.tools.demo;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * Bytes that can be computed at any place of any tensor, so that verification needs no second copy: word {@code i} is
 * splitmix64 of a seed, the tensor's name and {@code i}. A tensor in the wrong place, a shifted one and a stale one all show.
 */
public final class TensorPattern {
    private static final long FNV_BASIS = 0xcbf29ce484222325L;
    private static final long FNV_PRIME = 0x100000001b3L;
    private static final long GOLDEN_GAMMA = 0x9e3779b97f4a7c15L;
    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final long base;

    /** The content of one tensor. */
    public TensorPattern(long seed, String tensor) {
        long hash = FNV_BASIS;
        for (byte b : tensor.getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ (b & 0xff)) * FNV_PRIME;
        }
        this.base = mix(seed ^ hash);
    }

    /**
     * Writes the tensor's bytes from {@code offset} on.
     *
     * @param offset within the tensor, a multiple of 8
     * @param target filled wholly
     */
    public void fill(long offset, MemorySegment target) {
        if (offset % Long.BYTES != 0) {
            throw new IllegalArgumentException("offset " + offset + " is no multiple of 8");
        }
        long state = base + offset / Long.BYTES * GOLDEN_GAMMA;
        long size = target.byteSize();
        long whole = size - size % Long.BYTES;
        for (long i = 0; i < whole; i += Long.BYTES) {
            target.set(WORD, i, mix(state));
            state += GOLDEN_GAMMA;
        }
        long last = mix(state);
        for (long i = whole; i < size; i++) {
            target.set(ValueLayout.JAVA_BYTE, i, (byte) (last >>> 8 * (i - whole)));
        }
    }

    private static long mix(long state) {
        long z = state;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }
}
