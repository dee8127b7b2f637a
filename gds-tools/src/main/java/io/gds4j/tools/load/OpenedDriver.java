package io.gds4j.tools.load;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.tools.stats.RunStatistics;
import io.gds4j.tools.terminal.Manner;
import java.util.Map;

/**
 * An open driver and the time that opening took, which no speed includes: a program opens it once.
 *
 * @param driver to be closed by the caller
 * @param seconds time of opening, with the configuration
 */
public record OpenedDriver(CuFileDriver driver, double seconds) implements AutoCloseable {
    private static final double NANOS = 1e9;

    /** Opens with the configuration that these environment variables give; counts if the manner says so. */
    public static OpenedDriver open(String backend, Map<String, String> environment, Manner manner) {
        long start = System.nanoTime();
        CuFileDriver driver = CuFileDriver.open(CuFileConfig.load(environment), backend);
        OpenedDriver opened = new OpenedDriver(driver, (System.nanoTime() - start) / NANOS);
        if (manner.statistics()) {
            RunStatistics.start(driver);
        }
        return opened;
    }

    @Override
    public void close() {
        driver.close();
    }
}
