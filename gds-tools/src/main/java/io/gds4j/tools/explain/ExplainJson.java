package io.gds4j.tools.explain;

import io.gds4j.diagnosis.Mount;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.tools.check.CheckJson;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalDouble;
import org.jspecify.annotations.Nullable;

/** Converts an explanation to the fields of a JSON object. */
final class ExplainJson {
    private ExplainJson() {
    }

    static Map<String, @Nullable Object> of(Explanation explanation) {
        Estimate estimate = explanation.estimate();
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("path", explanation.path().toString());
        fields.put("format", explanation.format());
        fields.put("tensors", explanation.tensors());
        fields.put("bytes", explanation.bytes());
        fields.put("cachedBytes", estimate.cachedBytes());
        fields.put("nowSeconds", orNull(estimate.nowSeconds()));
        fields.put("hotSeconds", orNull(estimate.hotSeconds()));
        fields.put("coldSeconds", orNull(estimate.coldSeconds()));
        fields.put("hotBytesPerSecond", estimate.hot().map(hot -> Math.round(hot.bytesPerSecond())).orElse(null));
        fields.put("hotMeasured", estimate.hot().map(hot -> hot.own() ? "checkpoint" : "generated").orElse(null));
        fields.put("whyHotUnknown", estimate.obstacle().isEmpty() ? null : estimate.obstacle());
        fields.put("files", estimate.files().stream().map(file -> file(file, explanation)).toList());
        fields.put("ranks", explanation.ranks().stream().map(ExplainJson::rank).toList());
        fields.put("advice", explanation.advice().stream().map(CheckJson::advice).toList());
        return fields;
    }

    private static Map<String, @Nullable Object> file(ReadFile file, Explanation explanation) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("file", file.path().toString());
        fields.put("bytes", file.bytes());
        fields.put("cachedBytes", file.cachedBytes().isPresent() ? (Long) file.cachedBytes().getAsLong() : null);
        fields.put("fileSystem", file.report().flatMap(PathReport::mount).map(Mount::fileSystem).orElse(null));
        fields.put("device", file.device());
        Double rate = explanation.estimate().devices().get(file.device());
        fields.put("coldBytesPerSecond", rate == null ? null : Math.round(rate));
        fields.put("whyColdUnknown", explanation.estimate().silent().get(file.device()));
        fields.put("ioPath", file.ioPath(explanation.direct()));
        fields.put("reason", file.reason(explanation.direct()));
        fields.put("whyNotLibcufile", file.report().flatMap(PathReport::obstacle).orElse(null));
        return fields;
    }

    private static Map<String, @Nullable Object> rank(Explanation.Rank rank) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("rank", rank.rank());
        fields.put("target", rank.target().toString());
        fields.put("bytes", rank.bytes());
        fields.put("availableBytes", rank.availableBytes());
        return fields;
    }

    private static @Nullable Double orNull(OptionalDouble value) {
        return value.isPresent() ? (Double) value.getAsDouble() : null;
    }
}
