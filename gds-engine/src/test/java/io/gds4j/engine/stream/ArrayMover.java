package io.gds4j.engine.stream;

import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.engine.stream.StreamMover.PieceListener;
import io.gds4j.spi.BatchRequest;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Moves bytes between memory and an array that stands for a file. All streams share one. */
final class ArrayMover implements StreamMover, StreamMovers {
    private final byte[] file;
    private final boolean stages;
    private @Nullable RuntimeException failure;
    private long failsAt;
    private Runnable first = () -> {
    };

    private int borrowed;
    private boolean tells = true;
    private long pieceBytes = Long.MAX_VALUE / 2;

    ArrayMover(byte[] file, boolean stages) {
        this.file = file;
        this.stages = stages;
    }

    /** Lets moves fail from now on that touch this byte of the file. */
    void failAt(long offset, RuntimeException cause) {
        failsAt = offset;
        failure = cause;
    }

    /** Sets whether it tells of pieces that arrive. */
    void tells(boolean value) {
        tells = value;
    }

    /** Sets how many bytes arrive at a time. */
    void tellsInPiecesOf(long bytes) {
        pieceBytes = bytes;
    }

    /** Sets an action that runs before each move, on the thread that moves. */
    void runsFirst(Runnable action) {
        first = action;
    }

    /** Returns the number of movers that are not given back. */
    synchronized int borrowed() {
        return borrowed;
    }

    @Override
    public Optional<PreparedGpu> prepareForWaits(long context) {
        return Optional.empty(); // the mover holds no resources
    }

    @Override
    public boolean stages() {
        return stages;
    }

    @Override
    public synchronized StreamMover borrow() {
        borrowed++;
        return this;
    }

    @Override
    public synchronized void giveBack() {
        borrowed--;
    }

    @Override
    public long move(BatchRequest request) {
        first.run();
        long offset = request.fileOffset();
        if (failure != null && offset <= failsAt && failsAt < offset + request.size()) {
            throw failure;
        }
        int bytes = (int) Math.clamp(file.length - offset, 0, request.size());
        MemorySegment memory = MemorySegment.ofAddress(request.memory().address() + request.bufferOffset())
                .reinterpret(bytes);
        if (request.write()) {
            MemorySegment.copy(memory, ValueLayout.JAVA_BYTE, 0, file, (int) offset, bytes);
        } else {
            MemorySegment.copy(file, (int) offset, memory, ValueLayout.JAVA_BYTE, 0, bytes);
        }
        return bytes;
    }

    @Override
    public long movePart(BatchRequest part, long operation, PieceListener arrived) {
        long moved = move(part);
        for (long at = 0; tells && at < moved; at += pieceBytes) {
            arrived.arrived(at, Math.min(pieceBytes, moved - at));
        }
        return moved;
    }
}
