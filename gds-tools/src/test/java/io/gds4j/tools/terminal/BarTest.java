package io.gds4j.tools.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Output of a progress bar on the terminal. */
class BarTest {
    private static final int COLUMNS = 60;
    /** Number of bars: the drawing thread rarely draws for the first time during close. */
    private static final int BARS = 200;

    @Test
    void barIsErasedHoweverSoonItEnds() {
        for (int i = 0; i < BARS; i++) {
            ByteArrayOutputStream seen = new ByteArrayOutputStream();
            try (PrintStream err = new PrintStream(seen, true, StandardCharsets.UTF_8)) {
                Terminal terminal = new Terminal(err, err, Map.of("COLUMNS", "" + COLUMNS), () -> true, () -> false);
                try (Bar bar = new Bar(terminal, "loading", 1000)) {
                    bar.advanceTo(1000);
                }
            }
            String[] lines = seen.toString(StandardCharsets.UTF_8).split("\r");
            assertThat(lines).as("bar %d", i).anyMatch(line -> line.contains("loading"));
            assertThat(lines[lines.length - 1]).as("bar %d", i).isBlank().hasSizeGreaterThanOrEqualTo(COLUMNS - 3);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {40, 60, 80, 160})
    void figuresFitTheTerminal(int columns) {
        ByteArrayOutputStream seen = new ByteArrayOutputStream();
        PrintStream err = new PrintStream(seen, true, StandardCharsets.UTF_8);
        Terminal terminal = new Terminal(err, err, Map.of("COLUMNS", "" + columns), () -> true, () -> false);

        String line =
                new ProgressLine(terminal, "converting", List.of()).of("converting", 5L << 30, 9L << 30, 123_456_789);

        assertThat(line).hasSizeLessThan(columns).startsWith("converting ").endsWith(" 55%"
                + (columns > 80 ? "      5 GiB of 9 GiB     " : "") + " 123.5 MB/s  35 s left");
    }

    /** A line that wraps could not be erased, and a part of a figure would be another one. */
    @Test
    void eachLineFitsAndEachFigureIsWhole() {
        PrintStream err = new PrintStream(new ByteArrayOutputStream(), true, StandardCharsets.UTF_8);
        List<String> names =
                List.of("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                        "\ud83d\ude00".repeat(20), "模型".repeat(9) + "-00001-of-00002", "e\u0301".repeat(30));
        for (int columns = 13; columns <= 200; columns++) {
            Terminal terminal = new Terminal(err, err, Map.of("COLUMNS", "" + columns), () -> true, () -> false);
            ProgressLine lines = new ProgressLine(terminal, "loading", names);
            for (String name : names) {
                for (double rate : new double[]{0, 12.3e6, 1.2345e9, 123.4e9}) {
                    String line = lines.of(name, 1L << 30, 900L << 30, rate);

                    assertThat(Columns.of(line)).as(line).isLessThan(columns);
                    assertThat(line).matches(
                            "\\P{Cs}+ +[^%]*0%( +\\S+ GiB of 900 GiB)?( +[\\d.]+ [MG]B/s( +(\\d+ s|\\d+ min|\\d+ h \\d+ min)"
                                    + " left)?)?");
                }
            }
        }
    }

    @Test
    void barShowsTheSpeedAndTheTimeLeft() {
        ByteArrayOutputStream seen = new ByteArrayOutputStream();
        long total = 100L << 30;
        try (PrintStream err = new PrintStream(seen, true, StandardCharsets.UTF_8)) {
            Terminal terminal = new Terminal(err, err, Map.of("COLUMNS", "100"), () -> true, () -> false);
            try (Bar bar = new Bar(terminal, "loading", total)) {
                // The bar measures time itself: advance until it has drawn the message.
                for (long bytes = 1 << 20; !seen.toString(StandardCharsets.UTF_8).contains(" left"); bytes++) {
                    bar.advanceTo(bytes);
                    Thread.onSpinWait();
                }
            }
        }
        assertThat(seen.toString(StandardCharsets.UTF_8)).containsPattern("[MG]B/s  \\d+ (s|min|h \\d+ min) left")
                .contains(" of 100 GiB");
    }
}
