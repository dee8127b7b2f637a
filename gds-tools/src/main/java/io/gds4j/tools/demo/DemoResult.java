package io.gds4j.tools.demo;

import io.gds4j.tools.load.LoadResult;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.DoubleSummaryStatistics;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;
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

    /** Returns the load in the middle of all by time. */
    private LoadResult load() {
        return median(loads, LoadResult::seconds);
    }

    private PlainRead plain() {
        return median(plainReads, PlainRead::seconds);
    }

    private static <T> T median(List<T> rounds, ToDoubleFunction<T> seconds) {
        return rounds.stream().sorted(Comparator.comparingDouble(seconds)).toList().get(rounds.size() / 2);
    }

    Map<String, @Nullable Object> toJson() {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>(load().toJson());
        fields.put("verified", verified().verified());
        fields.put("baselineBytesPerSecond", Math.round(plain().bytesPerSecond()));
        fields.put("baselineSeconds", plain().seconds());
        fields.put("baseline", "FileChannel.read, one thread, freshly allocated memory of the same kind");
        fields.put("roundSeconds", loads.stream().map(LoadResult::seconds).toList());
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
        rows.add(Text.row("gds4j", speed(load.bytesPerSecond(), loads, LoadResult::seconds)
                + "; median of " + Units.count(loads.size(), "load")));
        rows.add(Text.row("FileChannel", speed(plain.bytesPerSecond(), plainReads, PlainRead::seconds)
                + "; reads the same bytes on one thread"));
        rows.add(Text.row("", "gds4j is " + Units.comparison(load.bytesPerSecond(), plain.bytesPerSecond())));
        rows.add("");
        rows.add(Text.row("verified", verified().shownVerification()));
        rows.add(Text.row("staging", load.shownStaging()));
        return rows;
    }

    private static <T> String speed(double bytesPerSecond, List<T> rounds, ToDoubleFunction<T> seconds) {
        DoubleSummaryStatistics all = rounds.stream().mapToDouble(seconds).summaryStatistics();
        return "%11s   %s to %s".formatted(
                Units.rate(bytesPerSecond), Units.seconds(all.getMin()), Units.seconds(all.getMax()));
    }
}
