package io.gds4j.tools.plot;

import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** The chart of {@code gds plot}: throughput above, latency below, both by request size. */
final class Chart {
    private static final double GIGA = 1e9;

    private Chart() {
    }

    static LineChart of(List<ResultFile> results, String title) {
        List<LineChart.Line> throughput = new ArrayList<>();
        List<LineChart.Line> latency = new ArrayList<>();
        for (int i = 0; i < results.size(); i++) {
            ResultFile result = results.get(i);
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
}
