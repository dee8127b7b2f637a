package io.gds4j.dataset;

/** The parts of a {@link LoaderReport}. */
record LoaderReportParts(long records, long bytes, long batches, long skipped, double seconds,
        double waitingForDataSeconds, double waitingForConsumerSeconds, long memoryBytes) implements LoaderReport {}
