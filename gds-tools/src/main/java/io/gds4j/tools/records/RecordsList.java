package io.gds4j.tools.records;

import io.gds4j.dataset.source.RecordSource;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * What the records of a data set are, and where the first of them lie, without reading them.
 *
 * @param name what the user calls the data set
 * @param source its records
 * @param most number of records to list
 * @param output where the list goes
 */
public record RecordsList(String name, RecordSource source, int most, Output output) {
    /** Prints the list. */
    public ExitStatus print() {
        output.print(this::add, this::lines);
        return ExitStatus.DONE;
    }

    private LongStream listed() {
        return LongStream.range(0, Math.min(most, source.records()));
    }

    private String file(long record) {
        return source.files().get(source.file(record)).toString();
    }

    private void add(Map<String, @Nullable Object> object) {
        object.put("files", source.files().size());
        object.put("recordsPerEpoch", source.records());
        object.put("maxRecordBytes", source.maxLength());
        object.put("elementType", source.elementType().orElse(null));
        object.put("shape", source.shape().orElse(null));
        object.put("parts", source.parts());
        object.put("recordList", listed().mapToObj(record -> {
            Map<String, @Nullable Object> place = new LinkedHashMap<>();
            place.put("key", source.key(record).orElse(null));
            place.put("file", file(record));
            place.put("offset", source.fileOffset(record));
            place.put("bytes", source.length(record));
            return place;
        }).toList());
    }

    private List<String> lines() {
        List<String> lines = new ArrayList<>();
        lines.add(Text.row("data set", "%s, %s in %s".formatted(name, Units.count(source.records(), "record"),
                Units.count(source.files().size(), "file"))));
        lines.add(Text.row("record", (source.isFixedLength() ? "" : "up to ") + Units.bytes(source.maxLength())
                + source.elementType().map(type -> " of " + type).orElse("")
                + source.shape().map(shape -> ", shape " + shape).orElse("")));
        if (!source.parts().isEmpty()) {
            lines.add(Text.row("parts", Text.name(String.join(", ", source.parts()))));
        }
        lines.add("");
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("record", "bytes", "offset", "file", "key"));
        listed().forEach(record -> rows.add(List.of(Long.toString(record), Long.toString(source.length(record)),
                Long.toString(source.fileOffset(record)), file(record), source.key(record).orElse(""))));
        lines.addAll(Text.table(rows, true, true, true, false, false));
        return lines;
    }
}
