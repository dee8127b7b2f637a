package io.gds4j.tools.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Lines of progress for several files. */
class FileBarsTest {
    private static final long SIZE = 1L << 30;

    /** Returns the frames that a load of two files draws; the last is what is left. */
    private static List<String> frames(int columns, Map<String, Long> files) {
        ByteArrayOutputStream seen = new ByteArrayOutputStream();
        try (PrintStream err = new PrintStream(seen, true, StandardCharsets.UTF_8)) {
            Terminal terminal =
                    new Terminal(err, err, Map.of("COLUMNS", "" + columns, "TERM", "xterm"), () -> true, () -> false);
            try (Progress progress = new Output(terminal, "test", false, false, true).start("loading", files)) {
                // The lines measure time themselves: advance until they have been drawn twice.
                for (long bytes = 1; seen.toString(StandardCharsets.UTF_8).split("loading").length < 3; bytes++) {
                    progress.advanceTo(bytes, bytes % 2 == 0 ? "1.gguf" : "2.gguf");
                    Thread.onSpinWait();
                }
            }
        }
        return List.of(seen.toString(StandardCharsets.UTF_8).split("\u001b\\[J", -1));
    }

    @ParameterizedTest
    @ValueSource(ints = {60, 100, 160})
    void eachFileHasALineWithRateAndTimeLeft(int columns) {
        List<String> frames = frames(columns, new TreeMap<>(Map.of("1.gguf", SIZE, "2.gguf", SIZE)));

        String drawn = frames.get(frames.size() - 2);
        assertThat(drawn.lines().filter(line -> !line.startsWith("\u001b"))).hasSizeGreaterThanOrEqualTo(2)
                .allMatch(line -> line.length() < columns)
                .anyMatch(line -> line.matches("1\\.gguf .*▏ +\\d+% .*\\S+ [kMG]?B/s  \\d+ (s|min|h.*) left"))
                .anyMatch(line -> line.matches("loading .*% .*B/s .* left"));
        assertThat(frames.getLast()).as("nothing is left").isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"60, model-00003-of-000…, Llama-3-70B-00003-…",
            "160, model-00003-of-00007.safetensors, Llama-3-70B-00003-of-00007.gguf"})
    void numberOfAShardIsInSight(int columns, String safetensors, String gguf) {
        PrintStream err = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
        Terminal terminal = new Terminal(err, err, Map.of("COLUMNS", "" + columns), () -> true, () -> false);
        for (String shown : List.of(safetensors, gguf)) {
            String pattern =
                    shown.startsWith("m") ? "model-%05d-of-00007.safetensors" : "Llama-3-70B-%05d-of-00007.gguf";
            List<String> names = IntStream.range(1, 8).mapToObj(pattern::formatted).toList();

            String line = new ProgressLine(terminal, "loading", names).of(names.get(2), SIZE, SIZE, 0);

            assertThat(line).startsWith(shown + " ");
        }
    }

    /** A request may read a whole file. */
    @Test
    void filesThatAreCompleteStayInSight() {
        List<String> names = IntStream.range(10, 30).mapToObj(i -> i + ".gguf").toList();
        ByteArrayOutputStream seen = new ByteArrayOutputStream();
        try (PrintStream err = new PrintStream(seen, true, StandardCharsets.UTF_8)) {
            Terminal terminal =
                    new Terminal(err, err, Map.of("COLUMNS", "100", "TERM", "xterm"), () -> true, () -> false);
            Map<String, Long> files = new TreeMap<>();
            names.forEach(name -> files.put(name, SIZE));
            try (Progress progress = new Output(terminal, "test", false, false, true).start("loading", files)) {
                for (int i = 0; i < names.size() - 1; i++) {
                    progress.advanceTo((i + 1) * SIZE, names.get(i));
                }
                while (!seen.toString(StandardCharsets.UTF_8).contains("loading")) {
                    progress.advanceTo(19 * SIZE + 1, "29.gguf");
                }
            }
        }
        String frame = seen.toString(StandardCharsets.UTF_8).split("\u001b", -1)[0];
        assertThat(frame.lines().map(line -> line.substring(0, 2)))
                .containsExactly("22", "23", "24", "25", "26", "27", "28", "29", "lo");
        assertThat(frame.lines()).anyMatch(line -> line.matches("28\\.gguf +█+▏ 100% +1 GiB of 1 GiB"));
    }
}
