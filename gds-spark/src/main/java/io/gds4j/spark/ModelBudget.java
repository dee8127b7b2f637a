package io.gds4j.spark;

import io.gds4j.CuFileDriver;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkConf;

/** How many bytes models may take of host memory and of each GPU's memory. Not thread-safe. */
final class ModelBudget {
    static final String HOST_KEY = "spark.gds4j.models.memory";
    static final String GPU_KEY = "spark.gds4j.models.gpuMemory";

    private final CuFileDriver driver;
    private final long host;
    /** Negative: decided for each GPU when its first model comes. */
    private final long gpu;
    private final Map<Integer, Long> ofGpus = new HashMap<>();

    ModelBudget(CuFileDriver driver, long host, long gpu) {
        this.driver = driver;
        this.host = host;
        this.gpu = gpu;
    }

    static ModelBudget of(CuFileDriver driver, SparkConf conf) {
        long host = conf.contains(HOST_KEY)
                ? conf.getSizeAsBytes(HOST_KEY)
                : driver.allocator().available(MemoryKind.HOST, MemoryRange.NO_DEVICE) / 2;
        return new ModelBudget(driver, host, conf.contains(GPU_KEY) ? conf.getSizeAsBytes(GPU_KEY) : -1);
    }

    /** @param device ordinal of a GPU, or {@link MemoryRange#NO_DEVICE} */
    long bytes(int device) {
        if (device == MemoryRange.NO_DEVICE) {
            return host;
        }
        return gpu >= 0
                ? gpu
                : ofGpus.computeIfAbsent(
                        device, id -> driver.allocator().available(MemoryKind.CUDA_DEVICE, id) / 5 * 4);
    }

    static String key(int device) {
        return device == MemoryRange.NO_DEVICE ? HOST_KEY : GPU_KEY;
    }
}
