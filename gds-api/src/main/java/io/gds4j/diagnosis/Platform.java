package io.gds4j.diagnosis;

import java.util.OptionalLong;

/**
 * The machine as this process sees it.
 *
 * @param kernel name and release of the operating system
 * @param architecture CPU architecture, as Java names it
 * @param cpus number of processors that this process can use
 * @param memoryBytes total memory in bytes; empty if unknown
 * @param availableMemoryBytes memory in bytes that this process can allocate: the kernel's estimate, or the room in its control
 *        group; empty if unknown
 * @param jdk version of the Java runtime
 * @param jdkVendor vendor of the Java runtime
 * @param jdkHome folder of the Java runtime
 * @since 0.1
 */
public record Platform(
        String kernel,
        String architecture,
        int cpus,
        OptionalLong memoryBytes,
        OptionalLong availableMemoryBytes,
        String jdk,
        String jdkVendor,
        String jdkHome) {
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
}
