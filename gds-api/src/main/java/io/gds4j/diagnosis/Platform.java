package io.gds4j.diagnosis;

import java.util.OptionalLong;

/**
 * The machine as this process sees it.
 *
 * @since 0.1
 */
public sealed interface Platform permits PlatformParts {
    /** {@return name and release of the operating system} */
    String kernel();

    /** {@return CPU architecture, as Java names it} */
    String architecture();

    /** {@return number of processors that this process can use} */
    int cpus();

    /** {@return total memory in bytes; empty if unknown} */
    OptionalLong memoryBytes();

    /**
     * {@return memory in bytes that this process can allocate: the kernel's estimate, or the room in its control group; empty if
     * unknown}
     */
    OptionalLong availableMemoryBytes();

    /** {@return version of the Java runtime} */
    String jdk();

    /** {@return vendor of the Java runtime} */
    String jdkVendor();

    /** {@return folder of the Java runtime} */
    String jdkHome();

    /**
     * Makes a value.
     *
     * @param kernel as {@link #kernel}
     * @param architecture as {@link #architecture}
     * @param cpus as {@link #cpus}
     * @param memoryBytes as {@link #memoryBytes}
     * @param availableMemoryBytes as {@link #availableMemoryBytes}
     * @param jdk as {@link #jdk}
     * @param jdkVendor as {@link #jdkVendor}
     * @param jdkHome as {@link #jdkHome}
     * @return the value
     */
    static Platform of(String kernel, String architecture, int cpus, OptionalLong memoryBytes,
            OptionalLong availableMemoryBytes, String jdk, String jdkVendor, String jdkHome) {
        return new PlatformParts(kernel, architecture, cpus, memoryBytes, availableMemoryBytes, jdk, jdkVendor,
                jdkHome);
    }

    /**
     * Describes the platform by what the JVM knows of it.
     *
     * @param memoryBytes total memory in bytes
     * @param availableMemoryBytes memory in bytes that this process can allocate
     * @return the platform
     */
    static Platform ofJvm(OptionalLong memoryBytes, OptionalLong availableMemoryBytes) {
        return of(
                System.getProperty("os.name") + " " + System.getProperty("os.version"),
                System.getProperty("os.arch"),
                Runtime.getRuntime().availableProcessors(),
                memoryBytes,
                availableMemoryBytes,
                System.getProperty("java.runtime.version"),
                System.getProperty("java.vendor"),
                System.getProperty("java.home"));
    }
}
