package io.gds4j.engine.stream;

import io.gds4j.engine.kernel.CopyCell;

/** What the stream itself copies in a step, behind the wait. */
sealed interface StreamCopy {
    /** Nothing. */
    record None() implements StreamCopy {
    }

    /** What a cell tells once the wait is over. */
    record Cell(CopyCell cell) implements StreamCopy {
    }

    /** The pieces of which a board tells while the copy runs. */
    record Pieces(StreamBoard board, int request) implements StreamCopy {
    }
}
