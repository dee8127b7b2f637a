package io.gds4j.loader.save;

import io.gds4j.statistics.IoPath;
import java.util.List;
import java.util.Map;

/** The parts of a {@link ChecksumReport}. */
record ChecksumReportParts(int tensors, long bytes, double seconds, List<String> different, List<String> unchecked,
        Map<IoPath, Long> ioPaths) implements ChecksumReport {
    ChecksumReportParts {
        different = List.copyOf(different);
        unchecked = List.copyOf(unchecked);
        ioPaths = Map.copyOf(ioPaths);
    }

    @Override
    public String toString() {
        return "ChecksumReport[tensors=" + tensors + ", bytes=" + bytes + ", seconds=" + seconds
                + ", different="
                + different.size() + ", unchecked=" + unchecked.size() + ", ioPaths=" + ioPaths + ']';
    }
}
