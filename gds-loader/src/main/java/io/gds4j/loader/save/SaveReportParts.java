package io.gds4j.loader.save;

import io.gds4j.loader.internal.ReportLine;
import io.gds4j.statistics.IoPath;
import java.util.Map;
import java.util.Optional;

/** The parts of a {@link SaveReport}. */
record SaveReportParts(int files, int tensors, long bytes, int alignedTensors, double seconds, double blockedSeconds,
        double syncSeconds, Map<IoPath, Long> ioPaths, long bytesAsked,
        Optional<String> whyNotDirect) implements SaveReport {
    SaveReportParts {
        ioPaths = Map.copyOf(ioPaths);
    }

    @Override
    public String toString() {
        return ReportLine.of(tensors, bytes, seconds, "", ioPaths);
    }
}
