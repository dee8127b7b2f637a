package io.gds4j.tools.load;

import io.gds4j.statistics.IoPath;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Bytes by the I/O paths that served them, as commands print them. */
public final class PathBytes {
    private PathBytes() {
    }

    /** Returns the paths that served any, by name. */
    public static Map<String, Long> of(Map<IoPath, Long> counted) {
        Map<String, Long> bytes = new LinkedHashMap<>();
        for (IoPath path : IoPath.values()) {
            long count = counted.getOrDefault(path, 0L);
            if (count > 0) {
                bytes.put(path.name(), count);
            }
        }
        return bytes;
    }

    /** Returns the line of the text output that says why not direct; none if all bytes went by GPUDirect Storage. */
    public static List<String> whyNotDirect(Optional<String> reason) {
        return reason.map(why -> Text.row("", "not by GPUDirect Storage: " + why)).stream().toList();
    }

    /** Returns the same as text, behind the name of the backend. */
    public static String text(String backend, Map<IoPath, Long> counted) {
        return of(counted).entrySet()
                .stream()
                .map(entry -> entry.getKey() + " " + Units.bytes(entry.getValue()))
                .collect(Collectors.joining(", ", backend + ": ", ""));
    }
}
