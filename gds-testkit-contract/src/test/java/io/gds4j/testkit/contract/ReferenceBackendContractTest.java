package io.gds4j.testkit.contract;

import io.gds4j.config.CuFileConfig;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.ChannelDescriptors;
import io.gds4j.testkit.RawDescriptors;
import io.gds4j.testkit.ReferenceBackend;
import java.nio.file.Path;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;

/** Tests the suite itself on the simplest backend. */
@Tag("slow")
class ReferenceBackendContractTest extends BackendContractSuite {
    /** Streams, batches and vectors, and what the fake GPU does not serve either. */
    private static final Set<String> UNBUILT = Stream.concat(FakeGpuContractTest.UNBUILT.stream(), Stream.of(
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
            "cuFileReadv",
            "cuFileWritev")).collect(Collectors.toUnmodifiableSet());

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
        return UNBUILT;
    }
}
