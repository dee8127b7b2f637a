package io.gds4j.engine.stream;

import io.gds4j.spi.BatchRequest;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Serves one operation whose stream itself copies. This thread moves bytes between slabs and the file, and tells the stream what to
 * copy, part by part. It asks the CUDA driver for nothing but events, so that it makes progress whatever the program's calls wait for.
 */
abstract sealed class StagedOperation permits StagedStreamCopy, GatheredStreamRead {
    static final long PAGE_MASK = 4095;

    private final ParkedOperation parked;
    private final Turns turns;
    private @Nullable BatchRequest request;

    /** Steps that were handed over and that the stream has not passed. */
    private final Deque<Step> open = new ArrayDeque<>();

    /** The open steps that no part has yet. */
    private final Deque<Step> waiting = new ArrayDeque<>();

    private int taken;

    /** Contiguous bytes moved between slabs and file. */
    private long moved;

    /** The value for the result cell. */
    private long result;

    /** True once no more bytes are moved. */
    private boolean ended;

    /** The stream as a staged operation sees it. */
    interface Turns {
        /** Waits for an event; a {@code CUresult}. */
        int await(long event);

        /** Waits for the event of a copy under way; a {@code CUresult}. */
        int awaitCopy(long event);

        /**
         * Returns whether the stream has come to an operation, but for the copy right before it. Waits for a moment: the copy has
         * begun or is about to.
         */
        boolean isNext(StreamCopy.Pieces first);

        /** Lets the stream pass a step and all steps before it. Any thread may call it. */
        void release(Step step);

        /** Called once the stream has passed a step. */
        void leave(Step step);

        RuntimeException failure(int result);
    }

    StagedOperation(ParkedOperation parked, Turns turns) {
        this.parked = parked;
        this.turns = turns;
    }

    final ParkedOperation parked() {
        return parked;
    }

    final StreamOperation operation() {
        return parked.operation();
    }

    final Turns turns() {
        return turns;
    }

    /** Waits for the first step. */
    final Step first() {
        if (!awaitStep()) {
            throw new IllegalStateException("an operation is queued with its first step");
        }
        return waiting.getFirst();
    }

    /** Binds all arguments. A failure ends the operation. */
    final void bind() {
        try {
            BatchRequest bound = operation().bindStaged();
            request = bound;
            ended = bound.size() == 0;
        } catch (RuntimeException e) {
            fail(e);
        }
    }

    final BatchRequest bound() {
        return Objects.requireNonNull(request, "nothing is moved before all is bound");
    }

    /** Returns whether the stream has come to a step. A failure ends the operation. */
    final boolean awaitReached(Step step) {
        int come = turns.await(step.reached());
        if (come != 0) {
            fail(turns.failure(come));
        }
        return come == 0;
    }

    final void fail(RuntimeException cause) {
        result = operation().code(cause);
        ended = true;
    }

    final boolean hasEnded() {
        return ended;
    }

    /** Notes how many bytes were moved of those asked for. */
    final void moved(long bytes, long asked) {
        moved += bytes;
        result = moved;
        ended = bytes < asked || moved == bound().size();
    }

    /** Sets the result cell. */
    final void settle() {
        operation().settle(result);
    }

    /** Lets the stream pass the rest of the operation. */
    final void goOn() {
        do {
            if (!open.isEmpty()) {
                turns.release(open.getLast());
            }
            while (!open.isEmpty()) {
                turns.leave(open.removeFirst());
            }
            waiting.clear();
        } while (awaitStep());
    }

    /** The stream has passed the first open step. */
    final void leaveFirst() {
        turns.leave(open.removeFirst());
    }

    /** Waits for a step that no part has. Returns false if none follows. */
    final boolean awaitStep() {
        if (waiting.isEmpty() && taken < parked.steps()) {
            note(parked.next());
            if (waiting.isEmpty()) {
                taken = parked.steps();
                fail(operation().brokenOff());
            }
        }
        return !waiting.isEmpty();
    }

    /** Returns the number of steps that no part has. */
    final int stepsWaiting() {
        Step step = poll();
        while (step != null) {
            step = poll();
        }
        return waiting.size();
    }

    /** Takes the next of the steps that wait. */
    final Step takeStep() {
        return waiting.removeFirst();
    }

    /** Returns the first of the steps that wait. */
    final Step firstWaiting() {
        return waiting.getFirst();
    }

    private @Nullable Step poll() {
        return note(taken < parked.steps() ? parked.poll() : null);
    }

    private @Nullable Step note(@Nullable Step step) {
        if (step != null) {
            taken++;
            open.add(step);
            waiting.add(step);
        }
        return step;
    }

    /**
     * Waits for a stream's own copy.
     *
     * @param part number of the part
     * @param told true if the result cell is set already
     */
    final boolean awaitCopied(Step step, int part, boolean told) {
        RuntimeException failure = operation().brokenOff();
        if (parked.awaitComplete(part + 1)) {
            int come = turns.awaitCopy(step.copied());
            if (come == 0) {
                return true;
            }
            failure = turns.failure(come);
        }
        if (told) {
            operation().log("a copy of a stream failed", failure);
        } else {
            fail(failure);
        }
        return false;
    }
}
