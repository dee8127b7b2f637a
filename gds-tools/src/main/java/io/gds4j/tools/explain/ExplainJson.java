package io.gds4j.tools.explain;

import io.gds4j.diagnosis.Mount;
import io.gds4j.diagnosis.PathReport;
import io.gds4j.tools.check.CheckJson;
import io.gds4j.tools.terminal.Fields;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Converts an explanation to the fields of a JSON object. */
final class ExplainJson {
    private ExplainJson() {
    }

    static Map<String, @Nullable Object> of(Explanation explanation) {
        Estimate estimate = explanation.estimate();
        return Fields.of("path", explanation.path().toString())
                .and("format", explanation.format())
                .and("tensors", explanation.tensors())
                .and("bytes", explanation.bytes())
                .and("cachedBytes", estimate.cachedBytes())
                .and("nowSeconds", estimate.nowSeconds())
                .and("hotSeconds", estimate.hotSeconds())
                .and("coldSeconds", estimate.coldSeconds())
                .and("hotBytesPerSecond", estimate.hot().map(hot -> Math.round(hot.bytesPerSecond())))
                .and("hotMeasured", estimate.hot().map(hot -> "checkpoint"))
                .and("whyHotUnknown", estimate.obstacle().isEmpty() ? null : estimate.obstacle())
                .and("files", estimate.files().stream().map(file -> file(file, explanation)).toList())
                .and("ranks", explanation.ranks().stream().map(ExplainJson::rank).toList())
                .and("advice", explanation.advice().stream().map(CheckJson::advice).toList()).map();
    }

    private static Map<String, @Nullable Object> file(ReadFile file, Explanation explanation) {
        Double rate = explanation.estimate().devices().get(file.device());
        return Fields.of("file", file.path().toString())
                .and("bytes", file.bytes())
                .and("cachedBytes", file.cachedBytes())
                .and("fileSystem", file.report().flatMap(PathReport::mount).map(Mount::fileSystem))
                .and("device", file.device())
                .and("coldBytesPerSecond", rate == null ? null : Math.round(rate))
                .and("whyColdUnknown", explanation.estimate().silent().get(file.device()))
                .and("ioPath", file.ioPath(explanation.direct()))
                .and("reason", file.reason(explanation.direct()))
                .and("whyNotLibcufile", file.report().flatMap(PathReport::obstacle)).map();
    }

    private static Map<String, @Nullable Object> rank(Explanation.Rank rank) {
        return Fields.of("rank", rank.rank())
                .and("target", rank.target().toString())
                .and("bytes", rank.bytes())
                .and("availableBytes", rank.availableBytes()).map();
    }
}
