package io.gds4j.diagnosis;

import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The machine as this process sees it.
 *
 * @since 0.1
 */
public final class Platform {
    private final Parts parts;

    /**
     * Sets the parts.
     *
     * @param kernel as {@link #kernel}
     * @param architecture as {@link #architecture}
     * @param cpus as {@link #cpus}
     * @param memoryBytes as {@link #memoryBytes}
     * @param availableMemoryBytes as {@link #availableMemoryBytes}
     * @param jdk as {@link #jdk}
     * @param jdkVendor as {@link #jdkVendor}
     * @param jdkHome as {@link #jdkHome}
     */
    public Platform(
            String kernel,
            String architecture,
            int cpus,
            OptionalLong memoryBytes,
            OptionalLong availableMemoryBytes,
            String jdk,
            String jdkVendor,
            String jdkHome) {
        parts = new Parts(kernel, architecture, cpus, memoryBytes, availableMemoryBytes, jdk, jdkVendor, jdkHome);
    }

    /** {@return name and release of the operating system} */
    public String kernel() {
        return parts.kernel;
    }

    /** {@return CPU architecture, as Java names it} */
    public String architecture() {
        return parts.architecture;
    }

    /** {@return number of processors that this process can use} */
    public int cpus() {
        return parts.cpus;
    }

    /** {@return total memory in bytes; empty if unknown} */
    public OptionalLong memoryBytes() {
        return parts.memoryBytes;
    }

    /**
     * {@return memory in bytes that this process can allocate: the kernel's estimate, or the room in its control group; empty if
     * unknown}
     */
    public OptionalLong availableMemoryBytes() {
        return parts.availableMemoryBytes;
    }

    /** {@return version of the Java runtime} */
    public String jdk() {
        return parts.jdk;
    }

    /** {@return vendor of the Java runtime} */
    public String jdkVendor() {
        return parts.jdkVendor;
    }

    /** {@return folder of the Java runtime} */
    public String jdkHome() {
        return parts.jdkHome;
    }

    /**
     * Describes the platform by what the JVM knows of it.
     *
     * @param memoryBytes total memory in bytes
     * @param availableMemoryBytes memory in bytes that this process can allocate
     * @return the platform
     */
    public static Platform ofJvm(OptionalLong memoryBytes, OptionalLong availableMemoryBytes) {
        return new Platform(
                System.getProperty("os.name") + " " + System.getProperty("os.version"),
                System.getProperty("os.arch"),
                Runtime.getRuntime().availableProcessors(),
                memoryBytes,
                availableMemoryBytes,
                System.getProperty("java.runtime.version"),
                System.getProperty("java.vendor"),
                System.getProperty("java.home"));
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Platform that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return "Platform[kernel=" + parts.kernel + ", architecture=" + parts.architecture + ", cpus=" + parts.cpus
                + ", jdk=" + parts.jdk + ']';
    }

    private record Parts(String kernel, String architecture, int cpus, OptionalLong memoryBytes,
            OptionalLong availableMemoryBytes, String jdk, String jdkVendor, String jdkHome) {}
}
