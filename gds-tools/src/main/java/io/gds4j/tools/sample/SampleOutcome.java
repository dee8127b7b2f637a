package io.gds4j.tools.sample;

import io.gds4j.samples.NamedSample;
import io.gds4j.samples.SampleResult;
import io.gds4j.tools.terminal.ErrorReport;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What became of a sample.
 *
 * @param sample the sample
 * @param lines that it printed
 * @param counted its driver's counters, under its name; empty without {@code --stats}
 * @param result what it measured; null if it failed
 * @param failure what made it fail; null if it did not
 */
record SampleOutcome(
        NamedSample sample,
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
