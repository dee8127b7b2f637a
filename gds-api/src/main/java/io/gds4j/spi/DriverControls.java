package io.gds4j.spi;

import io.gds4j.config.CuFileParameter;
import io.gds4j.config.DriverProperties;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SizeParameter;
import io.gds4j.config.SlabArray;
import io.gds4j.config.TargetType;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.statistics.EngineStatistics;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.nio.file.Path;

/**
 * The functions of cuFile that move no bytes: parameters, limits, slabs, peer-to-peer, topology and statistics of a
 * {@link CuFileBackend}, in the order of {@code cufile.h}. Its rules apply: functions of cuFile 1.0 are abstract, later ones throw
 * {@link CuFileError#IO_NOT_SUPPORTED} by default.
 *
 * @since 0.1
 */
public interface DriverControls {
    /** {@return the provider's name} */
    String name();

    /** {@return counters that cuFile's statistics lack: bytes moved so far on each path, staging memory; 0 for what is not counted} */
    EngineStatistics engineStatistics();

    /** {@return the part of {@link EngineStatistics#bytesByPath} that was written; 0 if a backend does not count it} */
    default long bytesWritten() {
        return 0;
    }

    /** Gives idle staging memory back to the system, which pins it no longer. A backend that keeps none does nothing. */
    default void trim() {
        // nothing is kept
    }

    /**
     * {@code cuFileDriverGetProperties}; opens the driver if it is closed.
     *
     * @return the properties
     */
    DriverProperties driverGetProperties();

    /**
     * {@code cuFileDriverSetPollMode}.
     *
     * @param poll whether to poll
     * @param pollThresholdKb largest request that polls, KiB
     */
    void driverSetPollMode(boolean poll, long pollThresholdKb);

    /**
     * {@code cuFileDriverSetMaxDirectIOSize}: 64 to 16384 KiB, a multiple of 64.
     *
     * @param maxDirectIoSizeKb KiB
     */
    void driverSetMaxDirectIoSize(long maxDirectIoSizeKb);

    /**
     * {@code cuFileDriverSetMaxCacheSize}.
     *
     * @param maxCacheSizeKb KiB
     */
    void driverSetMaxCacheSize(long maxCacheSizeKb);

    /**
     * {@code cuFileDriverSetMaxPinnedMemSize}.
     *
     * @param maxPinnedSizeKb KiB
     */
    void driverSetMaxPinnedMemSize(long maxPinnedSizeKb);

    // ---- cuFile 1.8

    /**
     * {@code cuFileGetVersion}: 1000 times the major plus 10 times the minor version of cuFile that is implemented.
     *
     * @return 1200 for 1.20
     */
    default int getVersion() {
        throw unsupported("cuFileGetVersion", "1.8");
    }

    // ---- cuFile 1.14

    /**
     * {@code cuFileGetParameterSizeT}, {@code cuFileGetParameterBool} and {@code cuFileGetParameterString}: the running value, or the
     * staged one while closed.
     *
     * @param <T> type of the value
     * @param parameter the parameter
     * @return the value
     */
    default <T> T getParameter(CuFileParameter<T> parameter) {
        throw unsupported(parameter.getter(), "1.14");
    }

    /**
     * {@code cuFileSetParameterSizeT}, {@code cuFileSetParameterBool} and {@code cuFileSetParameterString}: stages a value for the next
     * open; DRIVER_ALREADY_OPEN while open.
     *
     * @param <T> type of the value
     * @param parameter the parameter
     * @param value the value
     */
    default <T> void setParameter(CuFileParameter<T> parameter, T value) {
        throw unsupported(parameter.setter(), "1.14");
    }

    // ---- cuFile 1.15

    /**
     * {@code cuFileGetParameterMinMaxValue}: the range of a parameter.
     *
     * @param parameter the parameter
     * @return the range
     */
    default ParameterRange getParameterMinMaxValue(SizeParameter parameter) {
        throw unsupported("cuFileGetParameterMinMaxValue", "1.15");
    }

    /**
     * {@code cuFileSetStatsLevel}: 0 to 3.
     *
     * @param level 0 to 3
     */
    default void setStatsLevel(int level) {
        throw unsupported("cuFileSetStatsLevel", "1.15");
    }

    /**
     * {@code cuFileGetStatsLevel}: 0 to 3.
     *
     * @return the level
     */
    default int getStatsLevel() {
        throw unsupported("cuFileGetStatsLevel", "1.15");
    }

