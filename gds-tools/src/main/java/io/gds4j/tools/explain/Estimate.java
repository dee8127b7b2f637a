package io.gds4j.tools.explain;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * Expected time of a load. Reading and copying overlap, and devices work side by side, so the slowest of them counts. Where the time from
 * memory is unknown, storage alone counts.
 *
 * @param files files of the load
 * @param hot speed of loads from memory; empty if not measured
 * @param obstacle why it was not measured; empty if it was
 * @param devices bytes per second of each measured device
 * @param silent why a device could not be measured that does not answer
 */
record Estimate(
        List<ReadFile> files, Optional<HotLoad> hot, String obstacle, Map<String, Double> devices,
        Map<String, String> silent) {

    /** Bytes to read. */
    long bytes() {
        return files.stream().mapToLong(ReadFile::bytes).sum();
    }

    /** Seconds if every byte is in the page cache; empty if unknown. */
    OptionalDouble hotSeconds() {
        return hot.map(load -> OptionalDouble.of(load.seconds(bytes()))).orElseGet(OptionalDouble::empty);
    }

    /** Seconds if no byte is in the page cache; empty if a device could not be measured. */
    OptionalDouble coldSeconds() {
        return seconds(false);
    }

    /** Seconds with what is in the page cache now; empty if a device that must be read could not be measured. */
    OptionalDouble nowSeconds() {
        return seconds(true);
    }

    private OptionalDouble seconds(boolean cached) {
        Map<String, Long> reads = new LinkedHashMap<>();
        for (ReadFile file : files) {
            long rest = file.inMemory() ? 0 : file.bytes() - (cached ? file.cachedBytes().orElse(0) : 0);
            if (rest > 0) {
                reads.merge(file.device(), rest, Long::sum);
            }
        }
        if (hot.isEmpty() && reads.isEmpty()) {
            return OptionalDouble.empty();
        }
        double slowest = hotSeconds().orElse(0);
        double fixed = hot.map(HotLoad::fixedSeconds).orElse(0.0);
        for (Map.Entry<String, Long> read : reads.entrySet()) {
            Double rate = devices.get(read.getKey());
            if (rate == null) {
                return OptionalDouble.empty();
            }
            slowest = Math.max(slowest, fixed + read.getValue() / rate);
        }
        return OptionalDouble.of(slowest);
    }

    /** Bytes that are in the page cache, or in memory anyway. */
    long cachedBytes() {
        return files.stream().mapToLong(file -> file.inMemory() ? file.bytes() : file.cachedBytes().orElse(0)).sum();
    }
}
