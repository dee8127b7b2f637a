package io.gds4j.tools.load;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import java.util.Map;

/**
 * An open driver and the time that opening took, which no speed includes: a program opens it once.
 *
 * @param driver to be closed by the caller
 * @param seconds time of opening, with the configuration
 */
public record OpenedDriver(CuFileDriver driver, double seconds) implements AutoCloseable {
    private static final double NANOS = 1e9;

    /** Opens with the configuration that these environment variables give. */
    public static OpenedDriver open(String backend, Map<String, String> environment) {
        long start = System.nanoTime();
        CuFileDriver driver = CuFileDriver.open(CuFileConfig.load(environment), backend);
        return new OpenedDriver(driver, (System.nanoTime() - start) / NANOS);
    }

    @Override
    public void close() {
        driver.close();
    }
}
