package io.gds4j.testkit.contract;

import io.gds4j.config.CuFileConfig;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.ChannelDescriptors;
import io.gds4j.testkit.RawDescriptors;
import io.gds4j.testkit.ReferenceBackend;
import java.nio.file.Path;
import java.util.Set;

/** Tests the suite itself on the simplest backend. */
class ReferenceBackendContractTest extends BackendContractSuite {
    private static final RawDescriptors DESCRIPTORS = new ChannelDescriptors();

    @Override
    public CuFileBackend createBackend(CuFileConfig config) {
        return new ReferenceBackend();
    }

    @Override
    public Path directory() {
        return Path.of("target").toAbsolutePath();
    }

    @Override
    public RawDescriptors descriptors() {
        return DESCRIPTORS;
    }

    @Override
    public boolean triesMoreThanTwoGibibytes() {
        return false;
    }

    @Override
    public Set<String> unbuiltFunctions() {
        return Set.of(
                "cuFileBatchIOSetUp",
                "cuFileBatchIOSubmit",
                "cuFileBatchIOGetStatus",
                "cuFileBatchIOCancel",
                "cuFileBatchIODestroy",
                "cuFileReadAsync",
                "cuFileWriteAsync",
                "cuFileStreamRegister",
                "cuFileStreamDeregister",
                "cuFileGetVersion",
                "cuFileGetParameterSizeT",
                "cuFileGetParameterBool",
                "cuFileGetParameterString",
                "cuFileSetParameterSizeT",
                "cuFileSetParameterBool",
                "cuFileSetParameterString",
                "cuFileGetParameterMinMaxValue",
                "cuFileSetStatsLevel",
                "cuFileGetStatsLevel",
                "cuFileStatsStart",
                "cuFileStatsStop",
                "cuFileStatsReset",
                "cuFileGetStatsL1",
                "cuFileGetStatsL2",
                "cuFileGetStatsL3",
                "cuFileGetBARSizeInKB",
                "cuFileSetParameterPosixPoolSlabArray",
                "cuFileGetParameterPosixPoolSlabArray",
                "cuFileDriverSetP2PFlags",
                "cuFileDriverGetP2PFlags",
                "cuFileExportPCIeTopology",
                "cuFileSetParameterGpuBounceBufferSlabArray",
                "cuFileGetParameterGpuBounceBufferSlabArray",
                "cuFileReadv",
                "cuFileWritev");
    }
}
