package io.gds4j.tools.rdma;

import java.util.Arrays;

/**
 * What was measured with requests of one size.
 *
 * @param size bytes of a request
 * @param requests number of requests
 * @param seconds from the first post to the last completion
 * @param peakBytesPerSecond of the fastest run of as many requests as the queues hold
 * @param nanos sorted times from post to completion
 */
record Latencies(long size, long requests, double seconds, double peakBytesPerSecond, long[] nanos) {

    private static final double NANOS_PER_MICRO = 1000;

    double bytesPerSecond() {
        return size * messagesPerSecond();
    }

    double messagesPerSecond() {
        return seconds > 0 ? requests / seconds : 0;
    }

    /** Microseconds that a part of the requests did not exceed. */
    double percentile(double part) {
        int index = (int) Math.ceil(part * nanos.length) - 1;
        return nanos[Math.clamp(index, 0, nanos.length - 1)] / NANOS_PER_MICRO;
    }

    double average() {
        return Arrays.stream(nanos).average().orElse(0) / NANOS_PER_MICRO;
    }

    double deviation() {
        double mean = average();
        return Math.sqrt(Arrays.stream(nanos).mapToDouble(n -> n / NANOS_PER_MICRO - mean).map(d -> d * d).average()
                .orElse(0));
    }
}
