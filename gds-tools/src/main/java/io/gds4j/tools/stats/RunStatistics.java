package io.gds4j.tools.stats;

import io.gds4j.CuFileDriver;
import io.gds4j.tools.terminal.Manner;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a command has counted of itself, where {@code --stats} asks for it. */
public final class RunStatistics {
    private static final int LEVEL = 3;

    private RunStatistics() {
    }

    /** Counts from now on. */
    public static void start(CuFileDriver driver) {
        driver.statistics().setLevel(LEVEL);
        driver.statistics().start();
    }

    /** Adds the field {@code stats} to a command's object. */
    public static void add(Map<String, @Nullable Object> object, CuFileDriver driver, Manner manner) {
        if (manner.statistics()) {
            object.put("stats", StatsRun.object(SessionStatistics.of(driver)));
        }
    }

    /** The blocks of gds_stats, after an empty line; none if they are not asked for. */
    public static List<String> lines(CuFileDriver driver, Manner manner) {
        if (!manner.statistics()) {
            return List.of();
        }
        List<String> lines = StatsText.lines(SessionStatistics.of(driver));
        lines.addFirst("");
        return lines;
    }
}
