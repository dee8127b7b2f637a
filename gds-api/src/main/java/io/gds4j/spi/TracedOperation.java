package io.gds4j.spi;

/**
 * An operation that a profiler shows as a range.
 *
 * @since 0.1
 */
public enum TracedOperation {
    /** A read, until it returns. */
    READ("read"),
    /** A write, until it returns. */
    WRITE("write"),
    /** A read entry of a batch, until a caller takes its completion. */
    BATCH_READ("batch read"),
    /** A write entry of a batch, until a caller takes its completion. */
    BATCH_WRITE("batch write"),
    /** The submission of a read to a stream. */
    STREAM_READ("stream read"),
    /** The submission of a write to a stream. */
    STREAM_WRITE("stream write"),
    /** A load of a checkpoint, until its tensors are in memory. */
    LOAD("checkpoint load");

    private final String label;

    TracedOperation(String label) {
        this.label = label;
    }

    /** {@return the name of its ranges} */
    public String label() {
        return label;
    }

    /** {@return true if a range may end on another thread than it began} */
    public boolean crossesThreads() {
        return this == BATCH_READ || this == BATCH_WRITE;
    }
}
