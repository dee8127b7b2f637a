package io.gds4j.engine.stream;

import io.gds4j.engine.staging.PreparedGpu;
import java.util.Optional;

/** Lends the movers that serve the streams of a session. Made by the backend; thread-safe. */
public interface StreamMovers {
    /**
     * Makes what operations on memory of a CUDA context need while streams wait for them. Called before the stream waits.
     *
     * @return what the streams' own threads copy to the context with; empty if the movers copy themselves
     * @throws io.gds4j.error.CuFileException if CUDA refuses
     */
    Optional<PreparedGpu> prepareForWaits(long context);

    /** Returns true if some operations are staged ({@link StreamTransfer#isStaged}): their slabs are made in advance. */
    default boolean stages() {
        return false;
    }

    /** Returns a mover; {@link StreamMover#giveBack} ends its use. */
    StreamMover borrow();
}
