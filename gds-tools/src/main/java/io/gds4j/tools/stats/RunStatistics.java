package io.gds4j.tools.stats;

import io.gds4j.CuFileDriver;
import io.gds4j.tools.terminal.Output;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Statistics of a command itself, for {@code --stats}. */
public final class RunStatistics {
    private static final int LEVEL = 3;
    private static final String COMMAND = "of this command";

    private RunStatistics() {
    }

    /** Starts to collect statistics. */
    public static void start(CuFileDriver driver) {
        driver.statistics().setLevel(LEVEL);
        driver.statistics().start();
    }

    /** Prints the result of a command, and with {@code --stats} the statistics of its driver behind it. */
    public static void print(
            Output output, CuFileDriver driver, Consumer<Map<String, @Nullable Object>> fields,
            Supplier<List<String>> lines) {
        if (!output.statistics()) {
            output.print(fields, lines);
            return;
        }
        output.print(object -> {
            fields.accept(object);
            object.put("stats", object(COMMAND, driver));
        }, () -> {
            List<String> all = new ArrayList<>(lines.get());
            all.addAll(lines(COMMAND, driver));
            return all;
        });
    }

    /** Returns the statistics as a JSON object. */
    public static Map<String, @Nullable Object> object(String session, CuFileDriver driver) {
        return StatsRun.object(SessionStatistics.of(session, driver));
    }

    /** Returns an empty line and the statistics of a session as gds_stats prints them. */
    public static List<String> lines(String session, CuFileDriver driver) {
        List<String> lines = StatsText.lines(SessionStatistics.of(session, driver));
        lines.addFirst("");
        return lines;
    }
}
