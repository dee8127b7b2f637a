package io.gds4j.spi;

/**
 * Shows operations in a profiler. {@link TraceRanges} finds the tracers by {@link java.util.ServiceLoader} and uses the first
 * that is attached; gds-native has one for NVTX. Thread-safe; methods other than {@link #attach} never throw.
 *
 * @since 0.1
 */
public interface RangeTracer {
    /** Category of an operation that has no I/O path. */
    int NO_CATEGORY = 0;

    /**
     * Looks for a profiler, once.
     *
     * @return true if one is attached to this process
     */
    boolean attach();

    /**
     * Begins a range.
     *
     * @param operation what begins
     * @param detail name of the file, for a load; else empty
     * @param category ordinal of the {@link io.gds4j.statistics.IoPath} plus 1, or {@link #NO_CATEGORY}
     * @param bytes bytes that the program asked for
     * @return the range, for {@link #end}
     */
    long begin(TracedOperation operation, String detail, int category, long bytes);

    /**
     * Ends a range: on the same thread, unless the operation crosses threads.
     *
     * @param range from {@link #begin}
     */
    void end(long range);
}
