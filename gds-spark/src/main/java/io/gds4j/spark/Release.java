package io.gds4j.spark;

import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** The release of gds4j in this process, which must be the same in all processes of an application. */
final class Release {
    private static final String KEY = "gds4j.release";
    /** Stands for classes outside a jar, as in a build. */
    private static final String UNKNOWN = "without a version";

    private Release() {
    }

    /** Returns what the driver tells its executors. */
    static Map<String, String> forExecutors() {
        return Map.of(KEY, own());
    }

    /**
     * Compares this executor's release with the driver's one.
     *
     * @param fromDriver what {@link #forExecutors} returned
     * @return what is wrong; empty if the releases are the same
     */
    static Optional<String> conflict(Map<String, String> fromDriver) {
        String driver = Objects.requireNonNullElse(fromDriver.get(KEY), UNKNOWN);
        return driver.equals(own())
                ? Optional.empty()
                : Optional.of("has gds4j %s and the driver has gds4j %s: give all of them the same jars"
                        .formatted(own(), driver));
    }

    private static String own() {
        return Objects.requireNonNullElse(GdsPlugin.class.getPackage().getImplementationVersion(), UNKNOWN);
    }
}
