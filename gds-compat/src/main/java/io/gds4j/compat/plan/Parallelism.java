package io.gds4j.compat.plan;

import io.gds4j.config.ConfigKey;
import io.gds4j.config.ConfigSource;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.machine.TransferCosts;

/**
 * How many threads there are for requests. The machine decides unless the configuration does. Every value of the program and of the
 * environment counts; a value of the file counts if it differs from the default. The reason is that NVIDIA installs a file with all
 * defaults, which are too few threads for requests that copy.
 *
 * @param workers number of workers for each GPU; host memory uses those of the first GPU
 * @param perRequest largest number of threads on one request, including its caller
 * @param minimumBytes size from which on workers help with a request
 * @param processors number of processors of the machine
 */
public record Parallelism(int workers, int perRequest, long minimumBytes, int processors) {

    private static final long KIB = 1024;

    public static Parallelism of(CuFileConfig config, int processors) {
        long workers = isChosen(config, CuFileKeys.MAX_IO_THREADS)
                ? config.get(CuFileKeys.MAX_IO_THREADS)
                : Math.max(1, Math.min(processors, TransferCosts.MEASURED.mostThreads()) - 1);
        long perRequest = isChosen(config, CuFileKeys.MAX_REQUEST_PARALLELISM)
                ? Math.max(1, config.get(CuFileKeys.MAX_REQUEST_PARALLELISM))
                : workers + 1;
        long minimum = isChosen(config, CuFileKeys.MIN_IO_THRESHOLD_SIZE_KB)
                ? config.get(CuFileKeys.MIN_IO_THRESHOLD_SIZE_KB) * KIB
                : 0;
        boolean off = !config.get(CuFileKeys.PARALLEL_IO) || perRequest == 1;
        return new Parallelism(
                off ? 0 : (int) workers, (int) Math.min(perRequest, workers + 1), minimum, processors);
    }

    private static boolean isChosen(CuFileConfig config, ConfigKey<Long> key) {
        ConfigSource source = config.source(key);
        return source == ConfigSource.API
                || source == ConfigSource.ENVIRONMENT
                || source == ConfigSource.FILE && !config.get(key).equals(key.defaultValue());
    }

    /** Returns whether several threads pay for a request of this size. */
    public boolean shares(long pieces, long bytes) {
        return workers > 0 && pieces > 1 && bytes >= minimumBytes;
    }
}
