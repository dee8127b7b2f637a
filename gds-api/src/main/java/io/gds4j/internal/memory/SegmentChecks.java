package io.gds4j.internal.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.lang.foreign.MemorySegment;

/** Refuses segments that an allocator cannot copy by the codes that it documents, where Java has exceptions of its own. */
public final class SegmentChecks {
    private static final String COPY = "MemoryAllocator.copy";

    private SegmentChecks() {
    }

    /**
     * Checks that this thread may read a segment.
     *
     * @throws CuFileException CUDA_POINTER_INVALID if its arena is closed, or confined to another thread
     */
    public static void readable(MemorySegment segment) {
        if (!segment.scope().isAlive()) {
            throw CuFileException.of(CuFileError.CUDA_POINTER_INVALID, COPY, "the segment's arena is closed");
        }
        if (!segment.isAccessibleBy(Thread.currentThread())) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_INVALID, COPY, "the segment is confined to another thread");
        }
    }

    /**
     * Checks that this thread may write a segment.
     *
     * @throws CuFileException as {@link #readable}; INVALID_VALUE if it is read-only
     */
    public static void writable(MemorySegment segment) {
        readable(segment);
        if (segment.isReadOnly()) {
            throw CuFileException.invalid(COPY, "the segment is read-only");
        }
    }

    /**
     * Does work with segments that were checked; another thread may close their arenas meanwhile.
     *
     * @throws CuFileException CUDA_POINTER_INVALID if it did
     */
    public static void whileOpen(Runnable work) {
        try {
            work.run();
        } catch (IllegalStateException e) {
            throw CuFileException.builder(COPY)
                    .error(CuFileError.CUDA_POINTER_INVALID)
                    .detail("the segment's arena was closed meanwhile")
                    .cause(e)
                    .build();
        }
    }
}
