package io.gds4j.config;

import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Checks rules between keys, after each value has passed the rule of its own key. */
final class CrossKeyRules {
    private final CuFileConfig config;

    private CrossKeyRules(CuFileConfig config) {
        this.config = config;
    }

    /** Checks all rules; throws {@link CuFileConfigException} for the first broken one. */
    static void check(CuFileConfig config) {
        new CrossKeyRules(config).check();
    }

    private void check() {
        sameLength(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, CuFileKeys.POSIX_POOL_SLAB_COUNT);
        sameLength(CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_SIZE_KB, CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_COUNT);
        long perBuffer = config.get(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB);
        long direct = config.get(CuFileKeys.MAX_DIRECT_IO_SIZE_KB);
        if (direct < perBuffer) {
            throw broken(
                    "allowed: max_direct_io_size_kb at least per_buffer_cache_size_kb",
                    CuFileKeys.MAX_DIRECT_IO_SIZE_KB,
                    CuFileKeys.PER_BUFFER_CACHE_SIZE_KB);
        }
        long batch = config.get(CuFileKeys.IO_BATCHSIZE);
        if (config.get(CuFileKeys.MAX_DEVICE_CACHE_SIZE_KB) / perBuffer < batch) {
            throw broken(
                    "allowed: max_device_cache_size_kb at least per_buffer_cache_size_kb times io_batchsize = "
                            + perBuffer * batch,
                    CuFileKeys.MAX_DEVICE_CACHE_SIZE_KB,
                    CuFileKeys.PER_BUFFER_CACHE_SIZE_KB,
                    CuFileKeys.IO_BATCHSIZE);
        }
    }

    private <E, F> void sameLength(ConfigKey<List<E>> sizes, ConfigKey<List<F>> counts) {
        if (config.get(sizes).size() != config.get(counts).size()) {
            throw broken("allowed: arrays of the same length", sizes, counts);
        }
    }

    private CuFileConfigException broken(String allowed, ConfigKey<?>... keys) {
        StringBuilder what = new StringBuilder();
        for (ConfigKey<?> key : keys) {
            ConfigValue<?> value = config.value(key);
            what.append(what.isEmpty() ? "" : ", ")
                    .append("%s is %s (%s)".formatted(key.name(), value.value(), value.origin()));
        }
        ConfigValue<?> blamed = Stream.of(keys)
                .<ConfigValue<?>>map(config::value)
                .min(Comparator.comparing(ConfigValue::source))
                .orElseThrow();
        return CuFileConfigException.conflict(blamed, what.append(", ").append(allowed).toString());
    }
}
