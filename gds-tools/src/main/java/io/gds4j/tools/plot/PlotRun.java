package io.gds4j.tools.plot;

import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/**
 * One run of {@code gds plot}.
 *
 * @param results output files of gds io --json, with their labels
 * @param chart file of the chart; the name ends in .svg or .png
 * @param title title above the charts; empty for none
 * @param output where the result goes
 */
public record PlotRun(List<PlottedFile> results, Path chart, String title, Output output) {

    private static final double GIGA = 1e9;

    /** Copies the list. */
    public PlotRun {
        results = List.copyOf(results);
    }

    /** Draws the chart and prints the result. */
    public ExitStatus run() throws IOException {
        boolean svg = ChartFile.isSvg(chart);
        List<ResultFile> read = new ArrayList<>();
        for (PlottedFile file : results) {
            read.add(ResultFile.read(file));
        }
        long bytes = ChartFile.write(chart, () -> drawing(read));
        output.print(object -> {
            object.put("file", chart.toString());
            object.put("format", svg ? "svg" : "png");
            object.put("bytes", bytes);
            object.put("series", read.stream().map(ResultFile::label).toList());
            object.put("points", read.stream().mapToInt(result -> result.measurements().size()).sum());
        }, () -> List.of("%s: %s of %s".formatted(
                chart, svg ? "SVG" : "PNG", Units.count(read.size(), "result"))));
        return ExitStatus.DONE;
    }

    /** Returns the chart: throughput above, latency below, both by request size. */
    private LineChart drawing(List<ResultFile> read) {
        List<LineChart.Line> throughput = new ArrayList<>();
        List<LineChart.Line> latency = new ArrayList<>();
        for (int i = 0; i < read.size(); i++) {
            ResultFile result = read.get(i);
            throughput.add(line(result, "", i, false, point -> point.bytesPerSecond() / GIGA));
            latency.add(line(result, "p50 ", i, false, Measurement::p50Micros));
            latency.add(line(result, "p99 ", i, true, Measurement::p99Micros));
        }
        return new LineChart(title, List.of(
                new LineChart.Panel("Throughput", "GB/s", false, throughput),
                new LineChart.Panel(
                        "Latency, median (solid) and 99th percentile (dashed)", "µs", true, latency)));
    }

    private static LineChart.Line line(
            ResultFile result,
            String prefix,
            int colour,
            boolean dashed,
            ToDoubleFunction<Measurement> value) {
        List<LineChart.Point> points = result.measurements().stream()
                .map(point -> new LineChart.Point(point.ioSize(), value.applyAsDouble(point)))
                .toList();
        return new LineChart.Line(prefix + result.label(), colour, dashed, points);
    }

    /**
     * A result to draw.
     *
     * @param label label in the legend; empty for one that tells what was measured
     * @param file output of gds io --json or gds rdma --json
     */
    public record PlottedFile(Optional<String> label, Path file) {
    }
}
