package io.gds4j.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Segments over raw addresses. The caller vouches for the address, and for memory that outlives the segment. */
public final class NativeSegments {
    /** All addresses. A slice of it costs no look at the caller's rights, which takes 0.5 us without the optimizing compiler. */
    private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

    private NativeSegments() {
    }

    /** Returns {@code length} bytes at {@code address}, which the caller keeps alive. */
    public static MemorySegment of(long address, long length) {
        return ALL.asSlice(address, length);
    }

    /** Returns {@code length} bytes at {@code address}, accessible until {@code lifetime} is closed. */
    public static MemorySegment of(long address, long length, Arena lifetime) {
        return MemorySegment.ofAddress(address).reinterpret(length, lifetime, null);
    }
}
