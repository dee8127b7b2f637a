package io.gds4j.config;

/**
 * Whether GPUDirect Storage moves the bytes between files and GPU memory: nvidia-fs ({@link io.gds4j.statistics.IoPath#NVFS})
 * or the kernel's PCI peer-to-peer DMA ({@link io.gds4j.statistics.IoPath#P2PDMA}).
 *
 * <pre>{@code
 * CuFileConfig config = CuFileConfig.builder().directStorage(DirectStorage.REQUIRE).build();
 * try (CuFileDriver driver = CuFileDriver.open(config)) {      // throws if this machine has no GPUDirect Storage
 *     driver.openFile(path);                                   // throws if it cannot serve this file
 * }
 * }</pre>
 *
 * <p>
 * The value is one view of two keys of cufile.json: {@link CuFileKeys#FORCE_COMPAT_MODE} and
 * {@link CuFileKeys#ALLOW_COMPAT_MODE}. {@link CuFileConfig.Builder#directStorage} sets both, and
 * {@link CuFileConfig#directStorage} combines them, whichever source they come from.
 *
 * <p>
 * The value concerns GPU memory. Host memory never takes these paths: a driver that requires them still reads into host memory,
 * which libcufile then serves by POSIX I/O. A load plan that requires them refuses host memory.
 *
 * @since 0.1
 */
public enum DirectStorage {
    /** GPUDirect Storage serves the files that it can, and gds4j's engine serves the others. The default. */
    AUTO,
    /**
     * Opening a driver throws DRIVER_NOT_INITIALIZED if no backend offers GPUDirect Storage on this machine. Opening a file
     * throws if GPUDirect Storage cannot serve it. No other backend takes over. The keys: {@code allow_compat_mode} and
     * {@code force_compat_mode} are false.
     */
    REQUIRE,
    /**
     * POSIX I/O serves everything: gds4j's engine, or libcufile's own POSIX mode if the program requests libcufile by name.
     * The key: {@code force_compat_mode} is true, which wins over {@code allow_compat_mode}.
     */
    OFF
}
