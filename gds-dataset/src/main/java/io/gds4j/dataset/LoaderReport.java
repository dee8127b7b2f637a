package io.gds4j.dataset;

/**
 * What a loader has delivered so far, and who waited for whom.
 *
 * @since 0.1
 */
public final class LoaderReport {
    private final Parts parts;

    LoaderReport(Parts parts) {
        this.parts = parts;
    }

    /** {@return delivered records} */
    public long records() {
        return parts.records;
    }

    /** {@return delivered bytes} */
    public long bytes() {
        return parts.bytes;
    }

    /** {@return delivered batches} */
    public long batches() {
        return parts.batches;
    }

    /** {@return records that {@link ErrorPolicy#SKIP} left out} */
    public long skipped() {
        return parts.skipped;
    }

    /** {@return time from the opening of the loader to the last delivery} */
    public double seconds() {
        return parts.seconds;
    }

    /** {@return time in which the consumer waited for a batch} */
    public double waitingForDataSeconds() {
        return parts.waitingForDataSeconds;
    }

    /** {@return time in which reading stood still because all buffers held batches} */
    public double waitingForConsumerSeconds() {
        return parts.waitingForConsumerSeconds;
    }

    /** {@return memory of all buffers: constant, within the bound of the builder} */
    public long memoryBytes() {
        return parts.memoryBytes;
    }

    /** {@return delivered bytes per second; 0 before the first delivery} */
    public double bytesPerSecond() {
        return parts.seconds > 0 ? parts.bytes / parts.seconds : 0;
    }

    /** {@return delivered records per second; 0 before the first delivery} */
    public double recordsPerSecond() {
        return parts.seconds > 0 ? parts.records / parts.seconds : 0;
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "LoaderReport");
    }

    record Parts(long records, long bytes, long batches, long skipped, double seconds, double waitingForDataSeconds,
            double waitingForConsumerSeconds, long memoryBytes) {}
}
