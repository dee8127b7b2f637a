package io.gds4j.engine.stream;

/** A stream as a staged operation sees it. Thread-safe. */
interface StreamTurns {
    /** Waits for an event; a {@code CUresult}. */
    int await(long event);

    /** Waits for the event of a copy under way; a {@code CUresult}. */
    int awaitCopy(long event);

    /** Returns whether the stream has passed an event or has failed. */
    boolean isPast(long event);

    /** Returns whether the stream has passed all that it holds or has failed: for a kernel without an event. */
    boolean isIdle();

    /** Waits until the stream may pass all steps before this one: their operations need nothing more that others may hold. */
    void awaitBefore(Step step);

    /**
     * Waits until the stream has come to an operation, but for the copy right before it, which may still run.
     *
     * @param first its first step
     * @return a {@code CUresult}
     */
    int awaitNext(Step first);

    /** Lets the stream pass the wait of a step, whose operation may need more that others hold. */
    void letIn(Step step);

    /** The operation of a step needs nothing more that others may hold. */
    void supplied(Step step);

    /** Lets the stream pass a step and all steps before it: their operations need nothing more that others may hold. */
    void release(Step step);

    /** Called once the stream has passed a step. */
    void leave(Step step);

    RuntimeException failure(int result);
}
