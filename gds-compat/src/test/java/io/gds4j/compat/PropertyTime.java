package io.gds4j.compat;

import java.time.Duration;

/** The time that random tests take, shared by the file systems that they run on. */
final class PropertyTime {
    private static final String SECONDS = "gds4j.property.seconds";
    private static final int DEFAULT_SECONDS = 20;
    private static final int FILE_SYSTEMS = 5;

    private PropertyTime() {
    }

    /** One file system's part. */
    static Duration share() {
        return Duration.ofSeconds(Integer.getInteger(SECONDS, DEFAULT_SECONDS)).dividedBy(FILE_SYSTEMS);
    }
}
