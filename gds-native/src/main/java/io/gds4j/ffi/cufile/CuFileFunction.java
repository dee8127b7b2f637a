package io.gds4j.ffi.cufile;

import java.util.List;

/**
 * The functions of libcufile, in the order of {@code cufile.h}. Those of cuFile 1.0 are required. Each later one is found by
 * its symbol, not by the library's version.
 */
public enum CuFileFunction {
    HANDLE_REGISTER("cuFileHandleRegister"),
    HANDLE_DEREGISTER("cuFileHandleDeregister"),
    BUF_REGISTER("cuFileBufRegister"),
    BUF_DEREGISTER("cuFileBufDeregister"),
    READ("cuFileRead"),
    WRITE("cuFileWrite"),
    DRIVER_OPEN("cuFileDriverOpen"),
    DRIVER_CLOSE("cuFileDriverClose"),
    DRIVER_GET_PROPERTIES("cuFileDriverGetProperties"),
    DRIVER_SET_POLL_MODE("cuFileDriverSetPollMode"),
    DRIVER_SET_MAX_DIRECT_IO_SIZE("cuFileDriverSetMaxDirectIOSize"),
    DRIVER_SET_MAX_CACHE_SIZE("cuFileDriverSetMaxCacheSize"),
    DRIVER_SET_MAX_PINNED_MEM_SIZE("cuFileDriverSetMaxPinnedMemSize"),
    USE_COUNT("cuFileUseCount", "1.4"),
    BATCH_IO_SET_UP("cuFileBatchIOSetUp", "1.6"),
    BATCH_IO_SUBMIT("cuFileBatchIOSubmit", "1.6"),
    BATCH_IO_GET_STATUS("cuFileBatchIOGetStatus", "1.6"),
    BATCH_IO_CANCEL("cuFileBatchIOCancel", "1.6"),
    BATCH_IO_DESTROY("cuFileBatchIODestroy", "1.6"),
    READ_ASYNC("cuFileReadAsync", "1.7"),
    WRITE_ASYNC("cuFileWriteAsync", "1.7"),
    STREAM_REGISTER("cuFileStreamRegister", "1.7"),
    STREAM_DEREGISTER("cuFileStreamDeregister", "1.7"),
    GET_VERSION("cuFileGetVersion", "1.8"),
    GET_PARAMETER_SIZE_T("cuFileGetParameterSizeT", "1.14"),
    GET_PARAMETER_BOOL("cuFileGetParameterBool", "1.14"),
    GET_PARAMETER_STRING("cuFileGetParameterString", "1.14"),
    SET_PARAMETER_SIZE_T("cuFileSetParameterSizeT", "1.14"),
    SET_PARAMETER_BOOL("cuFileSetParameterBool", "1.14"),
    SET_PARAMETER_STRING("cuFileSetParameterString", "1.14"),
    GET_PARAMETER_MIN_MAX_VALUE("cuFileGetParameterMinMaxValue", "1.15"),
    SET_STATS_LEVEL("cuFileSetStatsLevel", "1.15"),
    GET_STATS_LEVEL("cuFileGetStatsLevel", "1.15"),
    STATS_START("cuFileStatsStart", "1.15"),
    STATS_STOP("cuFileStatsStop", "1.15"),
    STATS_RESET("cuFileStatsReset", "1.15"),
    GET_STATS_L1("cuFileGetStatsL1", "1.15"),
    GET_STATS_L2("cuFileGetStatsL2", "1.15"),
    GET_STATS_L3("cuFileGetStatsL3", "1.15"),
    GET_BAR_SIZE_IN_KB("cuFileGetBARSizeInKB", "1.15"),
    SET_PARAMETER_POSIX_POOL_SLAB_ARRAY("cuFileSetParameterPosixPoolSlabArray", "1.15"),
    GET_PARAMETER_POSIX_POOL_SLAB_ARRAY("cuFileGetParameterPosixPoolSlabArray", "1.15"),
    DRIVER_SET_P2P_FLAGS("cuFileDriverSetP2PFlags", "1.16"),
    DRIVER_GET_P2P_FLAGS("cuFileDriverGetP2PFlags", "1.16"),
    EXPORT_PCIE_TOPOLOGY("cuFileExportPCIeTopology", "1.17"),
    SET_PARAMETER_GPU_BOUNCE_BUFFER_SLAB_ARRAY("cuFileSetParameterGpuBounceBufferSlabArray", "1.17"),
    GET_PARAMETER_GPU_BOUNCE_BUFFER_SLAB_ARRAY("cuFileGetParameterGpuBounceBufferSlabArray", "1.17"),
    READV("cuFileReadv", "1.19"),
    WRITEV("cuFileWritev", "1.19");

    private static final String FIRST = "1.0";

    private final String cName;
    private final String since;

    CuFileFunction(String cName) {
        this(cName, FIRST);
    }

    CuFileFunction(String cName, String since) {
        this.cName = cName;
        this.since = since;
    }

    /** Name in the documentation. */
    public String cName() {
        return cName;
    }

    /** Symbols to look for, best first. Since 1.4 the header turns cuFileDriverClose into another symbol. */
    List<String> symbols() {
        return this == DRIVER_CLOSE ? List.of("cuFileDriverClose_v2", cName) : List.of(cName);
    }

    /** First version of cuFile that has it. */
    public String since() {
        return since;
    }

    /** True if gds4j refuses a library without it. */
    boolean isRequired() {
        return since.equals(FIRST);
    }
}
