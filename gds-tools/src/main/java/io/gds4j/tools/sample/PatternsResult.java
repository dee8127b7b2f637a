package io.gds4j.tools.sample;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.gds4j.samples.NamedSample;
import io.gds4j.samples.Samples;
import io.gds4j.tools.plot.LineChart;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.InputFile;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * What {@code gds patterns} measured, as it prints, draws and writes it, and reads it back.
 *
 * @param bytes that each run moved at most
 * @param rounds runs of each point
 * @param ioPaths ways that the bytes went
 * @param verified whether all bytes were right
 * @param points by pattern, then by size
 */
record PatternsResult(long bytes, int rounds, List<String> ioPaths, boolean verified, List<Point> points) {

    private static final int MOST_BYTES = 64 << 20;
    private static final String SCHEMA = "gds4j.patterns/";
    private static final double MICROS = 1e6;
    private static final double GIGA = 1e9;

    /**
     * A pattern at a size of requests.
     *
     * @param name of the pattern's sample
     * @param ioSize bytes of a request
     * @param bytesPerSecond of the median run
     * @param seconds of all runs
     */
    record Point(String name, long ioSize, double bytesPerSecond, List<Double> seconds) {
        Point {
            seconds = List.copyOf(seconds);
        }

        /** Time of a request with all that its turn of the loop does. */
        double micros() {
            return ioSize / bytesPerSecond * MICROS;
        }
    }

    PatternsResult {
        ioPaths = List.copyOf(ioPaths);
        points = List.copyOf(points);
    }

    /**
     * Reads what {@code gds patterns --json} printed.
     *
     * @throws CommandFailure with status 3 for what is no such file
     */
    static PatternsResult read(Path file) throws IOException {
        JsonNode object;
        try {
            object = new ObjectMapper().readTree(InputFile.bytes(file, MOST_BYTES, "a result of gds patterns --json"));
        } catch (JsonProcessingException e) {
            throw wrong(file, "is no JSON: " + e.getOriginalMessage());
        }
        if (!object.path("schema").asText().startsWith(SCHEMA) || !object.path("results").isArray()) {
            throw wrong(file, "is not what gds patterns --json prints");
        }
        List<Point> points = new ArrayList<>();
        for (JsonNode point : object.path("results")) {
            List<Double> seconds = new ArrayList<>();
            point.path("seconds").forEach(time -> seconds.add(time.asDouble()));
            points.add(new Point(
                    point.path("name").asText(), point.path("ioSize").asLong(), point.path("bytesPerSecond").asDouble(),
                    seconds));
            if (points.getLast().ioSize() < 1 || !(points.getLast().bytesPerSecond() > 0)) {
                throw wrong(file, "has a result without size or throughput");
            }
        }
        List<String> paths = new ArrayList<>();
        object.path("ioPaths").forEach(path -> paths.add(path.asText()));
        return new PatternsResult(
                object.path("bytes").asLong(), object.path("rounds").asInt(), paths,
                object.path("verified").asBoolean(), points);
    }

    private static CommandFailure wrong(Path file, String what) {
        return CommandFailure.badInput(file.toString(), file + ": " + what);
    }

    private static String label(String name) {
        String summary = Samples.all().stream().filter(sample -> sample.name().equals(name)).findFirst()
                .map(NamedSample::summary).orElse("unknown");
        return "%s: %s".formatted(name.replace('-', ' '), summary);
    }

    private List<LineChart.Line> lines(ToDoubleFunction<Point> value) {
        Map<String, SortedMap<Long, Double>> lines = new LinkedHashMap<>();
        for (Point point : points) {
            lines.computeIfAbsent(label(point.name()), name -> new TreeMap<>())
                    .put(point.ioSize(), value.applyAsDouble(point));
        }
        return lines.entrySet().stream().map(line -> new LineChart.Line(line.getKey(), line.getValue())).toList();
    }

    LineChart chart() {
        String title = "%s by %s, median of %d".formatted(Units.bytes(bytes), String.join(", ", ioPaths), rounds);
        return new LineChart(title, List.of(
                new LineChart.Panel("Throughput", "GB/s", false, lines(point -> point.bytesPerSecond() / GIGA)),
                new LineChart.Panel(
                        "Time of a request with all that its turn of the loop does", "µs", true,
                        lines(Point::micros))));
    }

    List<String> table() {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("pattern", "request", "GB/s", "µs a request"));
        for (Point point : points) {
            rows.add(List.of(
                    label(point.name()), Units.bytes(point.ioSize()),
                    String.format(Locale.ROOT, "%.2f", point.bytesPerSecond() / GIGA),
                    String.format(Locale.ROOT, "%.1f", point.micros())));
        }
        List<String> lines = new ArrayList<>(Text.table(rows, false, true, true, true));
        lines.add("  by %s, median of %d, %s".formatted(
                String.join(", ", ioPaths), rounds, verified ? "verified" : "BYTES DIFFER"));
        return lines;
    }

    Map<String, @Nullable Object> fields() {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("bytes", bytes);
        fields.put("rounds", rounds);
        fields.put("ioPaths", ioPaths);
        fields.put("verified", verified);
        List<Map<String, @Nullable Object>> all = new ArrayList<>();
        for (Point point : points) {
            Map<String, @Nullable Object> one = new LinkedHashMap<>();
            one.put("name", point.name());
            one.put("ioSize", point.ioSize());
            one.put("bytesPerSecond", point.bytesPerSecond());
            one.put("microsPerRequest", point.micros());
            one.put("seconds", point.seconds());
            all.add(one);
        }
        fields.put("results", all);
        return fields;
    }
}
