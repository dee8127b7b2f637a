package io.gds4j.compat;

import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads straight into host memory, or writes straight from it. Memory of a foreign arena goes through its segment, so that the
 * arena cannot close under a call and a closed one is an error; memory that is held otherwise goes by address.
 */
final class HostTransfer extends Transfer {
    private boolean write;
    private long address;
    private @Nullable MemorySegment segment;
    private long segmentOffset;
    private @Nullable LongConsumer arrived;

    /** Pieces that are there, one bit each, as long as somebody wants to know. */
    private final AtomicLong finished = new AtomicLong();

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

    /**
     * Of the next request somebody wants to know, as far as its first 64 pieces go, how much is there.
     *
     * @param listener told bytes from the first on, by the threads at work and in any order
     */
    void tell(LongConsumer listener) {
        arrived = listener;
        finished.set(0);
    }

    @Override
    void end() {
        super.end();
        segment = null;
        arrived = null;
    }

    @Override
    void run(ThreadContext thread) {
        long piece = claim(thread);
        while (piece >= 0) {
            long start = plan().pieceStart(piece);
            long end = plan().pieceEnd(piece);
            long at = start - plan().offset();
            try {
                long moved = thread.io().move(
                        pair(), plan(), start, end, address + at, segment, segmentOffset + at, write);
                if (moved < end - start) {
                    stop(piece, moved, thread.io().errno(), null);
                } else if (arrived != null && piece < Long.SIZE) {
                    finish(piece, arrived);
                }
            } catch (RuntimeException e) {
                stop(piece, 0, 0, e);
            }
            piece = claim(thread);
        }
    }

    private void finish(long piece, LongConsumer listener) {
        long bit = 1L << piece;
        long all = finished.getAndAdd(bit) + bit;
        int there = Long.numberOfTrailingZeros(~all);
        if (there > piece) {
            listener.accept(plan().pieceEnd(there - 1) - plan().offset());
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
