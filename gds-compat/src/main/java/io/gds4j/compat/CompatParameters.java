package io.gds4j.compat;

import io.gds4j.config.ConfigKey;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.CuFileParameter;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.StringParameter;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The parameters of {@code cuFileGetParameter*} and {@code cuFileSetParameter*}. Values that are set while the driver is closed
 * take precedence at the next open, which consumes them. Thread-safe.
 */
final class CompatParameters {
    private static final String SET_SLABS = "cuFileSetParameterPosixPoolSlabArray";

    private final CuFileConfig configured;
    private final Map<ConfigKey<?>, Object> staged = new LinkedHashMap<>();
    private CuFileConfig values;
    private boolean open;

    CompatParameters(CuFileConfig configured) {
        this.configured = configured;
        this.values = configured;
    }

    /**
     * Returns the configuration of a driver that opens now. Values that contradict each other stay staged, so that the program can
     * correct them.
     *
     * @throws io.gds4j.config.CuFileConfigException if values contradict each other
     */
    synchronized CuFileConfig open() {
        values = merged();
        staged.clear();
        open = true;
        return values;
    }

    /** Drops the values of the driver that has closed. */
    synchronized void close() {
        values = configured;
        open = false;
    }

    /**
     * Returns the value of the open driver, or of the next open while the driver is closed.
     *
     * @throws CuFileException INVALID_VALUE for CUFILE_LOGFILE_PATH if it is not set
     */
    synchronized <T> T get(CuFileParameter<T> parameter) {
        ConfigKey<T> key = parameter.key();
        T value = key.type().cast(staged.getOrDefault(key, values.get(key)));
        if (parameter == StringParameter.ENV_LOGFILE_PATH && value.equals("")) {
            throw invalid(parameter.getter(), "CUFILE_LOGFILE_PATH is not set");
        }
        return value;
    }

    /**
     * Stages a value.
     *
     * @throws CuFileException DRIVER_ALREADY_OPEN while the driver is open, INVALID_VALUE for a value that is not allowed
     */
    synchronized <T> void set(String function, ConfigKey<T> key, T value) {
        checkClosed(function);
        if (!key.accepts(value)) {
            throw invalid(function, "%s is %s, allowed: %s".formatted(key.name(), value, key.allowed()));
        }
        staged.put(key, value);
    }

    synchronized void setSlabs(SlabArray slabs) {
        checkClosed(SET_SLABS);
        staged.put(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, slabs.sizesKb());
        staged.put(CuFileKeys.POSIX_POOL_SLAB_COUNT, slabs.counts());
    }

    /** Stages GPU bounce buffers. This engine has none; the values are only reported. */
    synchronized void setGpuSlabs(SlabArray slabs) {
        checkClosed("cuFileSetParameterGpuBounceBufferSlabArray");
        staged.put(CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_SIZE_KB, slabs.sizesKb());
        staged.put(CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_COUNT, slabs.counts());
    }

    /** @throws CuFileException INVALID_VALUE if none are configured, as in cuFile */
    synchronized SlabArray gpuSlabs() {
        CuFileConfig now = staged.isEmpty() ? values : merged();
        if (now.get(CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_SIZE_KB).isEmpty()) {
            throw invalid("cuFileGetParameterGpuBounceBufferSlabArray",
                    "no slabs are configured: properties.gpu_bounce_buffer_slab_config is empty");
        }
        return new SlabArray(
                now.get(CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_SIZE_KB), now.get(CuFileKeys.GPU_BOUNCE_BUFFER_SLAB_COUNT));
    }

    synchronized SlabArray slabs() {
        return staged.isEmpty() ? values.posixPoolSlabs() : merged().posixPoolSlabs();
    }

    /** Returns the result of {@code cuFileGetParameterMinMaxValue}. */
    static ParameterRange range(SizeParameter parameter) {
        return parameter.range()
                .orElseThrow(() -> invalid("cuFileGetParameterMinMaxValue", parameter.cName() + " has no range"));
    }

    private CuFileConfig merged() {
        CuFileConfig.Builder builder = configured.toBuilder();
        staged.forEach((key, value) -> setUnchecked(builder, key, value));
        return builder.build();
    }

    @SuppressWarnings("unchecked")
    private static <T> void setUnchecked(CuFileConfig.Builder builder, ConfigKey<T> key, Object value) {
        builder.set(key, (T) value);
    }

    private void checkClosed(String function) {
        if (open) {
            throw CuFileException.of(
                    CuFileError.DRIVER_ALREADY_OPEN, function, "parameters are set before the driver opens");
        }
    }

    private static CuFileException invalid(String function, String detail) {
        return CuFileException.of(CuFileError.INVALID_VALUE, Errno.EINVAL, function, detail);
    }
}
