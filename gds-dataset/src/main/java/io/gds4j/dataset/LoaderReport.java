package io.gds4j.dataset;

import java.time.Duration;

/**
 * What a loader has delivered so far, and who waited for whom.
 *
 * @since 0.1
 */
public sealed interface LoaderReport permits LoaderReportParts {
    /** {@return delivered records} */
    long records();

    /** {@return delivered bytes} */
    long bytes();

    /** {@return delivered batches} */
    long batches();

    /** {@return records that {@link ErrorPolicy#SKIP} left out} */
    long skipped();

    /** {@return time from the opening of the loader to the last delivery} */
    double seconds();

    /** {@return {@link #seconds} as a duration} */
    default Duration duration() {
        return Duration.ofNanos(Math.round(seconds() * 1e9));
    }

    /** {@return time in which the consumer waited for a batch} */
    double waitingForDataSeconds();

    /** {@return time in which reading stood still because all buffers held batches} */
    double waitingForConsumerSeconds();

    /** {@return memory of all buffers: constant, within the bound of the builder} */
    long memoryBytes();

    /** {@return delivered bytes per second; 0 before the first delivery} */
    default double bytesPerSecond() {
        return seconds() > 0 ? bytes() / seconds() : 0;
    }

    /** {@return delivered records per second; 0 before the first delivery} */
    default double recordsPerSecond() {
        return seconds() > 0 ? records() / seconds() : 0;
    }
}
