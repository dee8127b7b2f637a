package io.gds4j.tools.check;

import java.util.OptionalLong;

/**
 * The machine as this process sees it.
 *
 * @param kernel operating system and its release
 * @param architecture as Java names it
 * @param cpus processors that this process may use
 * @param memoryBytes all memory
 * @param availableMemoryBytes what could be had without swapping
 * @param jdk version of the Java runtime
 * @param jdkVendor who built it
 * @param jdkHome where it is
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
