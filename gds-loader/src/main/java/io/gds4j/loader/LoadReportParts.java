package io.gds4j.loader;

import io.gds4j.loader.internal.ReportLine;
import io.gds4j.statistics.IoPath;
import java.util.Map;
import java.util.Optional;

/** The parts of a {@link LoadReport}. */
record LoadReportParts(int files, int tensors, long bytes, int requests, double seconds, double headerSeconds,
        double memorySeconds, Map<IoPath, Long> ioPaths, long bytesAsked, Optional<String> whyNotDirect,
        long peakStagingBytes, String target) implements LoadReport {
    LoadReportParts {
        ioPaths = Map.copyOf(ioPaths);
    }

    @Override
    public String toString() {
        return ReportLine.of(tensors, bytes, seconds, "into " + target, ioPaths);
    }
}
