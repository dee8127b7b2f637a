package io.gds4j.compat;

import java.time.Duration;

/** The length of the random operations; the file systems that they run on share it. */
final class PropertyTime {
    private static final String SECONDS = "gds4j.property.seconds";
    private static final int DEFAULT_SECONDS = 2;
    private static final int FILE_SYSTEMS = 5;

    private PropertyTime() {
    }

    /** Returns the length of the run on one file system. */
    static Duration share() {
        return Duration.ofSeconds(Integer.getInteger(SECONDS, DEFAULT_SECONDS)).dividedBy(FILE_SYSTEMS);
    }
}
