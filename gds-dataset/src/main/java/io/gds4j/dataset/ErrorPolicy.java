package io.gds4j.dataset;

/**
 * What a loader does with a record that it cannot read, or that its file no longer has.
 *
 * @since 0.1
 */
public enum ErrorPolicy {
    /** The loader stops: the batch of the record fails with a {@link RecordException}, and so does every later one. */
    STOP,

    /** The loader leaves the record out, counts it, and goes on. */
    SKIP
}
