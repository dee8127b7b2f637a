package io.gds4j.compat.transfer;

import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.engine.staging.CopyPipeline;
import io.gds4j.engine.staging.GpuContext;
import io.gds4j.engine.staging.ScatterPipeline;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads pieces into slabs once, and copies their rows to memory of the host and of several GPUs. */
final class ScatterRead extends Transfer implements CopyPipeline.PieceFailures {
    /** In {@link #targets}: a thread copies to the segment of the same index. */
    private static final int HOST = -1;

    private final @Nullable Thread worker;
    private final List<GpuContext> gpus = new ArrayList<>();
    private final List<@Nullable MemorySegment> segments = new ArrayList<>();
    private List<ScatterCopy> copies = List.of();
    private int[] targets = new int[8];

    /** @param worker one of the workers that may help; null if there is none */
    ScatterRead(TransferRequest request, @Nullable Thread worker) {
        super(request);
        this.worker = worker;
    }

    /** Begins to describe a request. */
    void target(List<ScatterCopy> ofRequest) {
        copies = ofRequest;
        gpus.clear();
        segments.clear();
        if (targets.length < ofRequest.size()) {
            targets = new int[ofRequest.size()];
        }
    }

    /** Adds the next copy, to memory that a thread writes. */
    void addHost(MemoryRange memory) {
        targets[segments.size()] = HOST;
        segments.add(reachable(memory));
    }

    /** Adds the next copy, to memory of a context. */
    void addGpu(GpuContext context) {
        int known = gpus.indexOf(context);
        if (known < 0) {
            known = gpus.size();
            gpus.add(context);
        }
        targets[segments.size()] = known;
        segments.add(null);
    }

    /**
     * Returns a segment that all threads of the request may use. Workers cannot use one that is confined to the caller; but then
     * only the caller, who waits, can close its arena.
     */
    private MemorySegment reachable(MemoryRange memory) {
        MemorySegment segment = memory.segment().orElse(null);
        if (segment != null && segment.isAccessibleBy(worker == null ? Thread.currentThread() : worker)) {
            return segment;
        }
        return HostMemoryViews.ofAddress(memory.address(), memory.length());
    }

    @Override
    void end() {
        super.end();
        copies = List.of();
        gpus.clear();
        segments.clear();
    }

    @Override
    void run(ThreadContext thread) {
        if (!hasUnclaimed()) {
            return;
        }
        long bytes = plan().slabBytes();
        ScatterPipeline pipeline;
        try {
            pipeline = thread.scatterPipeline();
            pipeline.enter(this, bytes, gpus);
        } catch (RuntimeException | OutOfMemoryError e) {
            stopNext(thread, e);
            return;
        }
        try {
            long piece = claim(thread);
            while (piece >= 0) {
                try {
                    move(thread, pipeline, piece, bytes);
                } catch (RuntimeException | OutOfMemoryError e) {
                    stop(piece, 0, 0, e);
                }
                piece = claim(thread);
            }
        } finally {
            pipeline.leave();
        }
    }

    private void move(ThreadContext thread, ScatterPipeline pipeline, long piece, long bytes) {
        long start = plan().pieceStart(piece);
        long end = plan().pieceEnd(piece);
        ScatterPipeline.Slot slot = pipeline.next(bytes);
        long host = slot.slab().address() + CopyPipeline.skew(start);
        long read = thread.io().move(descriptors(), plan(), start, end, host);
        if (read > 0) {
            long from = start - plan().offset();
            for (int gpu = 0; gpu < gpus.size(); gpu++) {
                copyToGpu(pipeline, slot, gpu, piece, host, from, read);
            }
            copyToHost(host, from, read);
        }
        if (read < end - start) {
            stop(piece, read, thread.io().errno(), null);
        }
    }

    private void copyToGpu(
            ScatterPipeline pipeline, ScatterPipeline.Slot slot, int gpu, long piece, long host, long from,
            long length) {
        boolean begun = false;
        try {
            for (int i = 0; i < copies.size(); i++) {
                ScatterCopy copy = copies.get(i);
                if (targets[i] != gpu || copy.sourceOffset() >= from + length || copy.sourceEnd() <= from) {
                    continue;
                }
                if (!begun) {
                    pipeline.begin(gpu);
                    begun = true;
                }
                long base = copy.destination().range().address();
                copy.forPart(from, length, (offset, width, rows, to) -> {
                    if (rows == 1) {
                        pipeline.copy(gpu, host + offset, base + to, width);
                    } else {
                        pipeline.copyRows(
                                gpu, host + offset, copy.sourcePitch(), base + to, copy.destinationPitch(), width,
                                rows);
                    }
                });
            }
        } finally {
            if (begun) {
                pipeline.end(slot, gpu, piece);
            }
        }
    }

    private void copyToHost(long host, long from, long length) {
        MemorySegment piece = HostMemoryViews.ofAddress(host, length);
        for (int i = 0; i < copies.size(); i++) {
            ScatterCopy copy = copies.get(i);
            MemorySegment target = segments.get(i);
            if (target == null || copy.sourceOffset() >= from + length || copy.sourceEnd() <= from) {
                continue;
            }
            copy.forPart(from, length, (offset, width, rows, to) -> {
                for (long row = 0; row < rows; row++) {
                    MemorySegment.copy(
                            piece, offset + row * copy.sourcePitch(), target, to + row * copy.destinationPitch(),
                            width);
                }
            });
        }
    }

    @Override
    public void failed(long piece, RuntimeException cause) {
        stop(piece, 0, 0, cause);
    }

    @Override
    boolean usesGpu() {
        return !gpus.isEmpty();
    }

    @Override
    String systemCall() {
        return "pread";
    }
}
