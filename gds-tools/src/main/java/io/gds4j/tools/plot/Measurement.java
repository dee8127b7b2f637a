package io.gds4j.tools.plot;

/**
 * One point of a chart.
 *
 * @param ioSize bytes of a request
 * @param bytesPerSecond throughput
 * @param p50Micros median latency
 * @param p99Micros latency that one in a hundred exceeds
 */
record Measurement(long ioSize, double bytesPerSecond, double p50Micros, double p99Micros) {
}
