package io.gds4j.tools.load;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.tools.stats.RunStatistics;
import io.gds4j.tools.terminal.Manner;
import java.util.Map;
import java.util.function.Consumer;

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
        return open(backend, environment, manner, builder -> {
            // nothing beside
        });
    }

    /** The same with settings of the command's own. */
    public static OpenedDriver open(
            String backend,
            Map<String, String> environment,
            Manner manner,
            Consumer<CuFileConfig.Builder> settings) {
        long start = System.nanoTime();
        CuFileConfig.Builder builder = CuFileConfig.load(environment).toBuilder();
        settings.accept(builder);
        CuFileDriver driver = CuFileDriver.open(builder.build(), backend);
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
