package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_BOOLEAN;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.statistics.GpuStatistics;
import io.gds4j.statistics.StatisticsLevel3;
import java.lang.foreign.MemorySegment;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/** Cases of the driver, parameters and statistics. */
final class RawDriverCases {
    private static final int TEXT_BYTES = 256;

    private final RawLibrary library;
    private final CuFileCalls calls;

    RawDriverCases(RawLibrary library) {
        this.library = library;
        this.calls = library.calls;
    }

    private void set(String name, CuFileFunction function, long value) {
        library.status(name, calls.status(function, value));
    }

    private void stage(String name, int parameter, long value) {
        library.status(name, calls.status(CuFileFunction.SET_PARAMETER_SIZE_T, parameter, value));
    }

    void beforeAndAfterOpen() {
        MemorySegment out = library.arena.allocate(4096, 8);
        library.status("getVersion before open", calls.status(CuFileFunction.GET_VERSION, out.address()));
        library.row("version", Integer.toString(out.get(JAVA_INT, 0)));
        library.status("getVersion(null)", calls.status(CuFileFunction.GET_VERSION, 0));
        library.read("read before open", 0x1234, library.device, 4096, 0, 0);
        library.driverClose("close before open");
        library.bufDeregister("bufDeregister before open", library.device);
        library.status("getParameterSizeT(io_batchsize) before open",
                calls.status(CuFileFunction.GET_PARAMETER_SIZE_T, 9, out.address()));
        library.status("batchSetUp before open", calls.status(CuFileFunction.BATCH_IO_SET_UP, out.address(), 8));
        stage("setParameterSizeT(max_io_threads=2)", 2, 2);
        stage("setParameterSizeT(per_buffer_cache=7)", 7, 7);
        stage("setParameterSizeT(bad enum 99)", 99, 1);
        library.status("getProperties(null) before open",
                calls.status(CuFileFunction.DRIVER_GET_PROPERTIES, 0));
        library.status("setPollMode before open", calls.status(CuFileFunction.DRIVER_SET_POLL_MODE, 1, 4));
        library.status("handleRegister(null,null)",
                calls.status(CuFileFunction.HANDLE_REGISTER, 0, 0));
        library.driverOpen("open");
        library.driverOpen("open again");
        stage("setParameter while open", 2, 2);
        library.status("getProperties", calls.status(CuFileFunction.DRIVER_GET_PROPERTIES, out.address()));
        set("setMaxDirectIOSize(1024)", CuFileFunction.DRIVER_SET_MAX_DIRECT_IO_SIZE, 1024);
        set("setMaxDirectIOSize(7)", CuFileFunction.DRIVER_SET_MAX_DIRECT_IO_SIZE, 7);
        set("setMaxDirectIOSize(0)", CuFileFunction.DRIVER_SET_MAX_DIRECT_IO_SIZE, 0);
        set("setMaxCacheSize(1<<20)", CuFileFunction.DRIVER_SET_MAX_CACHE_SIZE, 1 << 20);
        set("setMaxPinned(7)", CuFileFunction.DRIVER_SET_MAX_PINNED_MEM_SIZE, 7);
        library.status("setPollMode(true,3)", calls.status(CuFileFunction.DRIVER_SET_POLL_MODE, 1, 3));
        parameterRows();
        library.driverClose("close");
        library.driverClose("close 2");
        library.driverClose("close 3");
    }

