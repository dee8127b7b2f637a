package io.gds4j.tools.plot;

import java.nio.file.Path;
import java.util.List;

/**
 * What {@code gds plot} was asked for.
 *
 * @param results files that gds io --json wrote
 * @param output name of the chart, which ends in .svg or .png
 * @param title above the charts; empty for none
 */
public record PlotArguments(List<Path> results, Path output, String title) {
    public PlotArguments {
        results = List.copyOf(results);
    }
}
