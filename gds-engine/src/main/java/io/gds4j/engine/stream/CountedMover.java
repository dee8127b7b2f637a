package io.gds4j.engine.stream;

import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.engine.stream.StreamMover.PieceListener;
import io.gds4j.spi.BatchRequest;

/**
 * Tells {@link StreamWaits} while a mover moves bytes for a CUDA stream. An Error ends the operation: the thread lives on and serves
 * others.
 */
record CountedMover(StreamMover mover, StreamWaits waits) implements StreamMover {
    @Override
    public long move(BatchRequest request) {
        waits.beginMove();
        try {
            return mover.move(request);
        } catch (Error e) {
            throw StreamOperation.failure(e);
        } finally {
            waits.endMove();
        }
    }

    @Override
    public long movePart(BatchRequest part, long operation, PieceListener arrived) {
        waits.beginMove();
        try {
            return mover.movePart(part, operation, arrived);
        } catch (Error e) {
            throw StreamOperation.failure(e);
        } finally {
            waits.endMove();
        }
    }

    @Override
    public void giveBack() {
        mover.giveBack();
    }
}