    private void parameterRows() {
        for (int i = 0; i < 12; i++) {
            MemorySegment min = library.cell(0);
            MemorySegment max = library.cell(0);
            MemorySegment now = library.cell(0);
            int error = CuFileResults
                    .error(calls.status(CuFileFunction.GET_PARAMETER_MIN_MAX_VALUE, i, min.address(), max.address()));
            calls.status(CuFileFunction.GET_PARAMETER_SIZE_T, i, now.address());
            library.row("sizeT param " + i, "minmax %d current %d min %d max %d".formatted(
                    error, now.get(JAVA_LONG, 0), min.get(JAVA_LONG, 0), max.get(JAVA_LONG, 0)));
        }
        for (int i = 0; i < 12; i++) {
            MemorySegment value = library.cell(0);
            int error = CuFileResults.error(calls.status(CuFileFunction.GET_PARAMETER_BOOL, i, value.address()));
            library.row("bool param " + i, "err %d value %d".formatted(error, value.get(JAVA_BOOLEAN, 0) ? 1 : 0));
        }
        for (int i = 0; i < 3; i++) {
            MemorySegment text = library.arena.allocate(TEXT_BYTES);
            int error = CuFileResults
                    .error(calls.status(CuFileFunction.GET_PARAMETER_STRING, i, text.address(), TEXT_BYTES));
            library.row("string param " + i, "err %d '%s'".formatted(error, text.getString(0)));
        }
        for (int gpu : new int[]{0, 9}) {
            MemorySegment kb = library.cell(0);
            int error = CuFileResults.error(calls.status(CuFileFunction.GET_BAR_SIZE_IN_KB, gpu, kb.address()));
            library.row("BAR(" + gpu + ")",
                    error == 0 ? "err 0 size " + kb.get(JAVA_LONG, 0) : "err " + error);
        }
    }

    /** Opens the library with configurations that it refuses. */
    void opening() {
        library.driverOpen("open");
        library.status("handleRegister(null,null)",
                calls.status(CuFileFunction.HANDLE_REGISTER, 0, 0));
    }

    /** Opens the library as {@link #opening}, but reads parameters and properties first. */
    void parameters() {
        library.status("getProperties(null) before open",
                calls.status(CuFileFunction.DRIVER_GET_PROPERTIES, 0));
        library.status("setPollMode before open", calls.status(CuFileFunction.DRIVER_SET_POLL_MODE, 1, 4));
        library.status("handleRegister(null,null)",
                calls.status(CuFileFunction.HANDLE_REGISTER, 0, 0));
        library.driverOpen("open");
    }

    void statistics() {
        library.status("setStatsLevel 3", calls.status(CuFileFunction.SET_STATS_LEVEL, 3));
        library.status("setStatsLevel 9", calls.status(CuFileFunction.SET_STATS_LEVEL, 9));
        library.driverOpen("open");
        library.status("statsStart", calls.status(CuFileFunction.STATS_START));
        long handle = library.registerSilently(library.buffered);
        for (int i = 0; i < 10; i++) {
            CuFileCalls.transfer(calls.entry(CuFileFunction.READ), handle, library.device, 65536, 0, 0);
        }
        CuFileCalls.transfer(calls.entry(CuFileFunction.READ), handle, library.device, 1000, 3, 0);
        CuFileCalls.transfer(calls.entry(CuFileFunction.WRITE), handle, library.device, 4096, 0, 0);
        MemorySegment out = library.arena.allocate(StatsLevel3.BUFFER_BYTES, 8);
        library.status("getL3", calls.status(CuFileFunction.GET_STATS_L3, out.address()));
        StatisticsLevel3 all = StatsLevel3.of(library.version()).read(out);
        library.row("counts",
                "reads ok %d err %d bytes %d writes ok %d hdl %d gpus %d posix_reads %d unaligned %d total %d"
                        .formatted(
                                all.detailed().basic().readOps().ok(),
                                all.detailed().basic().readOps().err(),
                                all.detailed().basic().readBytes(),
                                all.detailed().basic().writeOps().ok(),
                                all.detailed().basic().handleRegisterOps().ok(),
                                all.gpus().size(),
                                ofFirst(all, GpuStatistics::posixReads),
                                ofFirst(all, GpuStatistics::unalignedReads),
                                ofFirst(all, GpuStatistics::totalReads)));
        library.row("read histogram",
                all.detailed().readSizeKbHistogram().stream().map(String::valueOf).collect(Collectors.joining(" ")));
        library.status("getL1", calls.status(CuFileFunction.GET_STATS_L1, out.address()));
        library.status("reset", calls.status(CuFileFunction.STATS_RESET));
        library.status("stop", calls.status(CuFileFunction.STATS_STOP));
        library.status("getL1(null)", calls.status(CuFileFunction.GET_STATS_L1, 0));
        library.driverClose("close");
    }

    private static long ofFirst(StatisticsLevel3 all, ToLongFunction<GpuStatistics> counter) {
        return all.gpus().stream().limit(1).mapToLong(counter).sum();
    }
}
