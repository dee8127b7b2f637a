package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.engine.staging.CopyPipeline;
import io.gds4j.engine.staging.GpuContext;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Moves pieces between the file and slabs, and their rows between slabs and fragments of memory, of the host and of several GPUs. */
public abstract sealed class ScatterTransfer extends StagedTransfer permits ScatterRead, ScatterWrite {
    /** In {@link #targets}: a thread copies the segment of the same index. */
    private static final int HOST = -1;

    /** In {@link #segments}: a thread copies, by address. */
    private static final MemorySegment BY_ADDRESS = HostMemoryViews.everywhere();

    private final @Nullable Thread worker;
    private final List<GpuContext> gpus = new ArrayList<>();
    private final List<@Nullable MemorySegment> segments = new ArrayList<>();
    private List<ScatterCopy> copies = List.of();
    private int[] targets = new int[8];
    private boolean managed;

    /** @param worker one of the workers that may help; null if there is none */
    ScatterTransfer(TransferRequest request, @Nullable Thread worker) {
        super(request);
        this.worker = worker;
    }

    /** Begins to describe a request. */
    public void target(List<ScatterCopy> ofRequest) {
        copies = ofRequest;
        gpus.clear();
        segments.clear();
        managed = false;
        if (targets.length < ofRequest.size()) {
            targets = new int[ofRequest.size()];
        }
    }

    /** Adds the next copy, whose memory a thread reads or writes. */
    public final void addHost(MemoryRange memory) {
        targets[segments.size()] = HOST;
        segments.add(reachable(memory));
    }

    /** Adds the next copy, whose memory belongs to a context. */
    public final void addGpu(GpuContext context, MemoryKind kind) {
        int known = gpus.indexOf(context);
        if (known < 0) {
            known = gpus.size();
            gpus.add(context);
        }
        managed |= kind == MemoryKind.CUDA_MANAGED;
        targets[segments.size()] = known;
        segments.add(null);
    }

    /** Adds the next copy, whose memory is that of the one before. */
    public final void addSame() {
        targets[segments.size()] = targets[segments.size() - 1];
        segments.add(segments.getLast());
    }

    /** Returns the context of a copy's memory; null if a thread copies. */
    @Nullable
    final GpuContext gpuOf(int copy) {
        return targets[copy] == HOST ? null : gpus.get(targets[copy]);
    }

    /** Returns the context of all fragments if they are whole parts of the file in memory of one GPU that kernels may copy to; else null. */
    @Nullable
    public final GpuContext onlyGpu() {
        if (gpus.size() != 1 || managed) {
            return null;
        }
        for (int i = 0; i < copies.size(); i++) {
            if (targets[i] == HOST || copies.get(i).rows() > 1) {
                return null;
            }
        }
        return gpus.getFirst();
    }

    /** Returns the number of GPUs that have fragments. */
    public final int gpus() {
        return gpus.size();
    }

    final List<ScatterCopy> copies() {
        return copies;
    }

    /** Returns whether a copy is one of a GPU's, and has bytes of a part of the range. */
    final boolean takesPart(int copy, int gpu, long from, long length) {
        return targets[copy] == gpu && overlaps(copies.get(copy), from, length);
    }

    final int targetOf(int copy) {
        return targets[copy];
    }

    static boolean overlaps(ScatterCopy copy, long from, long length) {
        return copy.sourceOffset() < from + length && copy.sourceEnd() > from;
    }

    /** Returns where the bytes of a copy that has one row begin in a part of the range, from the start of the row. */
    static long beginIn(ScatterCopy copy, long from) {
        return Math.max(0, from - copy.sourceOffset());
    }

    /** Returns the bytes of a copy that has one row in a part of the range. */
    static long widthIn(ScatterCopy copy, long from, long length) {
        return Math.min(copy.width(), from + length - copy.sourceOffset()) - beginIn(copy, from);
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
        return BY_ADDRESS;
    }

    @Override
    public void end() {
        super.end();
        copies = List.of();
        gpus.clear();
        segments.clear();
    }

    @Override
    final boolean enter(CopyPipeline pipeline, long bytes) {
        boolean entered = pipeline.enter(this, gpus, bytes);
        pipeline.useKernels(!managed);
        return entered;
    }

    /** Copies the rows of one copy between a slab and a GPU, which the pipeline has begun with. */
    final void copyRows(CopyPipeline pipeline, int gpu, ScatterCopy copy, long host, long from, long length) {
        boolean toGpu = !plan().isWrite();
        long base = copy.destination().range().address();
        if (copy.rows() == 1) {
            // Without a lambda, which each of many fragments would allocate.
            long slab = host + copy.sourceOffset() + beginIn(copy, from) - from;
            long memory = base + copy.destinationOffset() + beginIn(copy, from);
            pipeline.copyFragment(toGpu ? slab : memory, toGpu ? memory : slab, widthIn(copy, from, length));
            return;
        }
        copy.forPart(from, length, (offset, width, rows, at) -> {
            long slab = host + offset;
            long memory = base + at;
            if (rows == 1) {
                pipeline.copyFragment(toGpu ? slab : memory, toGpu ? memory : slab, width);
            } else if (toGpu) {
                pipeline.copyRows(
                        gpu, true, slab, copy.sourcePitch(), memory, copy.destinationPitch(), width, rows);
            } else {
                pipeline.copyRows(
                        gpu, false, memory, copy.destinationPitch(), slab, copy.sourcePitch(), width, rows);
            }
        });
    }

    /** Copies the rows of the host's memory. */
    final void copyHostRows(long host, long from, long length) {
        MemorySegment piece = HostMemoryViews.ofAddress(host, length);
        for (int i = 0; i < copies.size(); i++) {
            ScatterCopy copy = copies.get(i);
            MemorySegment memory = segments.get(i);
            if (memory == null || !overlaps(copy, from, length)) {
                continue;
            }
            long base = memory == BY_ADDRESS ? copy.destination().range().address() : 0;
            if (copy.rows() == 1) {
                long begin = beginIn(copy, from);
                copyHost(piece, copy.sourceOffset() + begin - from, memory, base + copy.destinationOffset() + begin,
                        widthIn(copy, from, length));
                continue;
            }
            copy.forPart(from, length, (offset, width, rows, at) -> {
                for (long row = 0; row < rows; row++) {
                    copyHost(piece, offset + row * copy.sourcePitch(), memory,
                            base + at + row * copy.destinationPitch(), width);
                }
            });
        }
    }

    private void copyHost(MemorySegment piece, long inPiece, MemorySegment memory, long inMemory, long width) {
        if (plan().isWrite()) {
            MemorySegment.copy(memory, inMemory, piece, inPiece, width);
        } else {
            MemorySegment.copy(piece, inPiece, memory, inMemory, width);
        }
    }

    @Override
    final boolean isArenaClosed() {
        return segments.stream().anyMatch(known -> known != null && !known.scope().isAlive());
    }

    @Override
    public final boolean usesGpu() {
        return !gpus.isEmpty();
    }
}
