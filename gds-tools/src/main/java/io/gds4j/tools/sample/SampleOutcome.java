package io.gds4j.tools.sample;

import io.gds4j.samples.SampleResult;
import io.gds4j.samples.Samples.Named;
import io.gds4j.tools.terminal.ErrorReport;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Outcome of a sample.
 *
 * @param sample the sample
 * @param lines lines that it printed
 * @param counted statistics of its driver, under its name; empty without {@code --stats}
 * @param result its result; null if it failed
 * @param failure its failure; null if it succeeded
 */
record SampleOutcome(
        Named sample,
        List<String> lines,
        Map<String, @Nullable Object> counted,
        @Nullable SampleResult result,
        @Nullable ErrorReport failure) {
    SampleOutcome {
        lines = List.copyOf(lines);
    }

    boolean verified() {
        return result != null && result.verified();
    }
}
