package io.gds4j.diagnosis;

import java.util.OptionalLong;

/** The parts of a {@link Platform}. */
record PlatformParts(String kernel, String architecture, int cpus, OptionalLong memoryBytes,
        OptionalLong availableMemoryBytes, String jdk, String jdkVendor, String jdkHome) implements Platform {
    @Override
    public String toString() {
        return "Platform[kernel=" + kernel + ", architecture=" + architecture + ", cpus=" + cpus
                + ", jdk=" + jdk + ']';
    }
}
