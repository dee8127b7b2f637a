package io.gds4j.compat.transfer;

import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads straight into host memory, or writes straight from it. System calls take the segment of a program's arena, so that the
 * arena cannot close during a call, and a closed one is an error. For other memory they take the address.
 */
final class HostTransfer extends Transfer {
    private final @Nullable Thread worker;
    private @Nullable MemorySegment segment;
    private @Nullable LongConsumer arrived;

    /** One bit for each of the first 64 pieces that was moved. Used while {@link #arrived} is set. */
    private final AtomicLong finished = new AtomicLong();

    /** @param worker one of the workers that may help; null if there is none */
    HostTransfer(TransferRequest request, @Nullable Thread worker) {
        super(request);
        this.worker = worker;
    }

    /**
     * Takes the request's memory. Workers cannot use a segment that is confined to the caller. But then only the caller can close
     * its arena, and the caller waits: the address serves.
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
     * Has the next request report how many bytes were read without a gap, up to 64 pieces.
     *
     * @param listener receives the number of bytes from the threads at work, in any order
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
                        request().file(), plan(), start, end, address + at, segment, request().bufferOffset() + at,
                        cancellation(piece));
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
        int prefix = Long.numberOfTrailingZeros(~all);
        if (prefix > piece) {
            listener.accept(plan().pieceEnd(prefix - 1) - plan().offset());
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
