package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.gds4j.tools.terminal.Terminal;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/** One run of the command: exit status and both streams. */
public record GdsRun(int status, String out, String err) {

    private static final ObjectMapper STRICT =
            new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

    /** Runs in this JVM without a terminal. */
    public static GdsRun gds(String... args) {
        return gds(Map.of(), () -> false, args);
    }

    /** A terminal query that answers no. Before the {@code number}th answer it runs an action. */
    static BooleanSupplier onQuestion(int number, Runnable action) {
        AtomicInteger asked = new AtomicInteger();
        return () -> {
            if (asked.incrementAndGet() == number) {
                action.run();
            }
            return false;
        };
    }

    /** Runs in this JVM. */
    static GdsRun gds(Map<String, String> environment, BooleanSupplier terminal, String... args) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int status = GdsCommand.run(
                new Terminal(
                        new PrintStream(out, false, StandardCharsets.UTF_8),
                        new PrintStream(err, true, StandardCharsets.UTF_8),
                        environment,
                        terminal,
                        () -> false),
                args);
        return new GdsRun(status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    /** Runs with standard output on a terminal. */
    static GdsRun onTerminal(Map<String, String> environment, String... args) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        int status = GdsCommand.run(
                new Terminal(
                        new PrintStream(out, false, StandardCharsets.UTF_8),
                        new PrintStream(err, true, StandardCharsets.UTF_8), environment, () -> false, () -> true),
                args);
        return new GdsRun(status, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    /** Parses standard output, which must be exactly one line with one JSON object that fits its schema. */
    JsonNode json() {
        assertThat(out).endsWith("\n");
        assertThat(out.lines()).hasSize(1);
        try {
            JsonNode node = STRICT.readTree(out);
            assertThat(node.isObject()).isTrue();
            assertThat(node.fieldNames().next()).isEqualTo("schema");
            OutputSchemas.check(node);
            return node;
        } catch (IOException e) {
            throw new UncheckedIOException("not JSON: " + out, e);
        }
    }

    /** Returns the digests in a report of {@code gds load --digest}, by the names of the tensors. */
    static Map<String, String> digests(JsonNode report) {
        Map<String, String> digests = new TreeMap<>();
        report.get("tensorList").forEach(
                tensor -> digests.put(tensor.get("name").asText(), tensor.get("sha256").asText()));
        return digests;
    }

    /** Returns standard error, which must be a single line. */
    String errorLine() {
        List<String> lines = err.lines().toList();
        assertThat(lines).as("standard error").hasSize(1);
        return lines.getFirst();
    }
}
