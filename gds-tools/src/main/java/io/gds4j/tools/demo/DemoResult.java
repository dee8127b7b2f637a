package io.gds4j.tools.demo;

import io.gds4j.tools.load.LoadResult;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Measurements of all rounds of a demo.
 *
 * @param loads one load per round; the last one is verified
 * @param plainReads one plain read per round
 */
record DemoResult(List<LoadResult> loads, List<PlainRead> plainReads) {
    DemoResult {
        loads = List.copyOf(loads);
        plainReads = List.copyOf(plainReads);
    }

    /** Returns the last load, which was verified. */
    LoadResult verified() {
        return loads.getLast();
    }

    /** Returns the fastest load: other activity on the machine can only slow a load down. */
    private LoadResult load() {
        return loads.stream().min(Comparator.comparingDouble(load -> load.seconds())).orElseThrow();
    }

    private PlainRead plain() {
        return plainReads.stream().min(Comparator.comparingDouble(PlainRead::seconds)).orElseThrow();
    }

    Map<String, @Nullable Object> toJson() {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>(load().toJson());
        fields.put("verified", verified().verified());
        fields.put("baselineBytesPerSecond", Math.round(plain().bytesPerSecond()));
        fields.put("baselineSeconds", plain().seconds());
        fields.put("baseline", "FileChannel.read, one thread, freshly allocated memory of the same kind");
        fields.put("roundSeconds", loads.stream().map(load -> load.seconds()).toList());
        fields.put("baselineRoundSeconds", plainReads.stream().map(PlainRead::seconds).toList());
        return fields;
    }

    List<String> rows() {
        LoadResult load = load();
        PlainRead plain = plain();
        List<String> rows = new ArrayList<>();
        rows.add(Text.row("target", load.target().description()));
        rows.add(Text.row("served by", load.shownPaths()));
        rows.add("");
        rows.add(
                Text.row("gds4j", speed(load.seconds(), load.bytesPerSecond())
                        + "   best of " + Units.count(loads.size(), "load")));
        rows.add(
                Text.row("FileChannel", speed(plain.seconds(), plain.bytesPerSecond())
                        + "   reads the same bytes on one thread"));
        rows.add(Text.row("", "gds4j is " + Units.comparison(load.bytesPerSecond(), plain.bytesPerSecond())));
        rows.add("");
        rows.add(Text.row("verified", verified().shownVerification()));
        rows.add(Text.row("staging", load.shownStaging()));
        return rows;
    }

    private static String speed(double seconds, double bytesPerSecond) {
        return "%-8s  %11s".formatted(Units.seconds(seconds), Units.rate(bytesPerSecond));
    }
}
