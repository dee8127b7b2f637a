package io.gds4j.loader;

import io.gds4j.CuFileStream;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.internal.load.TurnRing;

/**
 * A tensor in memory that later tensors use again. {@link #close()} gives the memory back at once, {@link #close(CuFileStream)} when a
 * stream has done its work with it. I/O on the tensor is refused after that; a segment that the program keeps longer holds other bytes, or
 * fails once all memory is freed. Thread-safe.
 *
 * @since 0.1
 */
public final class TensorInTurn implements AutoCloseable {
    private final TurnRing ring;
    private final TurnRing.Turn turn;
    private final LoadedTensor tensor;

    TensorInTurn(TurnRing ring, TurnRing.Turn turn, LoadedTensor tensor) {
        this.ring = ring;
        this.turn = turn;
        this.tensor = tensor;
    }

    /** Returns the tensor, which is in place until close. */
    public LoadedTensor tensor() {
        return tensor;
    }

    /** Returns true until close. */
    public boolean isOpen() {
        return turn.memory().isOpen();
    }

    /**
     * Waits for I/O on the tensor, then gives its memory back. Idempotent.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, while the tensor is lent or registered with a driver
     */
    @Override
    public void close() {
        turn.memory().close();
    }

    /**
     * Gives the memory back when a stream has passed the work that is queued now. Returns at once. Idempotent. The stream must get there
     * by itself, without a later tensor.
     *
     * @param stream a stream of the driver that loads, on which the caller has queued all work with the tensor
     * @throws CuFileException as {@link CuFileStream#read}, for example INVALID_VALUE if the stream is closed; otherwise as
     *         {@link #close()}. The tensor stays open
     */
    public void close(CuFileStream stream) {
        ring.mark(turn, stream);
        close();
    }

    @Override
    public String toString() {
        return "TensorInTurn[%s, %s]".formatted(tensor.info().name(), isOpen() ? "open" : "closed");
    }
}
