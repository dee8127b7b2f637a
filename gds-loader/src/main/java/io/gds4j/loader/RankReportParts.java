package io.gds4j.loader;

/** The parts of a {@link RankReport}. */
record RankReportParts(int rank, int tensors, long bytes) implements RankReport {
}
