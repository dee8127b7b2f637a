package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.engine.staging.CopyPipeline;
import io.gds4j.engine.staging.GpuContext;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads pieces into slabs once, and copies their rows to memory of the host and of several GPUs. */
public final class ScatterRead extends Transfer implements CopyPipeline.PieceFailures {
    /** In {@link #targets}: a thread copies to the segment of the same index. */
    private static final int HOST = -1;
    private static final int[] ALONE = {};

    private final @Nullable Thread worker;
    private final List<GpuContext> gpus = new ArrayList<>();
    private final List<@Nullable MemorySegment> segments = new ArrayList<>();
    private List<ScatterCopy> copies = List.of();
    private int[] targets = new int[8];
    /** For each copy, the copies that bring the same bytes to other GPUs, itself included; empty for copies on their own. */
    private final List<int[]> groups = new ArrayList<>();

    /** @param worker one of the workers that may help; null if there is none */
    public ScatterRead(TransferRequest request, @Nullable Thread worker) {
        super(request);
        this.worker = worker;
    }

    /** Begins to describe a request. */
    public void target(List<ScatterCopy> ofRequest) {
        copies = ofRequest;
        gpus.clear();
        segments.clear();
        groups.clear();
        if (targets.length < ofRequest.size()) {
            targets = new int[ofRequest.size()];
        }
    }

    /** Adds the next copy, to memory that a thread writes. */
    public void addHost(MemoryRange memory) {
        targets[segments.size()] = HOST;
        segments.add(reachable(memory));
    }

    /** Adds the next copy, to memory of a context. */
    public void addGpu(GpuContext context) {
        int known = gpus.indexOf(context);
        if (known < 0) {
            known = gpus.size();
            gpus.add(context);
        }
        targets[segments.size()] = known;
        segments.add(null);
    }

    /** Returns the context of a copy's destination; null if a thread writes it. */
    @Nullable
    GpuContext gpuOf(int copy) {
        return targets[copy] == HOST ? null : gpus.get(targets[copy]);
    }

    /**
     * Has copies of the same bytes exchange them: for each piece, one GPU receives it from the host and passes it on to the others,
     * and the GPUs take turns. Their links to the host then carry each byte once.
     *
     * @param ofCopies for each copy, its group or an empty array
     */
    public void exchange(List<int[]> ofCopies) {
        groups.addAll(ofCopies);
    }

    /** Returns the copies that a copy passes a piece on to; null if another one of its group does that. */
    private int @Nullable [] peersOf(int copy, long piece) {
        int[] group = groups.isEmpty() ? ALONE : groups.get(copy);
        if (group.length == 0) {
            return ALONE;
        }
        return group[(int) (piece % group.length)] == copy ? group : null;
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
    public void end() {
        super.end();
        copies = List.of();
        gpus.clear();
        segments.clear();
        groups.clear();
    }

    @Override
    public void run(ThreadContext thread) {
        if (!hasUnclaimed()) {
            return;
        }
        long bytes = plan().slabBytes();
        CopyPipeline pipeline = thread.pipeline();
        try {
            if (!pipeline.enter(this, gpus, bytes)) {
                return;
            }
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
                    fail(piece, e);
                }
                piece = claim(thread);
            }
        } finally {
            pipeline.leave();
        }
    }

    private void move(ThreadContext thread, CopyPipeline pipeline, long piece, long bytes) {
        long start = plan().pieceStart(piece);
        long end = plan().pieceEnd(piece);
        CopyPipeline.Slot slot = pipeline.next(bytes);
        long host = slot.slab().address() + CopyPipeline.skew(start);
        long read = thread.io().move(request().file(), plan(), start, end, host, cancellation(piece));
        if (read > 0) {
            long from = start - plan().offset();
            for (int gpu = 0; gpu < gpus.size(); gpu++) {
                copyToGpu(pipeline, slot, gpu, piece, host, from, read);
            }
            copyToHost(host, from, read);
        }
        if (read < end - start) {
            stop(piece, read, thread.io().errno());
        }
    }

    private void copyToGpu(
            CopyPipeline pipeline, CopyPipeline.Slot slot, int gpu, long piece, long host, long from,
            long length) {
        boolean begun = false;
        boolean passesOn = false;
        try {
            for (int i = 0; i < copies.size(); i++) {
                ScatterCopy copy = copies.get(i);
                if (targets[i] != gpu || copy.sourceOffset() >= from + length || copy.sourceEnd() <= from) {
                    continue;
                }
                int[] peers = peersOf(i, piece);
                if (peers == null) {
                    continue;
                }
                passesOn |= peers.length > 0;
                if (!begun) {
                    pipeline.begin(gpu);
                    begun = true;
                }
                copyRows(pipeline, gpu, copy, host, from, length);
            }
        } finally {
            if (begun) {
                try {
                    pipeline.endOfSlot(slot, gpu, piece, length);
                    if (passesOn) {
                        passOn(pipeline, gpu, piece, from, length);
                    }
                } finally {
                    pipeline.end();
                }
            }
        }
    }

    private static void copyRows(
            CopyPipeline pipeline, int gpu, ScatterCopy copy, long host, long from, long length) {
        long base = copy.destination().range().address();
        copy.forPart(from, length, (offset, width, rows, to) -> {
            if (rows == 1) {
                pipeline.copyTo(gpu, host + offset, base + to, width);
            } else {
                pipeline.copyRows(
                        gpu, host + offset, copy.sourcePitch(), base + to, copy.destinationPitch(), width, rows);
            }
        });
    }

    /** Copies what a GPU has received of a piece to the other GPUs that need it; streams keep the order. */
    private void passOn(CopyPipeline pipeline, int gpu, long piece, long from, long length) {
        for (int i = 0; i < copies.size(); i++) {
            ScatterCopy copy = copies.get(i);
            if (targets[i] != gpu || copy.sourceOffset() >= from + length || copy.sourceEnd() <= from) {
                continue;
            }
            int[] peers = peersOf(i, piece);
            for (int j = 0; peers != null && j < peers.length; j++) {
                int peer = peers[j];
                if (peer == i) {
                    continue;
                }
                long source = copy.destination().range().address() + copy.destinationOffset();
                ScatterCopy other = copies.get(peer);
                long target = other.destination().range().address() + other.destinationOffset();
                long begin = Math.max(0, from - copy.sourceOffset());
                long end = Math.min(copy.width(), from + length - copy.sourceOffset());
                pipeline.copyToPeer(gpu, source + begin, targets[peer], target + begin, end - begin, piece);
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
        fail(piece, cause);
    }

    @Override
    boolean isArenaClosed() {
        return segments.stream().anyMatch(known -> known != null && !known.scope().isAlive());
    }

    @Override
    public boolean usesGpu() {
        return !gpus.isEmpty();
    }

    @Override
    String systemCall() {
        return "pread";
    }
}
