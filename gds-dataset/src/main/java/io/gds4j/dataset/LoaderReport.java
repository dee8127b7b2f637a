package io.gds4j.dataset;

/**
 * What a loader has delivered so far, and who waited for whom.
 *
 * @since 0.1
 */
public final class LoaderReport {
    private final long records;
    private final long bytes;
    private final long batches;
    private final long skipped;
    private final double seconds;
    private final double waitingForDataSeconds;
    private final double waitingForConsumerSeconds;
    private final long memoryBytes;

    LoaderReport(
            long records,
            long bytes,
            long batches,
            long skipped,
            double seconds,
            double waitingForDataSeconds,
            double waitingForConsumerSeconds,
            long memoryBytes) {
        this.records = records;
        this.bytes = bytes;
        this.batches = batches;
        this.skipped = skipped;
        this.seconds = seconds;
        this.waitingForDataSeconds = waitingForDataSeconds;
        this.waitingForConsumerSeconds = waitingForConsumerSeconds;
        this.memoryBytes = memoryBytes;
    }

    /** {@return delivered records} */
    public long records() {
        return records;
    }

    /** {@return delivered bytes} */
    public long bytes() {
        return bytes;
    }

    /** {@return delivered batches} */
    public long batches() {
        return batches;
    }

    /** {@return records that {@link ErrorPolicy#SKIP} left out} */
    public long skipped() {
        return skipped;
    }

    /** {@return time from the opening of the loader to the last delivery} */
    public double seconds() {
        return seconds;
    }

    /** {@return time in which the consumer waited for a batch} */
    public double waitingForDataSeconds() {
        return waitingForDataSeconds;
    }

    /** {@return time in which reading stood still because all buffers held batches} */
    public double waitingForConsumerSeconds() {
        return waitingForConsumerSeconds;
    }

    /** {@return memory of all buffers: constant, within the bound of the builder} */
    public long memoryBytes() {
        return memoryBytes;
    }

    /** {@return delivered bytes per second; 0 before the first delivery} */
    public double bytesPerSecond() {
        return seconds > 0 ? bytes / seconds : 0;
    }

    /** {@return delivered records per second; 0 before the first delivery} */
    public double recordsPerSecond() {
        return seconds > 0 ? records / seconds : 0;
    }

    @Override
    public String toString() {
        return "LoaderReport[records=" + records + ", bytes=" + bytes + ", batches=" + batches + ", skipped=" + skipped
                + ", seconds=" + seconds + ", waitingForDataSeconds=" + waitingForDataSeconds
                + ", waitingForConsumerSeconds=" + waitingForConsumerSeconds + ", memoryBytes=" + memoryBytes + ']';
    }
}
