package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.config.DriverProperties;
import io.gds4j.config.ParameterRange;
import io.gds4j.config.SlabArray;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.CString;
import io.gds4j.ffi.CallState;
import io.gds4j.statistics.StatisticsLevel1;
import io.gds4j.statistics.StatisticsLevel2;
import io.gds4j.statistics.StatisticsLevel3;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.util.ArrayList;
import java.util.List;

/**
 * libcufile through FFM. Out-parameters are in memory of the calling thread, so that a transfer allocates nothing; only
 * texts, slab arrays and statistics use an arena.
 */
public final class FfmCuFileLibrary implements CuFileLibrary {
    private static final long SECOND = Long.BYTES;
    private static final int TEXT_BYTES = 4096;
    /** A byte that no counter begins with. */
    private static final byte UNTOUCHED = (byte) 0xA5;

    private final CuFileCalls calls;
    /** A copy of a field of {@link #calls}: one dereference less saves nanoseconds of a short transfer. */
    private final MemorySegment read;

    private final MemorySegment write;
    private final String description;
    private final CuFileVersion version;
    private final StatsLevel3 statistics;

    /**
     * Over the symbols of a library, which must stay loaded.
     *
     * @param description name and version, for messages
     * @throws CuFileException PLATFORM_NOT_SUPPORTED if it lacks a function of cuFile 1.0
     */
    public FfmCuFileLibrary(SymbolLookup symbols, String description) {
        this.calls = new CuFileCalls(symbols);
        this.read = calls.entry(CuFileFunction.READ);
        this.write = calls.entry(CuFileFunction.WRITE);
        this.description = description;
        if (!calls.missing().isEmpty()) {
            throw CuFileException.of(
                    CuFileError.PLATFORM_NOT_SUPPORTED,
                    "cuFileDriverOpen",
                    "%s is not libcufile: it lacks %s".formatted(description, String.join(", ", calls.missing())));
        }
        this.version = new CuFileVersion(calls.has(CuFileFunction.GET_VERSION) ? getVersion() : 0);
        this.statistics = StatsLevel3.of(version);
    }

    @Override
    public String description() {
        return description;
    }

    @Override
    public CuFileVersion version() {
        return version;
    }

    @Override
    public boolean has(CuFileFunction function) {
        return calls.has(function);
    }

    @Override
    public long handleRegister(int fd) {
        MemorySegment out = CallState.current().scratch();
        MemorySegment descriptor = out.asSlice(SECOND);
        out.set(JAVA_LONG, 0, 0);
        FileDescr.write(descriptor, FileDescr.OPAQUE_FD, fd);
        check(CuFileFunction.HANDLE_REGISTER,
                calls.status(CuFileFunction.HANDLE_REGISTER, out.address(), descriptor.address()));
        return out.get(JAVA_LONG, 0);
    }

    @Override
    public void handleDeregister(long handle) {
        calls.run(CuFileFunction.HANDLE_DEREGISTER, handle);
    }

    @Override
    public void bufRegister(long base, long length, int flags) {
        check(CuFileFunction.BUF_REGISTER, calls.status(CuFileFunction.BUF_REGISTER, base, length, flags));
    }

    @Override
    public void bufDeregister(long base) {
        check(CuFileFunction.BUF_DEREGISTER, calls.status(CuFileFunction.BUF_DEREGISTER, base));
    }

    @Override
    public long read(long handle, long base, long size, long fileOffset, long bufferOffset) {
        return decode(CuFileCalls.transfer(read, handle, base, size, fileOffset, bufferOffset), size);
    }

    @Override
    public long read(long handle, MemorySegment base, long size, long fileOffset, long bufferOffset) {
        return decode(CuFileCalls.transfer(read, handle, base, size, fileOffset, bufferOffset), size);
    }

    @Override
    public long write(long handle, long base, long size, long fileOffset, long bufferOffset) {
        return decode(CuFileCalls.transfer(write, handle, base, size, fileOffset, bufferOffset), size);
    }

    @Override
    public long write(long handle, MemorySegment base, long size, long fileOffset, long bufferOffset) {
        return decode(CuFileCalls.transfer(write, handle, base, size, fileOffset, bufferOffset), size);
    }

    private static long decode(long result, long size) {
        if (result >= 0 && result <= size) {
            return result;
        }
        return CuFileResults.transferred(result, CallState.current().errno(), size);
    }

    @Override
    public void driverOpen() {
        check(CuFileFunction.DRIVER_OPEN, calls.status(CuFileFunction.DRIVER_OPEN));
    }

