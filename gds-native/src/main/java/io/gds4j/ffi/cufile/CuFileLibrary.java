package io.gds4j.ffi.cufile;

import io.gds4j.config.DriverProperties;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SlabArray;
import io.gds4j.error.CuFileException;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.lang.foreign.MemorySegment;

/**
 * The functions of libcufile with Java types, and nothing more: callers must not ask what the library does not survive.
 * A status other than success is a {@link CuFileException}. Transfers return bytes, a negative errno or a negative
 * code, see {@link CuFileResults}. A function that the library lacks throws IO_NOT_SUPPORTED and names the version that
 * has it.
 *
 * <p>
 * Any thread may call; GPU memory needs its CUDA context current.
 */
public interface CuFileLibrary {
    /** Name and version of the loaded library, for messages. */
    String description();

    /** The version that the library reports. */
    CuFileVersion version();

    boolean has(CuFileFunction function);

    long handleRegister(int fd);

    void handleDeregister(long handle);

    void bufRegister(long base, long length, int flags);

    void bufDeregister(long base);

    long read(long handle, long base, long size, long fileOffset, long bufferOffset);

    long read(long handle, MemorySegment base, long size, long fileOffset, long bufferOffset);

    long write(long handle, long base, long size, long fileOffset, long bufferOffset);

    long write(long handle, MemorySegment base, long size, long fileOffset, long bufferOffset);

    void driverOpen();

    void driverClose();

    DriverProperties driverGetProperties();

    void driverSetPollMode(boolean poll, long thresholdKb);

    void driverSetMaxDirectIoSize(long kb);

    void driverSetMaxCacheSize(long kb);

    void driverSetMaxPinnedMemSize(long kb);

    long useCount();

    long batchIoSetUp(int capacity);

    /** @param params array of {@link IoParams} */
    void batchIoSubmit(long batch, int count, MemorySegment params, int flags);

    /**
     * @param count cell of 4 bytes: capacity of {@code events} on the way in, events on the way out
     * @param events {@link IoEvents}
     * @param timeout {@link Timespec}
     */
    void batchIoGetStatus(long batch, int minimum, MemorySegment count, MemorySegment events, MemorySegment timeout);

    void batchIoCancel(long batch);

    void batchIoDestroy(long batch);

    void readAsync(
            long handle,
            long base,
            MemorySegment size,
            MemorySegment fileOffset,
            MemorySegment bufferOffset,
            MemorySegment bytesDone,
            long stream);

    void writeAsync(
            long handle,
            long base,
            MemorySegment size,
            MemorySegment fileOffset,
            MemorySegment bufferOffset,
            MemorySegment bytesDone,
            long stream);

    void streamRegister(long stream, int flags);

    void streamDeregister(long stream);

    int getVersion();

    long getParameterSizeT(int parameter);

    boolean getParameterBool(int parameter);

    String getParameterString(int parameter);

    void setParameterSizeT(int parameter, long value);

    void setParameterBool(int parameter, boolean value);

    void setParameterString(int parameter, String value);

    ParameterRange getParameterMinMaxValue(int parameter);

    void setStatsLevel(int level);

    int getStatsLevel();

    void statsStart();

    void statsStop();

    void statsReset();

    StatisticsLevel1 getStatsL1();

    StatisticsLevel2 getStatsL2();

    StatisticsLevel3 getStatsL3();

    long getBarSizeInKb(int gpu);

    void setParameterPosixPoolSlabArray(SlabArray slabs);

    /** @param length number of sizes that are configured */
    SlabArray getParameterPosixPoolSlabArray(int length);

    void driverSetP2pFlags(int target, int flags);

    int driverGetP2pFlags(int target);

    void exportPcieTopology(String file);

    void setParameterGpuBounceBufferSlabArray(SlabArray slabs);

    /** @param length number of sizes that are configured */
    SlabArray getParameterGpuBounceBufferSlabArray(int length);

    /** @param vector array of {@link IoVec} */
    long readv(long handle, MemorySegment vector, int count, long size, long fileOffset, int flags);

    /** @param vector array of {@link IoVec} */
    long writev(long handle, MemorySegment vector, int count, long size, long fileOffset, int flags);
}
