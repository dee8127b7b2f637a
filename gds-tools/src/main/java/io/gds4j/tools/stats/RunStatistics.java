package io.gds4j.tools.stats;

import io.gds4j.CuFileDriver;
import io.gds4j.tools.terminal.Output;
import java.util.List;
import java.util.Map;
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

    /** Adds the field {@code stats} to a command's object. */
    public static void add(Map<String, @Nullable Object> object, CuFileDriver driver, Output output) {
        if (output.statistics()) {
            object.put("stats", object(COMMAND, driver));
        }
    }

    /** Returns the statistics as a JSON object. */
    public static Map<String, @Nullable Object> object(String session, CuFileDriver driver) {
        return StatsRun.object(SessionStatistics.of(session, driver));
    }

    /** Returns an empty line and the statistics as gds_stats prints them; no lines without {@code --stats}. */
    public static List<String> lines(CuFileDriver driver, Output output) {
        if (!output.statistics()) {
            return List.of();
        }
        return lines(COMMAND, driver);
    }

    /** Returns the same for a named session. */
    public static List<String> lines(String session, CuFileDriver driver) {
        List<String> lines = StatsText.lines(SessionStatistics.of(session, driver));
        lines.addFirst("");
        return lines;
    }
}
