package io.gds4j.tools.sample;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Arguments of {@code gds patterns}.
 *
 * @param patterns numbers of the patterns
 * @param size bytes that each run moves
 * @param ioSizes request sizes in bytes, one per point of the chart
 * @param rounds runs per point, which reports their median
 * @param options further options of the samples, alternating names and values
 * @param dir folder for files, null for the default
 * @param from result of an earlier run to show; null to measure
 * @param output file of the chart, null for none
 */
public record PatternsArguments(
        List<Integer> patterns,
        long size,
        List<Long> ioSizes,
        int rounds,
        List<String> options,
        @Nullable Path dir,
        @Nullable Path from,
        @Nullable Path output) {
    public PatternsArguments {
        patterns = List.copyOf(patterns);
        ioSizes = List.copyOf(ioSizes);
        options = List.copyOf(options);
    }
}
