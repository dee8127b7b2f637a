package io.gds4j.tools.plot;

import java.nio.file.Path;
import java.util.List;

/**
 * Arguments of {@code gds plot}.
 *
 * @param results results to draw
 * @param output file of the chart; the name ends in .svg or .png
 * @param title title above the charts; empty for none
 */
public record PlotArguments(List<PlottedFile> results, Path output, String title) {
    public PlotArguments {
        results = List.copyOf(results);
    }
}