    @Override
    public void driverClose() {
        check(CuFileFunction.DRIVER_CLOSE, calls.status(CuFileFunction.DRIVER_CLOSE));
    }

    @Override
    public DriverProperties driverGetProperties() {
        MemorySegment out = CallState.current().scratch();
        out.fill((byte) 0);
        check(CuFileFunction.DRIVER_GET_PROPERTIES, calls.status(CuFileFunction.DRIVER_GET_PROPERTIES, out.address()));
        return DrvProps.read(out);
    }

    @Override
    public void driverSetPollMode(boolean poll, long thresholdKb) {
        CuFileFunction function = CuFileFunction.DRIVER_SET_POLL_MODE;
        check(function, calls.status(function, poll ? 1 : 0, thresholdKb));
    }

    @Override
    public void driverSetMaxDirectIoSize(long kb) {
        CuFileFunction function = CuFileFunction.DRIVER_SET_MAX_DIRECT_IO_SIZE;
        check(function, calls.status(function, kb));
    }

    @Override
    public void driverSetMaxCacheSize(long kb) {
        CuFileFunction function = CuFileFunction.DRIVER_SET_MAX_CACHE_SIZE;
        check(function, calls.status(function, kb));
    }

    @Override
    public void driverSetMaxPinnedMemSize(long kb) {
        CuFileFunction function = CuFileFunction.DRIVER_SET_MAX_PINNED_MEM_SIZE;
        check(function, calls.status(function, kb));
    }

    @Override
    public long useCount() {
        require(CuFileFunction.USE_COUNT);
        return calls.useCount();
    }

    @Override
    public long batchIoSetUp(int capacity) {
        MemorySegment out = CallState.current().scratch();
        out.set(JAVA_LONG, 0, 0);
        check(require(CuFileFunction.BATCH_IO_SET_UP),
                calls.status(CuFileFunction.BATCH_IO_SET_UP, out.address(), capacity));
        return out.get(JAVA_LONG, 0);
    }

    @Override
    public void batchIoSubmit(long batch, int count, MemorySegment params, int flags) {
        CuFileFunction function = require(CuFileFunction.BATCH_IO_SUBMIT);
        check(function, calls.submit(batch, count, params, flags));
    }

    @Override
    public void batchIoGetStatus(
            long batch, int minimum, MemorySegment count, MemorySegment events, MemorySegment timeout) {
        CuFileFunction function = require(CuFileFunction.BATCH_IO_GET_STATUS);
        check(function, calls.batchStatus(batch, minimum, count, events, timeout));
    }

    @Override
    public void batchIoCancel(long batch) {
        CuFileFunction function = require(CuFileFunction.BATCH_IO_CANCEL);
        check(function, calls.status(function, batch));
    }

    @Override
    public void batchIoDestroy(long batch) {
        calls.run(require(CuFileFunction.BATCH_IO_DESTROY), batch);
    }

    @Override
    public void readAsync(
            long handle,
            long base,
            MemorySegment size,
            MemorySegment fileOffset,
            MemorySegment bufferOffset,
            MemorySegment bytesDone,
            long stream) {
        CuFileFunction function = require(CuFileFunction.READ_ASYNC);
        check(function, calls.status(function, handle, base, size.address(), fileOffset.address(),
                bufferOffset.address(), bytesDone.address(), stream));
    }

    @Override
    public void writeAsync(
            long handle,
            long base,
            MemorySegment size,
            MemorySegment fileOffset,
            MemorySegment bufferOffset,
            MemorySegment bytesDone,
            long stream) {
        CuFileFunction function = require(CuFileFunction.WRITE_ASYNC);
        check(function, calls.status(function, handle, base, size.address(), fileOffset.address(),
                bufferOffset.address(), bytesDone.address(), stream));
    }

    @Override
    public void streamRegister(long stream, int flags) {
        CuFileFunction function = require(CuFileFunction.STREAM_REGISTER);
        check(function, calls.status(function, stream, flags));
    }

    @Override
    public void streamDeregister(long stream) {
        CuFileFunction function = require(CuFileFunction.STREAM_DEREGISTER);
        check(function, calls.status(function, stream));
    }

    @Override
    public int getVersion() {
        MemorySegment out = CallState.current().scratch();
        CuFileFunction function = require(CuFileFunction.GET_VERSION);
        check(function, calls.status(function, out.address()));
        return out.get(JAVA_INT, 0);
    }

    @Override
    public long getParameterSizeT(int parameter) {
        MemorySegment out = CallState.current().scratch();
        CuFileFunction function = require(CuFileFunction.GET_PARAMETER_SIZE_T);
        check(function, calls.status(function, parameter, out.address()));
        return out.get(JAVA_LONG, 0);
    }

