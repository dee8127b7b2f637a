package io.gds4j.testkit.contract;

import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.ChannelDescriptors;
import io.gds4j.testkit.FakeGpu;
import io.gds4j.testkit.FakeStream;
import io.gds4j.testkit.RawDescriptors;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;

/** The contract on the testkit's fake GPU, with GPU memory and streams that are as late as possible. */
@Tag("slow")
class FakeGpuContractTest extends BackendContractSuite {
    /** Functions of the real library only: parameters, statistics and facts about its machine. */
    static final Set<String> UNBUILT = Set.of(
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
            "cuFileGetParameterGpuBounceBufferSlabArray");

    private static final RawDescriptors DESCRIPTORS = new ChannelDescriptors();

    private final FakeGpu gpu = FakeGpu.builder().bytesPerDevice(1L << 30).build();

    @Override
    public CuFileBackend createBackend(CuFileConfig config) {
        return gpu.backend(config);
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
    public List<MemoryKind> kinds() {
        return List.of(MemoryKind.CUDA_DEVICE);
    }

    @Override
    public boolean triesMoreThanTwoGibibytes() {
        return false;
    }

    @Override
    public boolean servesStreams() {
        return true;
    }

    @Override
    public OrderedStream newStream() {
        FakeStream stream = gpu.newStream();
        return new OrderedStream() {
            @Override
            public long address() {
                return stream.address();
            }

            @Override
            public void enqueue(Runnable work) {
                stream.enqueue(work);
            }

            @Override
            public void synchronize() {
                stream.synchronize();
            }

            @Override
            public void close() {
                stream.close();
            }
        };
    }

    @Override
    public Set<String> unbuiltFunctions() {
        return UNBUILT;
    }
}
