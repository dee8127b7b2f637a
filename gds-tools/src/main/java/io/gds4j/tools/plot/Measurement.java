package io.gds4j.tools.plot;

/**
 * One point of a chart.
 *
 * @param ioSize request size, bytes
 * @param bytesPerSecond throughput
 * @param p50Micros median latency
 * @param p99Micros 99th percentile of latency
 */
record Measurement(long ioSize, double bytesPerSecond, double p50Micros, double p99Micros) {
}