    /** {@code cuFileStatsStart}: begins counting. */
    default void statsStart() {
        throw unsupported("cuFileStatsStart", "1.15");
    }

    /** {@code cuFileStatsStop}: stops counting. */
    default void statsStop() {
        throw unsupported("cuFileStatsStop", "1.15");
    }

    /** {@code cuFileStatsReset}: sets all counters to 0. */
    default void statsReset() {
        throw unsupported("cuFileStatsReset", "1.15");
    }

    /**
     * {@code cuFileGetStatsL1}: API counters.
     *
     * @return the counters
     */
    default StatisticsLevel1 getStatsL1() {
        throw unsupported("cuFileGetStatsL1", "1.15");
    }

    /**
     * {@code cuFileGetStatsL2}: API counters and histograms.
     *
     * @return the counters
     */
    default StatisticsLevel2 getStatsL2() {
        throw unsupported("cuFileGetStatsL2", "1.15");
    }

    /**
     * {@code cuFileGetStatsL3}: API counters, histograms and counters of each GPU.
     *
     * @return the counters
     */
    default StatisticsLevel3 getStatsL3() {
        throw unsupported("cuFileGetStatsL3", "1.15");
    }

    /**
     * {@code cuFileGetBARSizeInKB}: size of a GPU's BAR1 aperture, KiB; 0 if it is unknown.
     *
     * @param gpu ordinal of the GPU
     * @return KiB
     */
    default long getBarSizeInKb(int gpu) {
        throw unsupported("cuFileGetBARSizeInKB", "1.15");
    }

    /**
     * {@code cuFileSetParameterPosixPoolSlabArray}: stages the bounce-buffer slabs for the next open.
     *
     * @param slabs sizes and counts
     */
    default void setParameterPosixPoolSlabArray(SlabArray slabs) {
        throw unsupported("cuFileSetParameterPosixPoolSlabArray", "1.15");
    }

    /**
     * {@code cuFileGetParameterPosixPoolSlabArray}: the bounce-buffer slabs.
     *
     * @return sizes and counts
     */
    default SlabArray getParameterPosixPoolSlabArray() {
        throw unsupported("cuFileGetParameterPosixPoolSlabArray", "1.15");
    }

    // ---- cuFile 1.16

    /**
     * {@code cuFileDriverSetP2PFlags}: which peer-to-peer modes may be used for a kind of storage.
     *
     * @param target the kind of storage
     * @param flags bits of {@code CUfileP2PFlags_t}
     */
    default void driverSetP2pFlags(TargetType target, int flags) {
        throw unsupported("cuFileDriverSetP2PFlags", "1.16");
    }

    /**
     * {@code cuFileDriverGetP2PFlags}: which peer-to-peer modes may be used for a kind of storage.
     *
     * @param target the kind of storage
     * @return bits of {@code CUfileP2PFlags_t}
     */
    default int driverGetP2pFlags(TargetType target) {
        throw unsupported("cuFileDriverGetP2PFlags", "1.16");
    }

    // ---- cuFile 1.17

    /**
     * {@code cuFileExportPCIeTopology}: writes the PCIe topology for static routing.
     *
     * @param file where to write it
     */
    default void exportPcieTopology(Path file) {
        throw unsupported("cuFileExportPCIeTopology", "1.17");
    }

    /**
     * {@code cuFileSetParameterGpuBounceBufferSlabArray}: stages the GPU bounce-buffer slabs for the next open.
     *
     * @param slabs sizes and counts
     */
    default void setParameterGpuBounceBufferSlabArray(SlabArray slabs) {
        throw unsupported("cuFileSetParameterGpuBounceBufferSlabArray", "1.17");
    }

    /**
     * {@code cuFileGetParameterGpuBounceBufferSlabArray}: the GPU bounce-buffer slabs.
     *
     * @return sizes and counts
     */
    default SlabArray getParameterGpuBounceBufferSlabArray() {
        throw unsupported("cuFileGetParameterGpuBounceBufferSlabArray", "1.17");
    }

    private CuFileException unsupported(String function, String since) {
        return CuFileException.of(
                CuFileError.IO_NOT_SUPPORTED,
                function,
                "the backend '%s' does not have this function of cuFile %s".formatted(name(), since));
    }
}
