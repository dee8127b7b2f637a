package io.gds4j.dataset;

/**
 * What a loader has delivered so far, and who waited for whom.
 *
 * @param records delivered records
 * @param bytes delivered bytes
 * @param batches delivered batches
 * @param skipped records that {@link ErrorPolicy#SKIP} left out
 * @param seconds time from the opening of the loader to the last delivery
 * @param waitingForDataSeconds time in which the consumer waited for a batch
 * @param waitingForConsumerSeconds time in which reading stood still because all buffers held batches
 * @param memoryBytes memory of all buffers: constant, within the bound of the builder
 * @since 0.1
 */
public record LoaderReport(
        long records,
        long bytes,
        long batches,
        long skipped,
        double seconds,
        double waitingForDataSeconds,
        double waitingForConsumerSeconds,
        long memoryBytes) {

    /** {@return delivered bytes per second; 0 before the first delivery} */
    public double bytesPerSecond() {
        return seconds > 0 ? bytes / seconds : 0;
    }

    /** {@return delivered records per second; 0 before the first delivery} */
    public double recordsPerSecond() {
        return seconds > 0 ? records / seconds : 0;
    }
}
