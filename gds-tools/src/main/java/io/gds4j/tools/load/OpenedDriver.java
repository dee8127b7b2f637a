package io.gds4j.tools.load;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.spi.Availability;
import io.gds4j.spi.CuFileBackendProvider;
import io.gds4j.tools.stats.RunStatistics;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.OutputMode;
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

    /** Opens with the configuration that these environment variables give; counts if the mode says so. */
    public static OpenedDriver open(String backend, Map<String, String> environment, OutputMode mode) {
        return open(backend, environment, mode, builder -> {
            // nothing beside
        });
    }

    /** The same with settings of the command's own. */
    public static OpenedDriver open(
            String backend,
            Map<String, String> environment,
            OutputMode mode,
            Consumer<CuFileConfig.Builder> settings) {
        long start = System.nanoTime();
        CuFileConfig.Builder builder = CuFileConfig.load(environment).toBuilder();
        settings.accept(builder);
        CuFileDriver driver = CuFileDriver.open(builder.build(), backend);
        OpenedDriver opened = new OpenedDriver(driver, (System.nanoTime() - start) / NANOS);
        if (mode.statistics()) {
            RunStatistics.start(driver);
        }
        return opened;
    }

    /**
     * Says at once, before files are made for it, that a backend cannot serve here.
     *
     * @param backend {@code auto} or a name
     * @throws CommandFailure with status 4 and what to do about it
     */
    public static void require(String backend, Map<String, String> environment) {
        CuFileConfig config = CuFileConfig.load(environment);
        for (CuFileBackendProvider provider : CuFileDriver.providers()) {
            if (provider.name().equals(backend)
                    && provider.probe(config) instanceof Availability.Unavailable(String reason, String remedy)) {
                // Where something was looked for is many folders; gds check -v lists them.
                throw CommandFailure.device("NO_BACKEND", "%s is not available: %s; %s".formatted(
                        backend, reason.replaceFirst(", looked in .*", ""), remedy));
            }
        }
    }

    @Override
    public void close() {
        driver.close();
    }
}
