package io.gds4j.statistics;

import java.util.Map;

/**
 * Statistics of one driver session for JMX, under {@code io.gds4j:type=CuFileStatistics,session=N}. The bean is registered
 * until the session is closed: once it counts, at level 1 or higher, and at level 0 five seconds after it was opened.
 * {@code gds stats PID} and {@code gds top} read it.
 *
 * @since 0.1
 */
public interface CuFileStatisticsMXBean {
    /** Pattern that the names of all these beans match. */
    String NAME_PATTERN = "io.gds4j:type=CuFileStatistics,session=*";

    /** Name of a thread that a JVM has for each open session. The system shows it without a connection to the JVM. */
    String THREAD_NAME = "gds4j-session";

    /** {@return name of the backend} */
    String getBackend();

    /** {@return current level, 0 to 3} */
    int getLevel();

    /** {@return level 1; fails at level 0} */
    StatisticsLevel1 getLevel1();

    /** {@return level 2; fails while a lower level is set} */
    StatisticsLevel2 getLevel2();

    /** {@return level 3; fails while a lower level is set} */
    StatisticsLevel3 getLevel3();

    /** {@return bytes moved on each path} */
    Map<String, Long> getBytesByPath();

    /** {@return size of the bounce buffers in use now, bytes} */
    long getBouncePoolBytes();

    /** {@return peak size of the bounce buffers in use, bytes} */
    long getBouncePoolPeakBytes();

    /** {@return requests in flight or waiting now} */
    long getQueueDepth();

    /** {@return requests to the kernel that were repeated} */
    long getRetries();

    /** {@return {@code on}, {@code off}, or the reason why threads replace io_uring} */
    String getIoUring();
}
