package io.gds4j.tools.plot;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.gds4j.tools.plot.PlotRun.PlottedFile;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.InputFile;
import io.gds4j.tools.terminal.Text;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * An output file of {@code gds io --json} or {@code gds rdma --json}.
 *
 * @param label label in the legend
 * @param measurements measurements, smallest request size first
 */
record ResultFile(String label, List<Measurement> measurements) {
    private static final String SCHEMA = "gds4j.io/";
    private static final String RDMA_SCHEMA = "gds4j.rdma/";
    private static final String CALL = "GPUD";
    private static final int MAX_BYTES = 64 << 20;

    ResultFile {
        measurements = List.copyOf(measurements);
    }

    /**
     * Reads a file.
     *
     * @throws CommandFailure with status 3 if it is not such a file
     */
    static ResultFile read(PlottedFile plotted) throws IOException {
        ResultFile result = read(plotted.file());
        // XML has no control characters, not even escaped ones
        return plotted.label().map(label -> new ResultFile(Text.name(label), result.measurements())).orElse(result);
    }

    private static ResultFile read(Path file) throws IOException {
        JsonNode object;
        try {
            object = new ObjectMapper()
                    .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                    .readTree(InputFile.bytes(file, MAX_BYTES, "a result of gds io --json"));
        } catch (JsonProcessingException e) {
            long line = e.getLocation() == null ? 1 : e.getLocation().getLineNr();
            throw wrong(file, "line " + line + " is not JSON: " + e.getOriginalMessage());
        }
        boolean rdma = object.path("schema").asText().startsWith(RDMA_SCHEMA);
        if (!rdma && !object.path("schema").asText().startsWith(SCHEMA)) {
            throw wrong(file, "is not output of gds io --json: no schema " + SCHEMA + "N");
        }
        if (object.has("error")) {
            throw wrong(file, "is the output of a failed run: " + object.path("error").path("message").asText());
        }
        List<Measurement> points = new ArrayList<>();
        for (JsonNode result : object.path("results")) {
            points.add(point(file, result, rdma ? "size" : "ioSize"));
        }
        if (points.isEmpty()) {
            throw wrong(file, "has no results");
        }
        points.sort(Comparator.comparingLong(Measurement::ioSize));
        return new ResultFile(rdma ? rdmaLabel(file, object) : label(file, object), points);
    }

    private static Measurement point(Path file, JsonNode result, String size) {
        JsonNode latency = result.path("latencyMicros");
        Measurement point = new Measurement(
                result.path(size).asLong(),
                result.path("bytesPerSecond").asDouble(),
                latency.path("p50").asDouble(),
                latency.path("p99").asDouble());
        if (point.ioSize() < 1 || !(point.bytesPerSecond() > 0) || !(point.p50Micros() > 0)
                || !(point.p99Micros() > 0)) {
            throw wrong(file, "has a result without size, throughput or latency, as jobs of different sizes produce");
        }
        if (!LineChart.shows(point.bytesPerSecond() / 1e9) || !LineChart.shows(point.p50Micros())
                || !LineChart.shows(point.p99Micros())) {
            throw wrong(file, "has a throughput or latency that no machine has");
        }
        return point;
    }

    private static String label(Path file, JsonNode object) {
        Path name = file.getFileName();
        String transfer = object.path("xferType").asText();
        String target = object.path("target").asText();
        String label = "%s: %s %s, %s thread%s, %s".formatted(
                name == null ? file : name,
                object.path("ioType").asText(),
                // GPUD is one call of the API, whatever the target is
                transfer.equals(CALL) ? target : transfer + ", " + target,
                object.path("threads").asInt(),
                object.path("threads").asInt() == 1 ? "" : "s",
                object.path("backend").asText());
        // XML has no control characters, not even escaped ones
        return Text.oneLine(label);
    }

    private static String rdmaLabel(Path file, JsonNode object) {
        Path name = file.getFileName();
        return Text.oneLine("%s: RDMA %s, %s, %s queue pair%s".formatted(
                name == null ? file : name,
                object.path("operation").asText(),
                object.path("memory").asText(),
                object.path("queuePairs").asInt(),
                object.path("queuePairs").asInt() == 1 ? "" : "s"));
    }

    private static CommandFailure wrong(Path file, String what) {
        return CommandFailure.badInput(file.toString(), file + ": " + what);
    }
}
