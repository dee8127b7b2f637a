package io.gds4j.tools.check;

import java.util.OptionalLong;

/**
 * The machine as this process sees it.
 *
 * @param kernel name and release of the operating system
 * @param architecture CPU architecture, as Java names it
 * @param cpus number of processors that this process can use
 * @param memoryBytes total memory
 * @param availableMemoryBytes memory that is available without swapping
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

    private static final long KIB = 1024;

    static Platform read(SystemFiles files) {
        return new Platform(
                System.getProperty("os.name") + " " + System.getProperty("os.version"),
                System.getProperty("os.arch"),
                Runtime.getRuntime().availableProcessors(),
                memory(files, "MemTotal:"),
                memory(files, "MemAvailable:"),
                System.getProperty("java.runtime.version"),
                System.getProperty("java.vendor"),
                System.getProperty("java.home"));
    }

    private static OptionalLong memory(SystemFiles files, String field) {
        return files.lines("/proc/meminfo")
                .stream()
                .filter(line -> line.startsWith(field))
                .map(line -> line.substring(field.length()).replace("kB", "").strip())
                .filter(number -> !number.isEmpty() && number.chars().allMatch(Character::isDigit))
                .mapToLong(number -> Long.parseLong(number) * KIB)
                .findFirst();
    }
}
