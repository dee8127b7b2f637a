package io.gds4j.testkit;

/**
 * A place in a {@link FakeStream}, like a recorded {@code CUevent}. Thread-safe.
 *
 * @since 0.1
 */
public final class FakeEvent {
    private final FakeStream stream;
    private final long number;

    FakeEvent(FakeStream stream, long number) {
        this.stream = stream;
        this.number = number;
    }

    /** {@return whether the stream has passed the event; runs no work} */
    public boolean isDone() {
        return stream.hasPassed(number);
    }

    /**
     * Runs the stream up to the event, like {@code cuEventSynchronize}.
     *
     * @throws IllegalStateException if work of the stream failed
     * @throws io.gds4j.error.CuFileException IO_NOT_SUPPORTED (EBUSY) from work of the same stream
     */
    public void synchronize() {
        complete();
        stream.throwFailure();
    }

    /** Runs the stream up to the event. */
    void complete() {
        stream.runTo(number);
    }

    @Override
    public String toString() {
        return "FakeEvent[%s, after %s]".formatted(stream, number);
    }
}
