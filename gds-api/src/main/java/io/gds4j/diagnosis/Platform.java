package io.gds4j.diagnosis;

import java.util.Objects;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The machine as this process sees it.
 *
 * @since 0.1
 */
public final class Platform {
    private final String kernel;
    private final String architecture;
    private final int cpus;
    private final OptionalLong memoryBytes;
    private final OptionalLong availableMemoryBytes;
    private final String jdk;
    private final String jdkVendor;
    private final String jdkHome;

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
        this.kernel = kernel;
        this.architecture = architecture;
        this.cpus = cpus;
        this.memoryBytes = memoryBytes;
        this.availableMemoryBytes = availableMemoryBytes;
        this.jdk = jdk;
        this.jdkVendor = jdkVendor;
        this.jdkHome = jdkHome;
    }

    /** {@return name and release of the operating system} */
    public String kernel() {
        return kernel;
    }

    /** {@return CPU architecture, as Java names it} */
    public String architecture() {
        return architecture;
    }

    /** {@return number of processors that this process can use} */
    public int cpus() {
        return cpus;
    }

    /** {@return total memory in bytes; empty if unknown} */
    public OptionalLong memoryBytes() {
        return memoryBytes;
    }

    /**
     * {@return memory in bytes that this process can allocate: the kernel's estimate, or the room in its control group; empty if
     * unknown}
     */
    public OptionalLong availableMemoryBytes() {
        return availableMemoryBytes;
    }

    /** {@return version of the Java runtime} */
    public String jdk() {
        return jdk;
    }

    /** {@return vendor of the Java runtime} */
    public String jdkVendor() {
        return jdkVendor;
    }

    /** {@return folder of the Java runtime} */
    public String jdkHome() {
        return jdkHome;
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
        return other instanceof Platform that && cpus == that.cpus && kernel.equals(that.kernel)
                && architecture.equals(that.architecture) && memoryBytes.equals(that.memoryBytes)
                && availableMemoryBytes.equals(that.availableMemoryBytes) && jdk.equals(that.jdk)
                && jdkVendor.equals(that.jdkVendor) && jdkHome.equals(that.jdkHome);
    }

    @Override
    public int hashCode() {
        return Objects.hash(kernel, architecture, cpus, memoryBytes, availableMemoryBytes, jdk, jdkVendor, jdkHome);
    }

    @Override
    public String toString() {
        return "Platform[kernel=" + kernel + ", architecture=" + architecture + ", cpus=" + cpus + ", jdk=" + jdk + ']';
    }
}
