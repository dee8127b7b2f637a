package io.gds4j.tools.plot;

import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Json;
import io.gds4j.tools.terminal.OutputMode;
import io.gds4j.tools.terminal.Terminal;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Runs {@code gds plot}. */
public final class PlotRun {
    private PlotRun() {
    }

    /**
     * Draws the chart and prints the result.
     *
     * @param schema schema name of the JSON object
     */
    public static ExitStatus run(PlotArguments arguments, Terminal terminal, OutputMode mode, String schema)
            throws IOException {
        Path output = arguments.output();
        boolean svg = ChartFile.isSvg(output);
        List<ResultFile> results = new ArrayList<>();
        for (Path file : arguments.results()) {
            results.add(ResultFile.read(file));
        }
        long bytes = ChartFile.write(output, () -> Chart.of(results, arguments.title()));
        if (mode.json()) {
            Map<String, @Nullable Object> object = new LinkedHashMap<>();
            object.put("schema", schema);
            object.put("file", output.toString());
            object.put("format", svg ? "svg" : "png");
            object.put("bytes", bytes);
            object.put("series", results.stream().map(ResultFile::label).toList());
            object.put("points", results.stream().mapToInt(result -> result.measurements().size()).sum());
            terminal.out().println(Json.line(object));
        } else if (mode.table()) {
            terminal.out().println("%s: %s of %s".formatted(output, svg ? "SVG" : "PNG",
                    Units.count(results.size(), "result")));
        }
        return ExitStatus.DONE;
    }
}