    @Override
    public boolean getParameterBool(int parameter) {
        MemorySegment out = CallState.current().scratch();
        CuFileFunction function = require(CuFileFunction.GET_PARAMETER_BOOL);
        check(function, calls.status(function, parameter, out.address()));
        return out.get(JAVA_BOOLEAN, 0);
    }

    @Override
    public String getParameterString(int parameter) {
        CuFileFunction function = require(CuFileFunction.GET_PARAMETER_STRING);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = arena.allocate(TEXT_BYTES);
            check(function, calls.status(function, parameter, text.address(), TEXT_BYTES));
            return CString.at(text.address(), TEXT_BYTES);
        }
    }

    @Override
    public void setParameterSizeT(int parameter, long value) {
        CuFileFunction function = require(CuFileFunction.SET_PARAMETER_SIZE_T);
        check(function, calls.status(function, parameter, value));
    }

    @Override
    public void setParameterBool(int parameter, boolean value) {
        CuFileFunction function = require(CuFileFunction.SET_PARAMETER_BOOL);
        check(function, calls.status(function, parameter, value ? 1 : 0));
    }

    @Override
    public void setParameterString(int parameter, String value) {
        CuFileFunction function = require(CuFileFunction.SET_PARAMETER_STRING);
        try (Arena arena = Arena.ofConfined()) {
            check(function, calls.status(function, parameter, text(arena, function, value).address()));
        }
    }

    @Override
    public ParameterRange getParameterMinMaxValue(int parameter) {
        MemorySegment out = CallState.current().scratch();
        CuFileFunction function = require(CuFileFunction.GET_PARAMETER_MIN_MAX_VALUE);
        check(function, calls.status(function, parameter, out.address(), out.address() + SECOND));
        return new ParameterRange(out.get(JAVA_LONG, 0), out.get(JAVA_LONG, SECOND));
    }

    @Override
    public void setStatsLevel(int level) {
        CuFileFunction function = require(CuFileFunction.SET_STATS_LEVEL);
        check(function, calls.status(function, level));
    }

    @Override
    public int getStatsLevel() {
        MemorySegment out = CallState.current().scratch();
        CuFileFunction function = require(CuFileFunction.GET_STATS_LEVEL);
        check(function, calls.status(function, out.address()));
        return out.get(JAVA_INT, 0);
    }

    @Override
    public void statsStart() {
        check(require(CuFileFunction.STATS_START), calls.status(CuFileFunction.STATS_START));
    }

    @Override
    public void statsStop() {
        check(require(CuFileFunction.STATS_STOP), calls.status(CuFileFunction.STATS_STOP));
    }

    @Override
    public void statsReset() {
        check(require(CuFileFunction.STATS_RESET), calls.status(CuFileFunction.STATS_RESET));
    }

    @Override
    public StatisticsLevel1 getStatsL1() {
        try (Arena arena = Arena.ofConfined()) {
            return statistics.detailed().basic().read(statistics(arena, CuFileFunction.GET_STATS_L1));
        }
    }

    @Override
    public StatisticsLevel2 getStatsL2() {
        try (Arena arena = Arena.ofConfined()) {
            return statistics.detailed().read(statistics(arena, CuFileFunction.GET_STATS_L2));
        }
    }

    @Override
    public StatisticsLevel3 getStatsL3() {
        try (Arena arena = Arena.ofConfined()) {
            return statistics.read(statistics(arena, CuFileFunction.GET_STATS_L3));
        }
    }

    /**
     * Fetches a structure. Versions insert fields, so that counters behind them would appear under other names. Level 1 is written
     * whole, and the other levels begin with it: a version in which it is longer than known is refused.
     */
    private MemorySegment statistics(Arena arena, CuFileFunction function) {
        MemorySegment buffer = arena.allocate(StatsLevel3.BUFFER_BYTES, Long.BYTES);
        long known = statistics.detailed().basic().layout().byteSize();
        MemorySegment behind = buffer.asSlice(known).fill(UNTOUCHED);
        check(require(function), calls.status(CuFileFunction.GET_STATS_L1, buffer.address()));
        for (long at = 0; at < behind.byteSize(); at++) {
            if (behind.get(JAVA_BYTE, at) != UNTOUCHED) {
                throw CuFileException.of(
                        CuFileError.IO_NOT_SUPPORTED,
                        function.cName(),
                        "level 1 of cuFile %s is longer than the %s bytes that gds4j knows (%s)"
                                .formatted(version, known, description));
            }
        }
        if (function != CuFileFunction.GET_STATS_L1) {
            behind.fill((byte) 0);
            check(function, calls.status(function, buffer.address()));
        }
        return buffer;
    }

    @Override
    public long getBarSizeInKb(int gpu) {
        MemorySegment out = CallState.current().scratch();
        CuFileFunction function = require(CuFileFunction.GET_BAR_SIZE_IN_KB);
        check(function, calls.status(function, gpu, out.address()));
        return out.get(JAVA_LONG, 0);
    }

    @Override
    public void setParameterPosixPoolSlabArray(SlabArray slabs) {
        setSlabs(CuFileFunction.SET_PARAMETER_POSIX_POOL_SLAB_ARRAY, slabs);
    }

    @Override
    public SlabArray getParameterPosixPoolSlabArray(int length) {
        return getSlabs(CuFileFunction.GET_PARAMETER_POSIX_POOL_SLAB_ARRAY, length);
    }

    @Override
    public void driverSetP2pFlags(int target, int flags) {
        CuFileFunction function = require(CuFileFunction.DRIVER_SET_P2P_FLAGS);
        check(function, calls.status(function, target, flags));
    }

    @Override
    public int driverGetP2pFlags(int target) {
        MemorySegment out = CallState.current().scratch();
        out.set(JAVA_INT, 0, 0);
        CuFileFunction function = require(CuFileFunction.DRIVER_GET_P2P_FLAGS);
        check(function, calls.status(function, target, out.address()));
        return out.get(JAVA_INT, 0);
    }

    @Override
    public void exportPcieTopology(String file) {
        CuFileFunction function = require(CuFileFunction.EXPORT_PCIE_TOPOLOGY);
        try (Arena arena = Arena.ofConfined()) {
            check(function, calls.status(function, text(arena, function, file).address()));
        }
    }

    @Override
    public void setParameterGpuBounceBufferSlabArray(SlabArray slabs) {
        setSlabs(CuFileFunction.SET_PARAMETER_GPU_BOUNCE_BUFFER_SLAB_ARRAY, slabs);
    }

    @Override
    public SlabArray getParameterGpuBounceBufferSlabArray(int length) {
        return getSlabs(CuFileFunction.GET_PARAMETER_GPU_BOUNCE_BUFFER_SLAB_ARRAY, length);
    }

    @Override
    public long readv(long handle, MemorySegment vector, int count, long size, long fileOffset, int flags) {
        CuFileFunction function = require(CuFileFunction.READV);
        return decode(calls.transferVector(function, handle, vector, count, fileOffset, flags), size);
    }

    @Override
    public long writev(long handle, MemorySegment vector, int count, long size, long fileOffset, int flags) {
        CuFileFunction function = require(CuFileFunction.WRITEV);
        return decode(calls.transferVector(function, handle, vector, count, fileOffset, flags), size);
    }

    private void setSlabs(CuFileFunction function, SlabArray slabs) {
        require(function);
        int length = slabs.sizesKb().size();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment sizes = arena.allocateFrom(JAVA_LONG, toArray(slabs.sizesKb()));
            MemorySegment counts = arena.allocateFrom(JAVA_LONG, toArray(slabs.counts()));
            check(function, calls.status(function, sizes.address(), counts.address(), length));
        }
    }

    private SlabArray getSlabs(CuFileFunction function, int length) {
        require(function);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment sizes = arena.allocate(JAVA_LONG, length);
            MemorySegment counts = arena.allocate(JAVA_LONG, length);
            check(function, calls.status(function, sizes.address(), counts.address(), length));
            return new SlabArray(toList(sizes, length), toList(counts, length));
        }
    }

    private static long[] toArray(List<Long> values) {
        return values.stream().mapToLong(Long::longValue).toArray();
    }

    private static List<Long> toList(MemorySegment values, int length) {
        List<Long> list = new ArrayList<>(length);
        for (int i = 0; i < length; i++) {
            list.add(values.getAtIndex(JAVA_LONG, i));
        }
        return list;
    }

    private static MemorySegment text(Arena arena, CuFileFunction function, String value) {
        if (!CString.isRepresentable(value)) {
            throw CuFileException.invalid(function.cName(), "the text holds a NUL");
        }
        return CString.ofFileName(arena, value);
    }

    private CuFileFunction require(CuFileFunction function) {
        if (!calls.has(function)) {
            throw CuFileException.of(
                    CuFileError.IO_NOT_SUPPORTED,
                    function.cName(),
                    "needs cuFile %s, which %s is not".formatted(function.since(), description));
        }
        return function;
    }

    private static void check(CuFileFunction function, long status) {
        CuFileResults.check(function, status);
    }
}
