package io.gds4j.engine.memory;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.posix.SegmentHold;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.function.LongToIntFunction;

/**
 * Copies and fills memory of all kinds; complete on return. GPU memory is reached in its own context by a separate stream, which is
 * synchronised: a plain synchronous copy from pageable memory may return before its DMA is complete.
 */
final class MemoryCopies {
    /** Bytes staged at a time, small enough for a CPU's last-level cache. */
    private static final long PIECE = 4L << 20;

    private final Optional<CudaContexts> contexts;
    private final Optional<CudaStreams> streams;

    MemoryCopies(Optional<CudaContexts> contexts, Optional<CudaStreams> streams) {
        this.contexts = contexts;
        this.streams = streams;
    }

    void toHost(MemoryRange from, MemorySegment to) {
        long size = to.byteSize();
        if (from.kind().isHost()) {
            MemorySegment.copy(HostMemoryViews.of(from), 0, to, 0, size);
        } else if (size > 0 && to.isNative()) {
            SegmentHold.during(to, () -> deviceToHost(from, to.address(), size));
        } else {
            staged(size, (stage, offset, length) -> {
                deviceToHost(from.slice(offset, length), stage.address(), length);
                MemorySegment.copy(stage, 0, to, offset, length);
            });
        }
    }

    void fromHost(MemorySegment from, MemoryRange to) {
        long size = from.byteSize();
        if (to.kind().isHost()) {
            MemorySegment.copy(from, 0, HostMemoryViews.of(to), 0, size);
        } else if (size > 0 && from.isNative()) {
            SegmentHold.during(from, () -> hostToDevice(from.address(), to, size));
        } else {
            staged(size, (stage, offset, length) -> {
                MemorySegment.copy(from, offset, stage, 0, length);
                hostToDevice(stage.address(), to.slice(offset, length), length);
            });
        }
    }

    void between(MemoryRange from, MemoryRange to) {
        long size = from.length();
        if (from.kind().isHost()) {
            fromHost(HostMemoryViews.of(from), to);
        } else if (to.kind().isHost()) {
            toHost(from, HostMemoryViews.of(to).asSlice(0, size));
        } else if (size > 0) {
            deviceToDevice(from, to, size);
        }
    }

    /** Copies rows: between the host and a GPU by one call of the driver, otherwise one by one. */
    void rows(MemoryRange from, long fromPitch, MemoryRange to, long toPitch, long width, long rows) {
        boolean pitched = rows > 1 && Math.max(fromPitch, toPitch) <= Cuda.MAX_PITCH;
        if (pitched && from.kind().isHost() && isDevice(to)) {
            Cuda cuda = contexts(to).cuda();
            SegmentHold.during(HostMemoryViews.of(from), () -> run(
                    to,
                    "cuMemcpy2DAsync",
                    stream -> cuda.memcpy2DHtoDAsync(
                            to.address(), toPitch, from.address(), fromPitch, width, rows, stream)));
            return;
        }
        if (pitched && to.kind().isHost() && isDevice(from)) {
            Cuda cuda = contexts(from).cuda();
            SegmentHold.during(HostMemoryViews.of(to), () -> run(
                    from,
                    "cuMemcpy2DAsync",
                    stream -> cuda.memcpy2DDtoHAsync(
                            to.address(), toPitch, from.address(), fromPitch, width, rows, stream)));
            return;
        }
        for (long row = 0; row < rows; row++) {
            between(from.slice(row * fromPitch, width), to.slice(row * toPitch, width));
        }
    }

    private static boolean isDevice(MemoryRange range) {
        return range.kind().isCuda() && range.kind() != MemoryKind.CUDA_MANAGED;
    }

    void fill(MemoryRange range, byte value) {
        long size = range.length();
        if (range.kind().isHost()) {
            HostMemoryViews.of(range).fill(value);
        } else if (size > 0) {
            Cuda cuda = contexts(range).cuda();
            run(range, "cuMemsetD8Async", stream -> cuda.memsetD8Async(range.address(), value, size, stream));
        }
    }

    private void hostToDevice(long host, MemoryRange to, long size) {
        Cuda cuda = contexts(to).cuda();
        if (to.kind() == MemoryKind.CUDA_MANAGED) {
            run(to, "cuMemcpyAsync", stream -> cuda.memcpyAsync(to.address(), host, size, stream));
        } else {
            run(to, "cuMemcpyHtoDAsync", stream -> cuda.memcpyHtoDAsync(to.address(), host, size, stream));
        }
    }

    private void deviceToHost(MemoryRange from, long host, long size) {
        Cuda cuda = contexts(from).cuda();
        if (from.kind() == MemoryKind.CUDA_MANAGED) {
            run(from, "cuMemcpyAsync", stream -> cuda.memcpyAsync(host, from.address(), size, stream));
        } else {
            run(from, "cuMemcpyDtoHAsync", stream -> cuda.memcpyDtoHAsync(host, from.address(), size, stream));
        }
    }

    private void deviceToDevice(MemoryRange from, MemoryRange to, long size) {
        Cuda cuda = contexts(from).cuda();
        long source = contexts(from).contextOf(from.address(), from.device());
        long target = contexts(to).contextOf(to.address(), to.device());
        if (source == target) {
            run(from, "cuMemcpyAsync", stream -> cuda.memcpyAsync(to.address(), from.address(), size, stream));
        } else if (from.kind() == MemoryKind.CUDA_DEVICE && to.kind() == MemoryKind.CUDA_DEVICE) {
            run(
                    from,
                    "cuMemcpyPeerAsync",
                    stream -> cuda.memcpyPeerAsync(to.address(), target, from.address(), source, size, stream));
        } else {
            // Access rights, which only the program may change, decide whether one context may reach pool, mapped or managed
            // memory of another.
            staged(size, (stage, offset, length) -> {
                deviceToHost(from.slice(offset, length), stage.address(), length);
                hostToDevice(stage.address(), to.slice(offset, length), length);
            });
        }
    }

    private interface StagedPiece {
        void move(MemorySegment stage, long offset, long length);
    }

    private static void staged(long size, StagedPiece piece) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment stage = arena.allocate(Math.min(size, PIECE), 64);
            for (long offset = 0; offset < size; offset += PIECE) {
                piece.move(stage, offset, Math.min(PIECE, size - offset));
            }
        }
    }

    private void run(MemoryRange range, String call, LongToIntFunction work) {
        long context = contexts(range).contextOf(range.address(), range.device());
        streams.orElseThrow().run(context, call, work);
    }

    private CudaContexts contexts(MemoryRange range) {
        return contexts.orElseThrow(() -> CuFileException.of(
                CuFileError.CUDA_MEMORY_TYPE_INVALID, "MemoryAllocator.copy", "there is no CUDA driver for " + range));
    }
}
