package io.gds4j.statistics;

import java.util.Map;

/**
 * Statistics of one driver session as JMX shows them, under {@code io.gds4j:type=CuFileStatistics,session=N}. The bean is
 * there while the session counts: from level 1 on. {@code gds stats PID} reads it.
 *
 * @since 0.1
 */
public interface CuFileStatisticsMXBean {
    /** What all names of these beans match. */
    String NAME_PATTERN = "io.gds4j:type=CuFileStatistics,session=*";

    /** {@return name of the backend that serves} */
    String getBackend();

    /** {@return level that is counted, 1 to 3} */
    int getLevel();

    /** {@return level 1} */
    StatisticsLevel1 getLevel1();

    /** {@return level 2; fails while a lower level is set} */
    StatisticsLevel2 getLevel2();

    /** {@return level 3; fails while a lower level is set} */
    StatisticsLevel3 getLevel3();

    /** {@return bytes moved by each path} */
    Map<String, Long> getBytesByPath();

    /** {@return bounce buffers in use now, bytes} */
    long getBouncePoolBytes();

    /** {@return most bounce buffers in use at one time, bytes} */
    long getBouncePoolPeakBytes();

    /** {@return requests in flight or waiting now} */
    long getQueueDepth();

    /** {@return requests to the kernel that had to be repeated} */
    long getRetries();

    /** {@return {@code on}, {@code off}, or why threads serve in place of io_uring} */
    String getIoUring();
}
