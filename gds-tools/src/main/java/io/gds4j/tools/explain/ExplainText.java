package io.gds4j.tools.explain;

import io.gds4j.diagnosis.Advice;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/** Formats an explanation as text. */
final class ExplainText {
    private ExplainText() {
    }

    static List<String> lines(Explanation explanation) {
        Estimate estimate = explanation.estimate();
        List<String> lines = new ArrayList<>();
        lines.add("Expected: %s now, %s from the page cache, %s from storage".formatted(
                seconds(estimate.nowSeconds()), seconds(estimate.hotSeconds()), seconds(estimate.coldSeconds())));
        lines.add("");
        lines.add("Load");
        lines.add(Text.row("checkpoint", Text.name(explanation.path())));
        lines.add(Text.row("", "%s, %s, %s, %s".formatted(
                explanation.format(), Units.count(estimate.files().size(), "file"),
                Units.count(explanation.tensors(), "tensor"), Units.bytes(explanation.bytes()))));
        lines.add(Text.row("cached", "%s of %s".formatted(
                Units.bytes(estimate.cachedBytes()),
                Units.bytes(estimate.bytes()))));
        lines.add(Text.row("memory",
                estimate.hot().map(hot -> "%s to the target, and %s before, by loads of this checkpoint"
                        .formatted(Units.rate(hot.bytesPerSecond()), Units.seconds(hot.fixedSeconds())))
                        .orElseGet(() -> "unknown: " + estimate.obstacle())));
        estimate.files().stream().filter(file -> !file.inMemory()).map(ReadFile::device).distinct()
                .forEach(device -> lines.add(Text.row("storage", "%s delivers %s".formatted(
                        device, estimate.devices().containsKey(device)
                                ? Units.rate(estimate.devices().get(device))
                                : "an unknown rate: " + estimate.silent().getOrDefault(
                                        device, "no file of 1 MiB or more that leaves the page cache")))));
        lines.add("");
        lines.add("Files");
        List<List<String>> rows = new ArrayList<>();
        Map<String, String> reasons = new LinkedHashMap<>();
        for (ReadFile file : estimate.files()) {
            String path = file.ioPath(explanation.direct());
            reasons.putIfAbsent(path, file.reason(explanation.direct()));
            Path name = file.path().getFileName();
            rows.add(List.of(
                    (name == null ? file.path() : name).toString(), Units.bytes(file.bytes()),
                    cached(file), path));
        }
        lines.addAll(Text.table(rows, false, true, true, false));
        reasons.forEach((path, reason) -> lines.add("  %s: %s".formatted(path, reason)));
        lines.add("");
        lines.add("Memory");
        for (Explanation.Rank rank : explanation.ranks()) {
            lines.add(Text.row("rank " + rank.rank(), "%s of %s available, %s".formatted(
                    Units.bytes(rank.bytes()), Units.bytes(rank.availableBytes()), rank.target())));
        }
        lines.add("");
        lines.add("Faster");
        if (explanation.advice().isEmpty()) {
            lines.add(Text.row("none", "nothing found that would make this load faster"));
        }
        for (Advice advice : explanation.advice()) {
            lines.add("  - " + advice.what());
            lines.add("    " + advice.remedy());
        }
        return lines;
    }

    private static String cached(ReadFile file) {
        if (file.inMemory()) {
            return "in memory";
        }
        return file.cachedBytes().isPresent()
                ? "%s%% cached".formatted(100 * file.cachedBytes().getAsLong() / Math.max(1, file.bytes()))
                : "unknown";
    }

    private static String seconds(OptionalDouble seconds) {
        return seconds.isPresent() ? Units.seconds(seconds.getAsDouble()) : "unknown";
    }
}
