package io.gds4j.dataset;

/**
 * A loader over JMX, under {@code io.gds4j:type=RecordLoader,loader=N}. The bean is registered if the driver counts, at level 1 or
 * higher, when the loader opens.
 *
 * @since 0.1
 */
public interface RecordLoaderMXBean {
    /** Pattern that the names of all these beans match. */
    String NAME_PATTERN = "io.gds4j:type=RecordLoader,loader=*";

    /** {@return delivered records} */
    long getRecords();

    /** {@return delivered bytes} */
    long getBytes();

    /** {@return delivered batches} */
    long getBatches();

    /** {@return records that were left out} */
    long getSkipped();

    /** {@return position after the last delivered record} */
    long getPosition();

    /** {@return seconds in which the consumer waited for a batch} */
    double getWaitingForDataSeconds();

    /** {@return seconds in which reading stood still because all buffers held batches} */
    double getWaitingForConsumerSeconds();

    /** {@return delivered bytes per second} */
    double getBytesPerSecond();

    /** {@return delivered records per second} */
    double getRecordsPerSecond();

    /** {@return bytes of all buffers} */
    long getMemoryBytes();
}
