package io.gds4j.config;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** Checks rules between keys, after each value has passed the rule of its own key. */
final class CrossKeyRules {
    private final Map<ConfigKey<?>, ConfigValue<?>> values;

    private CrossKeyRules(Map<ConfigKey<?>, ConfigValue<?>> values) {
        this.values = values;
    }

    /** Checks all rules; throws {@link CuFileConfigException} for the first broken one. */
    static void check(Map<ConfigKey<?>, ConfigValue<?>> values) {
        new CrossKeyRules(values).check();
    }

    private void check() {
        sameLength(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, CuFileKeys.POSIX_POOL_SLAB_COUNT);
        sameLength(CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_SIZE_KB, CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_COUNT);
        long perBuffer = get(CuFileKeys.PER_BUFFER_CACHE_SIZE_KB);
        long direct = get(CuFileKeys.MAX_DIRECT_IO_SIZE_KB);
        if (direct < perBuffer) {
            throw broken(
                    "allowed: max_direct_io_size_kb at least per_buffer_cache_size_kb",
                    CuFileKeys.MAX_DIRECT_IO_SIZE_KB,
                    CuFileKeys.PER_BUFFER_CACHE_SIZE_KB);
        }
        long batch = get(CuFileKeys.IO_BATCHSIZE);
        if (get(CuFileKeys.MAX_DEVICE_CACHE_SIZE_KB) / perBuffer < batch) {
            throw broken(
                    "allowed: max_device_cache_size_kb at least per_buffer_cache_size_kb times io_batchsize = "
                            + perBuffer * batch,
                    CuFileKeys.MAX_DEVICE_CACHE_SIZE_KB,
                    CuFileKeys.PER_BUFFER_CACHE_SIZE_KB,
                    CuFileKeys.IO_BATCHSIZE);
        }
    }

    private <T> T get(ConfigKey<T> key) {
        return ConfigValueParts.in(values, key).value();
    }

    private <E, F> void sameLength(ConfigKey<List<E>> sizes, ConfigKey<List<F>> counts) {
        if (get(sizes).size() != get(counts).size()) {
            throw broken("allowed: arrays of the same length", sizes, counts);
        }
    }

    private CuFileConfigException broken(String allowed, ConfigKey<?>... keys) {
        StringBuilder what = new StringBuilder();
        for (ConfigKey<?> key : keys) {
            ConfigValue<?> value = values.get(key);
            what.append(what.isEmpty() ? "" : ", ")
                    .append("%s is %s (%s)".formatted(key.name(), value.value(), value.origin()));
        }
        ConfigValue<?> blamed = Stream.of(keys)
                .<ConfigValue<?>>map(values::get)
                .min(Comparator.comparing(ConfigValue::source))
                .orElseThrow();
        return CuFileConfigException.conflict(blamed, what.append(", ").append(allowed).toString());
    }
}
