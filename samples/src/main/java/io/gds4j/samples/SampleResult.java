package io.gds4j.samples;

import io.gds4j.statistics.IoPath;
import java.util.Map;

/**
 * What a sample measured.
 *
 * @param bytes moved by cuFile's calls
 * @param seconds they took
 * @param verified whether the bytes that arrived are those that were there
 * @param paths bytes by the way they took
 * @param lesson what there is to learn, in a sentence
 */
public record SampleResult(long bytes, double seconds, boolean verified, Map<IoPath, Long> paths, String lesson) {
    /** Copies the map. */
    public SampleResult {
        paths = Map.copyOf(paths);
    }

    /** {@return bytes a second; 0 if it took no time} */
    public double bytesPerSecond() {
        return seconds > 0 ? bytes / seconds : 0;
    }
}
