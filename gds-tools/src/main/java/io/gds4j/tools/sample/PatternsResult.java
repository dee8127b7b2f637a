package io.gds4j.tools.sample;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.gds4j.samples.Samples;
import io.gds4j.samples.Samples.Named;
import io.gds4j.tools.plot.LineChart;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Fields;
import io.gds4j.tools.terminal.InputFile;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Result of {@code gds patterns}, in the forms that it prints, draws and reads back.
 *
 * @param bytes largest number of bytes that a run moved
 * @param rounds runs per point
 * @param ioPaths I/O paths of the bytes
 * @param verified whether all bytes were correct
 * @param points points, ordered by pattern, then by size
 */
record PatternsResult(long bytes, int rounds, List<String> ioPaths, boolean verified, List<Point> points) {

    private static final int MAX_BYTES = 64 << 20;
    private static final String SCHEMA = "gds4j.patterns/";
    private static final double MICROS = 1e6;
    private static final double GIGA = 1e9;

    /**
     * A pattern at one request size.
     *
     * @param name name of the pattern's sample
     * @param ioSize request size, bytes
     * @param bytesPerSecond throughput of the median run
     * @param seconds times of all runs
     * @param ioPaths bytes of all runs by I/O path, with those that prepare a run; empty in results of versions that did not count them
     */
    record Point(
            String name, long ioSize, double bytesPerSecond, List<Double> seconds, SortedMap<String, Long> ioPaths) {
        Point {
            seconds = List.copyOf(seconds);
            ioPaths = Collections.unmodifiableSortedMap(new TreeMap<>(ioPaths));
        }

        /** Time of one iteration of the loop, which includes a request. */
        double micros() {
            return ioSize / bytesPerSecond * MICROS;
        }
    }

    PatternsResult {
        ioPaths = List.copyOf(ioPaths);
        points = List.copyOf(points);
    }

    /**
     * Reads the output of {@code gds patterns --json}.
     *
     * @throws CommandFailure with status 3 if it is not such a file
     */
    static PatternsResult read(Path file) throws IOException {
        JsonNode object;
        try {
            object = new ObjectMapper().readTree(InputFile.bytes(file, MAX_BYTES, "a result of gds patterns --json"));
        } catch (JsonProcessingException e) {
            throw wrong(file, "is not JSON: " + e.getOriginalMessage());
        }
        if (!object.path("schema").asText().startsWith(SCHEMA) || !object.path("results").isArray()) {
            throw wrong(file, "is not output of gds patterns --json");
        }
        List<Point> points = new ArrayList<>();
        for (JsonNode point : object.path("results")) {
            List<Double> seconds = new ArrayList<>();
            point.path("seconds").forEach(time -> seconds.add(time.asDouble()));
            SortedMap<String, Long> moved = new TreeMap<>();
            point.path("ioPaths").properties().forEach(path -> moved.put(path.getKey(), path.getValue().asLong()));
            points.add(new Point(
                    point.path("name").asText(), point.path("ioSize").asLong(), point.path("bytesPerSecond").asDouble(),
                    seconds, moved));
            if (points.getLast().ioSize() < 1 || !(points.getLast().bytesPerSecond() > 0)) {
                throw wrong(file, "has a result without size or throughput");
            }
            if (moved.values().stream().anyMatch(count -> count < 0)) {
                throw wrong(file, "has a negative number of bytes");
            }
            if (!LineChart.shows(points.getLast().bytesPerSecond() / GIGA)
                    || !LineChart.shows(points.getLast().micros())) {
                throw wrong(file, "has a throughput that no machine has");
            }
        }
        if (points.isEmpty()) {
            throw wrong(file, "has no results");
        }
        if (object.path("bytes").asLong() < 0 || object.path("rounds").asInt() < 0) {
            throw wrong(file, "has a negative number of bytes or rounds");
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
        String summary = Samples.named(name).map(Named::summary).orElse("unknown");
        return "%s: %s".formatted(name.replace('-', ' '), summary);
    }

    private List<LineChart.Line> lines(ToDoubleFunction<Point> value) {
        Map<String, List<LineChart.Point>> lines = new LinkedHashMap<>();
        for (Point point : points) {
            lines.computeIfAbsent(label(point.name()), name -> new ArrayList<>())
                    .add(new LineChart.Point(point.ioSize(), value.applyAsDouble(point)));
        }
        List<LineChart.Line> drawn = new ArrayList<>();
        lines.forEach((label, line) -> {
            line.sort(Comparator.comparingLong(LineChart.Point::ioSize));
            drawn.add(new LineChart.Line(label, drawn.size(), false, line));
        });
        return drawn;
    }

    LineChart chart() {
        String title = "%s by %s, median of %s".formatted(Units.bytes(bytes), String.join(", ", ioPaths), rounds);
        return new LineChart(title, List.of(
                new LineChart.Panel("Throughput", "GB/s", false, lines(point -> point.bytesPerSecond() / GIGA)),
                new LineChart.Panel(
                        "Time of one loop iteration with its request", "µs", true,
                        lines(Point::micros))));
    }

    List<String> table() {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("pattern", "request", "GB/s", "µs/request"));
        for (Point point : points) {
            rows.add(List.of(
                    label(point.name()), Units.bytes(point.ioSize()),
                    String.format(Locale.ROOT, "%.2f", point.bytesPerSecond() / GIGA),
                    String.format(Locale.ROOT, "%.1f", point.micros())));
        }
        List<String> lines = new ArrayList<>(Text.table(rows, false, true, true, true));
        lines.add("  by %s, median of %s, %s".formatted(paths(), rounds, verified ? "verified" : "BYTES DIFFER"));
        return lines;
    }

    /** Returns the I/O paths, each with the bytes that it moved in all runs. */
    private String paths() {
        SortedMap<String, Long> moved = new TreeMap<>();
        points.forEach(point -> point.ioPaths().forEach((path, bytes) -> moved.merge(path, bytes, Long::sum)));
        return moved.isEmpty()
                ? String.join(", ", ioPaths)
                : moved.entrySet().stream()
                        .map(path -> path.getKey() + " (" + Units.bytes(path.getValue()) + ")")
                        .collect(Collectors.joining(", "));
    }

    Map<String, @Nullable Object> fields() {
        return Fields.of("bytes", bytes)
                .and("rounds", rounds)
                .and("ioPaths", ioPaths)
                .and("verified", verified)
                .and("results", points.stream().map(PatternsResult::fields).toList()).map();
    }

    private static Map<String, @Nullable Object> fields(Point point) {
        return Fields.of("name", point.name())
                .and("ioSize", point.ioSize())
                .and("bytesPerSecond", point.bytesPerSecond())
                .and("microsPerRequest", point.micros())
                .and("seconds", point.seconds())
                .and("ioPaths", point.ioPaths()).map();
    }
}
