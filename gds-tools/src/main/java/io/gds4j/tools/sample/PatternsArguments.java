package io.gds4j.tools.sample;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What {@code gds patterns} was asked for.
 *
 * @param patterns numbers of the patterns
 * @param size bytes that each run reads
 * @param ioSizes bytes of a request, one point of the chart each
 * @param rounds runs of each point; the median counts
 * @param options of the samples besides, names and values in turn
 * @param dir folder for files, null for the default
 * @param from result of an earlier run to show instead of measuring, null to measure
 * @param output name of the chart, null for none
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
