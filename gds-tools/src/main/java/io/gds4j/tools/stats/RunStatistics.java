package io.gds4j.tools.stats;

import io.gds4j.CuFileDriver;
import io.gds4j.tools.terminal.OutputMode;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a command has counted of itself, where {@code --stats} asks for it. */
public final class RunStatistics {
    private static final int LEVEL = 3;
    private static final String COMMAND = "of this command";

    private RunStatistics() {
    }

    /** Counts from now on. */
    public static void start(CuFileDriver driver) {
        driver.statistics().setLevel(LEVEL);
        driver.statistics().start();
    }

    /** Adds the field {@code stats} to a command's object. */
    public static void add(Map<String, @Nullable Object> object, CuFileDriver driver, OutputMode mode) {
        if (mode.statistics()) {
            object.put("stats", object(COMMAND, driver));
        }
    }

    /** The counters as an object of JSON. */
    public static Map<String, @Nullable Object> object(String session, CuFileDriver driver) {
        return StatsRun.object(SessionStatistics.of(session, driver));
    }

    /** The blocks of gds_stats, after an empty line; none if they are not asked for. */
    public static List<String> lines(CuFileDriver driver, OutputMode mode) {
        if (!mode.statistics()) {
            return List.of();
        }
        return lines(COMMAND, driver);
    }

    /** The same of one session of several. */
    public static List<String> lines(String session, CuFileDriver driver) {
        List<String> lines = StatsText.lines(SessionStatistics.of(session, driver));
        lines.addFirst("");
        return lines;
    }
}
