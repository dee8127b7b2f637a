package io.gds4j.tools.check;

import io.gds4j.engine.memory.AvailableHostMemory;
import java.util.OptionalLong;

/**
 * The machine as this process sees it.
 *
 * @param kernel name and release of the operating system
 * @param architecture CPU architecture, as Java names it
 * @param cpus number of processors that this process can use
 * @param memoryBytes total memory
 * @param availableMemoryBytes memory that this process can allocate: the kernel's estimate, or the room in its control group
 * @param jdk version of the Java runtime
 * @param jdkVendor vendor of the Java runtime
 * @param jdkHome folder of the Java runtime
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

    private static final String TOTAL = "MemTotal:";
    private static final long KIB = 1024;

    static Platform read(SystemFiles files) {
        return new Platform(
                System.getProperty("os.name") + " " + System.getProperty("os.version"),
                System.getProperty("os.arch"),
                Runtime.getRuntime().availableProcessors(),
                totalMemory(files),
                availableMemory(files),
                System.getProperty("java.runtime.version"),
                System.getProperty("java.vendor"),
                System.getProperty("java.home"));
    }

    private static OptionalLong availableMemory(SystemFiles files) {
        long bytes = new AvailableHostMemory(files.root()).bytes();
        return bytes == Long.MAX_VALUE ? OptionalLong.empty() : OptionalLong.of(bytes);
    }

    private static OptionalLong totalMemory(SystemFiles files) {
        return files.lines("/proc/meminfo")
                .stream()
                .filter(line -> line.startsWith(TOTAL))
                .map(line -> line.substring(TOTAL.length()).replace("kB", "").strip())
                .filter(number -> !number.isEmpty() && number.chars().allMatch(Character::isDigit))
                .mapToLong(number -> Long.parseLong(number) * KIB)
                .findFirst();
    }
}
