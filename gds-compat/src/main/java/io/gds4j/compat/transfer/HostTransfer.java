package io.gds4j.compat.transfer;

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
    private final @Nullable Thread worker;
    private @Nullable MemorySegment segment;
    private @Nullable LongConsumer arrived;

    /** Pieces that have been moved, one bit each, while {@link #arrived} listens. */
    private final AtomicLong finished = new AtomicLong();

    /** @param worker a thread that may work on the request beside the caller; null if there is none */
    HostTransfer(TransferRequest request, @Nullable Thread worker) {
        super(request);
        this.worker = worker;
    }

    /**
     * Takes the request's memory. A segment confined to the caller is not open to workers; but then the caller, who waits, is the
     * only thread that could close its arena, so its address serves.
     */
    void target() {
        MemoryRange memory = request().memory();
        segment = null;
        if (memory.owner().isEmpty() && memory.segment().isPresent()) {
            MemorySegment known = memory.segment().get();
            segment = known.isAccessibleBy(worker == null ? Thread.currentThread() : worker) ? known : null;
        }
    }

    /**
     * Reports the contiguous prefix of the next request that has been read, up to 64 pieces.
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
        long address = request().address();
        long piece = claim(thread);
        while (piece >= 0) {
            long start = plan().pieceStart(piece);
            long end = plan().pieceEnd(piece);
            long at = start - plan().offset();
            try {
                long moved = thread.io().move(
                        descriptors(), plan(), start, end, address + at, segment, request().bufferOffset() + at);
                if (moved < end - start) {
                    stop(piece, moved, thread.io().errno(), null);
                } else if (arrived != null && piece < Long.SIZE) {
                    finish(piece, arrived);
                }
            } catch (RuntimeException | OutOfMemoryError e) {
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
        return request().isWrite() ? "pwrite" : "pread";
    }
}
