package io.gds4j.loader.internal;

import io.gds4j.statistics.IoPath;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** The line in which a report tells what moved, how fast, where to and by which paths. */
public final class ReportLine {
    private ReportLine() {
    }

    /** @param where what follows the speed, such as {@code into GPU 0} */
    public static String of(int tensors, long bytes, double seconds, String where, Map<IoPath, Long> paths) {
        String moved = paths.entrySet().stream().sorted(Map.Entry.comparingByKey())
                .map(path -> paths.size() == 1 ? path.getKey().name() : path.getKey() + " " + size(path.getValue()))
                .collect(Collectors.joining(", "));
        return String.format(Locale.ROOT, "%d tensor%s, %s in %.3f s, %s/s%s%s", tensors, tensors == 1 ? "" : "s",
                size(bytes), seconds, size(seconds > 0 ? bytes / seconds : 0), where.isEmpty() ? "" : " " + where,
                moved.isEmpty() ? "" : " by " + moved);
    }

    private static String size(double bytes) {
        return bytes >= 1e9
                ? String.format(Locale.ROOT, "%.2f GB", bytes / 1e9)
                : bytes >= 1e6
                        ? String.format(Locale.ROOT, "%.2f MB", bytes / 1e6)
                        : String.format(Locale.ROOT, "%.0f bytes", bytes);
    }
}
