package io.gds4j.internal.plain;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.internal.memory.SegmentChecks;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.BiFunction;

/** Allocates host memory from arenas. */
public final class PlainAllocator implements MemoryAllocator {
    private static final String ALLOCATE = "MemoryAllocator.allocate";
    private static final String COPY = "MemoryAllocator.copy";

    PlainAllocator() {
    }

    @Override
    public boolean supports(MemoryKind kind) {
        return kind == MemoryKind.HOST;
    }

    @Override
    public MemoryAllocation allocate(MemoryKind kind, long size, int device) {
        if (!supports(kind)) {
            throw CuFileException.of(
                    CuFileError.CUDA_MEMORY_TYPE_INVALID, ALLOCATE, "plain Java has only host memory");
        }
        if (size < 1) {
            throw CuFileException.invalid(ALLOCATE, "size is below 1: " + size);
        }
        return MemoryAccess.copiedBy(this, hostMemory(kind, size, Pages.SIZE, MemoryAllocation::of));
    }

    /** {@return an allocation made of a new segment and of what frees it} */
    public static MemoryAllocation hostMemory(
            MemoryKind kind, long size, long alignment, BiFunction<MemoryRange, Runnable, MemoryAllocation> made) {
        Arena arena = Arena.ofShared();
        try {
            MemorySegment segment = arena.allocate(size, alignment);
            return made.apply(MemoryRange.ofSegment(segment, kind), () -> Uninterruptibly.close(arena));
        } catch (OutOfMemoryError | IllegalArgumentException e) {
            arena.close();
            throw CuFileException.builder(ALLOCATE)
                    .error(CuFileError.NOMEM_ERROR)
                    .detail("no room for %s bytes".formatted(size))
                    .cause(e)
                    .build();
        }
    }

    /** {@return the segment of a range; plain Java cannot access a range that has only an address, nor memory of another thread} */
    public static MemorySegment segment(MemoryRange range, String function) {
        MemorySegment segment = range.segment().orElseThrow(() -> refusal(
                function, "plain Java accesses only memory of segments and of its allocator; a driver is needed for "
                        + range));
        if (!segment.isAccessibleBy(Thread.currentThread())) {
            throw refusal(function, "the arena of the memory is confined to another thread: plain Java needs a shared"
                    + " or automatic one for " + range);
        }
        return segment;
    }

    private static CuFileException refusal(String function, String why) {
        return CuFileException.of(CuFileError.CUDA_POINTER_INVALID, function, why);
    }

    @Override
    public void copyToHost(MemoryRange from, MemorySegment to) {
        checkRoom(to.byteSize(), from.length());
        copy(segment(from, COPY), to, to.byteSize());
    }

    @Override
    public void copyFromHost(MemorySegment from, MemoryRange to) {
        checkRoom(from.byteSize(), to.length());
        copy(from, segment(to, COPY), from.byteSize());
    }

    @Override
    public void copy(MemoryRange from, MemoryRange to) {
        checkRoom(from.length(), to.length());
        copy(segment(from, COPY), segment(to, COPY), from.length());
    }

    private static void copy(MemorySegment from, MemorySegment to, long bytes) {
        SegmentChecks.readable(from);
        SegmentChecks.writable(to);
        SegmentChecks.whileOpen(() -> MemorySegment.copy(from, 0, to, 0, bytes));
    }

    @Override
    public void fill(MemoryRange range, byte value) {
        MemorySegment segment = segment(range, "MemoryAllocator.fill");
        SegmentChecks.writable(segment);
        SegmentChecks.whileOpen(() -> segment.fill(value));
    }

    @Override
    public long available(MemoryKind kind, int device) {
        return Runtime.getRuntime().maxMemory();
    }

    private static void checkRoom(long bytes, long room) {
        if (bytes > room) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_RANGE_ERROR, COPY, "%s bytes do not fit %s".formatted(bytes, room));
        }
    }
}
