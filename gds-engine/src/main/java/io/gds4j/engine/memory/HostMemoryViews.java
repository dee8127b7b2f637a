package io.gds4j.engine.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.NativeSegments;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.Optional;

/** Segments over host memory from any source. */
public final class HostMemoryViews {
    private static final MemorySegment EVERYWHERE = ofAddress(0, Long.MAX_VALUE);

    private HostMemoryViews() {
    }

    /**
     * Returns the segment that a host range was made of. For a range of a raw address, returns a view of that address. Do not hand it
     * out: such a view knows nothing of the memory's lifetime.
     *
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID for memory of a kind that the host may not simply dereference
     */
    public static MemorySegment of(MemoryRange range) {
        if (!range.kind().isHost()) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, "MemoryRange.segment", "the host cannot address " + range);
        }
        Optional<MemorySegment> segment = range.segment();
        return segment.isPresent() ? segment.get() : ofAddress(range.address(), range.length());
    }

    /** Returns a segment whose offsets are addresses, for memory that the caller keeps alive: where a view of each part would be an object. */
    public static MemorySegment everywhere() {
        return EVERYWHERE;
    }

    /** Returns {@code length} bytes of host memory at {@code address}, which the caller keeps alive. */
    public static MemorySegment ofAddress(long address, long length) {
        return NativeSegments.of(address, length);
    }
}
