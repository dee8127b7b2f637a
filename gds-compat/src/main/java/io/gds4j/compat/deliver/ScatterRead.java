package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.staging.CopyPipeline;
import io.gds4j.engine.staging.GatherCopy;
import io.gds4j.engine.staging.GpuContext;
import io.gds4j.memory.ScatterCopy;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads pieces into slabs once, and copies their rows to memory of the host and of several GPUs. Of a request that is gathered, one kernel
 * copies all fragments, which are of one GPU.
 */
public final class ScatterRead extends ScatterTransfer {
    private static final int[] ALONE = {};

    /** For each copy, the copies that bring the same bytes to other GPUs, itself included; empty for copies on their own. */
    private final List<int[]> groups = new ArrayList<>();

    /** @param worker one of the workers that may help; null if there is none */
    public ScatterRead(TransferRequest request, @Nullable Thread worker) {
        super(request, worker);
    }

    @Override
    public void target(List<ScatterCopy> ofRequest) {
        super.target(ofRequest);
        groups.clear();
    }

    @Override
    public void open(ThreadContext thread) {
        super.open(thread);
        GpuContext gpu = onlyGpu();
        if (gpu != null) {
            gather(thread, gpu, places());
        }
    }

    /** Returns the number of parts of fragments that pieces have, all together. */
    private long places() {
        long places = 0;
        for (int i = 0; i < copies().size(); i++) {
            long begin = plan().offset() + copies().get(i).sourceOffset();
            long last = begin + copies().get(i).width() - 1;
            places += last / plan().pieceSize() - begin / plan().pieceSize() + 1;
        }
        return places;
    }

    /** Tells the kernel of each part of a fragment in a piece. The kernel waits for all of them, so a part that was not read counts, too. */
    @Override
    void arrived(GatherCopy gather, long piece, long host, long read) {
        long from = plan().pieceStart(piece) - plan().offset();
        long length = plan().pieceEnd(piece) - plan().pieceStart(piece);
        for (int i = 0; i < copies().size(); i++) {
            ScatterCopy copy = copies().get(i);
            if (overlaps(copy, from, length)) {
                long begin = beginIn(copy, from);
                long inPiece = copy.sourceOffset() + begin - from;
                long bytes = Math.clamp(read - inPiece, 0, widthIn(copy, from, length));
                gather.arrived(piece, host + inPiece,
                        copy.destination().range().address() + copy.destinationOffset() + begin, bytes);
            }
        }
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

    @Override
    public void end() {
        super.end();
        groups.clear();
    }

    @Override
    void movePieces(ThreadContext thread, CopyPipeline pipeline, long bytes) {
        long piece = claim(thread);
        while (piece >= 0) {
            try {
                move(thread, pipeline, piece, bytes);
            } catch (RuntimeException | Error e) {
                fail(piece, e);
            }
            piece = claim(thread);
        }
    }

    private void move(ThreadContext thread, CopyPipeline pipeline, long piece, long bytes) {
        long start = plan().pieceStart(piece);
        long end = plan().pieceEnd(piece);
        CopyPipeline.Slot slot = pipeline.next(bytes);
        long host = hostAddress(slot, start);
        long read = thread.io().move(request().file(), plan(), start, end, host, cancellation(piece));
        if (read > 0) {
            long from = start - plan().offset();
            for (int gpu = 0; gpu < gpus(); gpu++) {
                copyToGpu(pipeline, slot, gpu, piece, host, from, read);
            }
            copyHostRows(host, from, read);
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
            for (int i = 0; i < copies().size(); i++) {
                if (!takesPart(i, gpu, from, length)) {
                    continue;
                }
                int[] peers = peersOf(i, piece);
                if (peers == null) {
                    continue;
                }
                if (!begun) {
                    pipeline.begin(gpu, slot, true);
                    begun = true;
                }
                if (peers.length > 0 && !passesOn) {
                    passesOn = true;
                    pipeline.copyByEngine();
                }
                copyRows(pipeline, gpu, copies().get(i), host, from, length);
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

    /** Copies what a GPU has received of a piece to the other GPUs that need it; streams keep the order. */
    private void passOn(CopyPipeline pipeline, int gpu, long piece, long from, long length) {
        for (int i = 0; i < copies().size(); i++) {
            if (!takesPart(i, gpu, from, length)) {
                continue;
            }
            ScatterCopy copy = copies().get(i);
            int[] peers = peersOf(i, piece);
            for (int j = 0; peers != null && j < peers.length; j++) {
                int peer = peers[j];
                if (peer == i) {
                    continue;
                }
                long source = copy.destination().range().address() + copy.destinationOffset();
                ScatterCopy other = copies().get(peer);
                long target = other.destination().range().address() + other.destinationOffset();
                long begin = beginIn(copy, from);
                pipeline.copyToPeer(
                        gpu, source + begin, targetOf(peer), target + begin, widthIn(copy, from, length), piece);
            }
        }
    }

    @Override
    String systemCall() {
        return "pread";
    }
}
