package io.gds4j.compat;

import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Reads straight into host memory, or writes straight from it. Memory of a foreign arena goes through its segment, so that the
 * arena cannot close under a call and a closed one is an error; memory that is held otherwise goes by address.
 */
final class HostTransfer extends Transfer {
    private final PieceIo io;
    private boolean write;
    private long address;
    private @Nullable MemorySegment segment;
    private long segmentOffset;

    HostTransfer(PieceIo io) {
        this.io = io;
    }

    /**
     * Sets what to move.
     *
     * @param helper a thread that will work on the request beside the caller; a segment confined to the caller is not open to
     *        it, but then the caller, who waits, is the only one that could close the arena
     */
    void target(MemoryRange memory, long offset, boolean writes, Thread helper) {
        write = writes;
        address = memory.address() + offset;
        segmentOffset = offset;
        segment = null;
        if (memory.owner().isEmpty() && memory.segment().isPresent()) {
            MemorySegment known = memory.segment().get();
            segment = known.isAccessibleBy(helper) ? known : null;
        }
    }

    @Override
    void end() {
        super.end();
        segment = null;
    }

    @Override
    void run(Lane lane) {
        long piece = claim(lane);
        while (piece >= 0) {
            long start = plan().pieceStart(piece);
            long end = plan().pieceEnd(piece);
            long at = start - plan().offset();
            try {
                long moved = io.move(
                        pair(), plan(), start, end, address + at, segment, segmentOffset + at, lane.outcome(), write);
                if (moved < end - start) {
                    stop(piece, moved, lane.outcome().errno(), null);
                }
            } catch (RuntimeException e) {
                stop(piece, 0, 0, e);
            }
            piece = claim(lane);
        }
    }

    @Override
    boolean usesGpu() {
        return false;
    }

    @Override
    String systemCall() {
        return write ? "pwrite" : "pread";
    }
}
