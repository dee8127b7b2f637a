package io.gds4j.tools.stats;

import io.gds4j.statistics.CuFileStatisticsMXBean;
import io.gds4j.statistics.GpuStatistics;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What a session counts at every level of statistics, and the bytes of each GPU at level 3.
 *
 * @param number number of the session in its process
 * @param backend backend of the session
 * @param level level of statistics, 0 to 3
 * @param bytesByPath bytes moved by each I/O path
 * @param bytesByGpu bytes read into and written from the memory of each GPU; empty below level 3
 * @param bouncePoolBytes bounce buffers in use, bytes
 * @param bouncePoolPeakBytes peak of bounce buffers in use, bytes
 * @param queueDepth requests in flight or waiting
 * @param retries number of repeated system calls
 */
record EngineSample(
        String number,
        String backend,
        int level,
        Map<String, Long> bytesByPath,
        Map<String, Long> bytesByGpu,
        long bouncePoolBytes,
        long bouncePoolPeakBytes,
        long queueDepth,
        long retries) {

    static final int LEVEL_OF_GPUS = 3;

    EngineSample {
        // another JVM may return anything
        Objects.requireNonNull(backend, "backend");
        bytesByPath = new TreeMap<>(bytesByPath);
        bytesByGpu = new TreeMap<>(bytesByGpu);
    }

    static Optional<EngineSample> read(String number, CuFileStatisticsMXBean bean) {
        int level = bean.getLevel();
        return Optional.of(new EngineSample(
                number,
                bean.getBackend(),
                level,
                bean.getBytesByPath(),
                level < LEVEL_OF_GPUS ? Map.of() : byGpu(bean.getLevel3().gpus()),
                bean.getBouncePoolBytes(),
                bean.getBouncePoolPeakBytes(),
                bean.getQueueDepth(),
                bean.getRetries()));
    }

    private static Map<String, Long> byGpu(List<GpuStatistics> gpus) {
        Map<String, Long> bytes = new TreeMap<>();
        for (int i = 0; i < gpus.size(); i++) {
            bytes.put("gpu:" + i, gpus.get(i).readBytes() + gpus.get(i).writeBytes());
        }
        return bytes;
    }
}
