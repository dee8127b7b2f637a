package io.gds4j.samples;

import io.gds4j.statistics.IoPath;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What a sample measured.
 *
 * @param bytes bytes that the sample's cuFile calls moved
 * @param seconds time that these calls took
 * @param verified true if the bytes that arrived equal the bytes that were sent
 * @param paths bytes by I/O path
 * @param lesson what the sample teaches, in one sentence
 */
public record SampleResult(long bytes, double seconds, boolean verified, Map<IoPath, Long> paths, String lesson) {
    /** Copies the map. */
    public SampleResult {
        paths = Map.copyOf(paths);
    }

    /** {@return bytes per second; 0 if no time was measured} */
    public double bytesPerSecond() {
        return seconds > 0 ? bytes / seconds : 0;
    }

    /** {@return the result as text lines for a person to read} */
    public List<String> lines() {
        return List.of(
                String.format(Locale.ROOT, "%d bytes in %.4f s, %.2f GB/s, by %s",
                        bytes, seconds, bytesPerSecond() / 1e9, usedPaths()),
                verified ? "verified: the bytes are right" : "VERIFICATION FAILED: bytes differ",
                "lesson: " + lesson);
    }

    private String usedPaths() {
        long all = paths.values().stream().mapToLong(Long::longValue).sum();
        boolean several = paths.values().stream().filter(count -> count > 0).count() > 1;
        String used = paths.entrySet().stream()
                .filter(path -> path.getValue() > 0)
                .sorted(Map.Entry.comparingByKey())
                .map(path -> several
                        ? String.format(Locale.ROOT, "%s (%.1f %%)", path.getKey(), 100.0 * path.getValue() / all)
                        : path.getKey().toString())
                .collect(Collectors.joining(", "));
        return used.isEmpty() ? "a path that this backend does not count" : used;
    }
}
