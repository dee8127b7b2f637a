package io.gds4j.tools.plot;

import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs {@code gds plot}. */
public final class PlotRun {
    private PlotRun() {
    }

    /**
     * Draws the chart and prints the result.
     */
    public static ExitStatus run(PlotArguments arguments, Output output)
            throws IOException {
        Path chart = arguments.output();
        boolean svg = ChartFile.isSvg(chart);
        List<ResultFile> results = new ArrayList<>();
        for (PlottedFile file : arguments.results()) {
            results.add(ResultFile.read(file));
        }
        long bytes = ChartFile.write(chart, () -> Chart.of(results, arguments.title()));
        output.print(object -> {
            object.put("file", chart.toString());
            object.put("format", svg ? "svg" : "png");
            object.put("bytes", bytes);
            object.put("series", results.stream().map(ResultFile::label).toList());
            object.put("points", results.stream().mapToInt(result -> result.measurements().size()).sum());
        }, () -> List.of("%s: %s of %s".formatted(
                chart, svg ? "SVG" : "PNG", Units.count(results.size(), "result"))));
        return ExitStatus.DONE;
    }
}
