package io.gds4j.compat.deliver;

import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.engine.stream.StreamMover.PieceListener;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Reads straight into host memory, or writes straight from it. System calls take the segment of a program's arena, so that the
 * arena cannot close during a call, and a closed one is an error. For other memory they take the address.
 */
public final class HostTransfer extends Transfer {
    private final @Nullable Thread worker;
    private @Nullable MemorySegment segment;

    /** Hears of pieces; null for none. */
    private @Nullable PieceListener listener;

    /** @param worker one of the workers that may help; null if there is none */
    public HostTransfer(TransferRequest request, @Nullable Thread worker) {
        super(request);
        this.worker = worker;
    }

    /**
     * Takes the request's memory. Workers cannot use a segment that is confined to the caller. But then only the caller can close
     * its arena, and the caller waits: the address serves.
     */
    public void target() {
        MemoryRange memory = request().memory();
        segment = null;
        if (memory.owner().isEmpty() && memory.segment().isPresent()) {
            MemorySegment known = memory.segment().get();
            segment = known.isAccessibleBy(worker == null ? Thread.currentThread() : worker) ? known : null;
        }
    }

    /** Has the next request tell of its pieces, if they are gathered. */
    public void tell(PieceListener hearing) {
        listener = hearing;
    }

    @Override
    public void end() {
        super.end();
        segment = null;
        listener = null;
    }

    @Override
    public void run(ThreadContext thread) {
        long address = request().address();
        PieceListener hearing = plan().isGathered() && pieces() < PieceBoard.PIECES ? listener : null;
        long piece = claim(thread);
        while (piece >= 0) {
            long start = plan().pieceStart(piece);
            long end = plan().pieceEnd(piece);
            long at = start - plan().offset();
            try {
                long moved = thread.io().move(
                        request().file(), plan(), start, end, address + at, segment, request().bufferOffset() + at,
                        cancellation(piece));
                if (moved < end - start) {
                    stop(piece, moved, thread.io().errno());
                }
                if (hearing != null && moved > 0) {
                    hearing.arrived(at, moved);
                }
            } catch (RuntimeException | Error e) {
                fail(piece, e);
            }
            piece = claim(thread);
        }
    }

    @Override
    boolean isArenaClosed() {
        MemorySegment known = segment;
        return known != null && !known.scope().isAlive();
    }

    @Override
    public boolean usesGpu() {
        return false;
    }
}
