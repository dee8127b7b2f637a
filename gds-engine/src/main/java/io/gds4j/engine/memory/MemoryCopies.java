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

    /** Returns memory as host memory if a processor should copy it. */
    private MemoryRange reachable(MemoryRange range) {
        boolean byProcessor = range.kind() == MemoryKind.CUDA_MANAGED // others do not take the monitor of StreamWaits
                && contexts.isPresent()
                && StreamWaits.of(contexts.get()).leavesToProcessor(range, contexts.get());
        return byProcessor ? MemoryRange.ofAddress(range.address(), range.length(), MemoryKind.HOST) : range;
    }

    void toHost(MemoryRange source, MemorySegment to) {
        toHost(source, to, to.isNative());
    }

    /** @param direct whether the driver may copy to the segment itself */
    private void toHost(MemoryRange source, MemorySegment to, boolean direct) {
        MemoryRange from = reachable(source);
        long size = to.byteSize();
        if (from.kind().isHost()) {
            MemorySegment.copy(HostMemoryViews.of(from), 0, to, 0, size);
        } else if (size > 0 && direct) {
            SegmentHold.during(to, () -> deviceToHost(from, to.address(), size));
        } else {
            staged(size, (stage, offset, length) -> {
                deviceToHost(from.slice(offset, length), stage.address(), length);
                MemorySegment.copy(stage, 0, to, offset, length);
            });
        }
    }

    void fromHost(MemorySegment from, MemoryRange target) {
        fromHost(from, target, from.isNative());
    }

    /** @param direct whether the driver may copy from the segment itself */
    private void fromHost(MemorySegment from, MemoryRange target, boolean direct) {
        MemoryRange to = reachable(target);
        long size = from.byteSize();
        if (to.kind().isHost()) {
            MemorySegment.copy(from, 0, HostMemoryViews.of(to), 0, size);
        } else if (size > 0 && direct) {
            SegmentHold.during(from, () -> hostToDevice(from.address(), to, size));
        } else {
            staged(size, (stage, offset, length) -> {
                MemorySegment.copy(from, offset, stage, 0, length);
                hostToDevice(stage.address(), to.slice(offset, length), length);
            });
        }
    }

    void between(MemoryRange source, MemoryRange target) {
        MemoryRange from = reachable(source);
        MemoryRange to = reachable(target);
        long size = from.length();
        // The driver would take a managed segment for what it is, and wait for all streams.
        if (from.kind().isHost()) {
            fromHost(HostMemoryViews.of(from), to, source.kind().isHost());
        } else if (to.kind().isHost()) {
            toHost(from, HostMemoryViews.of(to).asSlice(0, size), target.kind().isHost());
        } else if (size > 0) {
            deviceToDevice(from, to, size);
        }
    }

    /** Copies rows: by one call of the driver, or one by one where it has none for these kinds. */
    void rows(MemoryRange from, long fromPitch, MemoryRange to, long toPitch, long width, long rows) {
        if (rows == 1
                || Math.max(fromPitch, toPitch) > Cuda.MAX_PITCH
                || !rowsByDriver(from, fromPitch, to, toPitch, width, rows)) {
            for (long row = 0; row < rows; row++) {
                between(from.slice(row * fromPitch, width), to.slice(row * toPitch, width));
            }
        }
    }

    private boolean rowsByDriver(
            MemoryRange from, long fromPitch, MemoryRange to, long toPitch, long width, long rows) {
        boolean managed = from.kind() == MemoryKind.CUDA_MANAGED || to.kind() == MemoryKind.CUDA_MANAGED;
        if (managed || from.kind().isHost() && to.kind().isHost()) {
            return false;
        }
        Cuda cuda = contexts(from.kind().isHost() ? to : from).cuda();
        long source = from.address();
        long target = to.address();
        if (from.kind().isHost()) {
            SegmentHold.during(HostMemoryViews.of(from), () -> run(
                    to, "cuMemcpy2DAsync",
                    stream -> cuda.memcpy2DHtoDAsync(target, toPitch, source, fromPitch, width, rows, stream)));
            return true;
        }
        if (to.kind().isHost()) {
            SegmentHold.during(HostMemoryViews.of(to), () -> run(
                    from, "cuMemcpy2DAsync",
                    stream -> cuda.memcpy2DDtoHAsync(target, toPitch, source, fromPitch, width, rows, stream)));
            return true;
        }
        long sourceContext = contextOf(from);
        long targetContext = contextOf(to);
        if (sourceContext == targetContext) {
            run(from, "cuMemcpy2DAsync",
                    stream -> cuda.memcpy2DDtoDAsync(target, toPitch, source, fromPitch, width, rows, stream));
            return true;
        }
        if (!reachesAsPeer(from, to)) {
            return false;
        }
        run(from, "cuMemcpy3DPeerAsync", stream -> cuda.memcpyRowsPeerAsync(
                target, targetContext, toPitch, source, sourceContext, fromPitch, width, rows, stream));
        return true;
    }

    /** Access rights, which only the program may change, decide about pool, mapped or managed memory of another context. */
    private static boolean reachesAsPeer(MemoryRange from, MemoryRange to) {
        return from.kind() == MemoryKind.CUDA_DEVICE && to.kind() == MemoryKind.CUDA_DEVICE;
    }

    void fill(MemoryRange target, byte value) {
        MemoryRange range = reachable(target);
        long size = range.length();
        if (range.kind().isHost()) {
            HostMemoryViews.of(range).fill(value);
        } else if (size > 0) {
            Cuda cuda = contexts(range).cuda();
            run(range, "cuMemsetD8Async", stream -> cuda.memsetD8Async(range.address(), value, size, stream));
        }
    }

    void convert(MemoryRange from, MemoryRange to, ElementConversion conversion, long elements) {
        CudaContexts known = contexts(to);
        long context = contextOf(to);
        if (contextOf(from) != context) {
            throw CuFileException.invalid(ElementConversion.FUNCTION, "%s and %s are of two GPUs".formatted(from, to));
        }
        long function = ConvertKernel.in(known, context); // without elements, too: a program may want it loaded
        if (elements > 0) {
            // managed memory counts, whichever of the two it is
            run(from.kind() == MemoryKind.CUDA_MANAGED ? from : to, ConvertKernel.LAUNCH,
                    stream -> ConvertKernel.launch(known.cuda(), function, from.address(), to.address(),
                            conversion.argument(elements), elements, stream));
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
        long source = contextOf(from);
        long target = contextOf(to);
        if (source == target) {
            run(from, "cuMemcpyAsync", stream -> cuda.memcpyAsync(to.address(), from.address(), size, stream));
        } else if (reachesAsPeer(from, to)) {
            run(
                    from,
                    "cuMemcpyPeerAsync",
                    stream -> cuda.memcpyPeerAsync(to.address(), target, from.address(), source, size, stream));
        } else {
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
        long context = contextOf(range);
        if (range.kind() == MemoryKind.CUDA_MANAGED) {
            streams.orElseThrow().runWhileNone(context, call, work);
        } else {
            streams.orElseThrow().run(context, call, work);
        }
    }

    private long contextOf(MemoryRange range) {
        return contexts(range).contextOf(range.address(), range.device());
    }

    private CudaContexts contexts(MemoryRange range) {
        return contexts.orElseThrow(() -> CuFileException.of(
                CuFileError.CUDA_MEMORY_TYPE_INVALID, "MemoryAllocator.copy", "there is no CUDA driver for " + range));
    }
}
