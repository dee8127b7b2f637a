package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.posix.NativeDescriptors;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.RawDescriptors;
import io.gds4j.testkit.contract.BackendUnderTest;
import io.gds4j.testkit.contract.Divergence;
import io.gds4j.testkit.contract.LaterContract;
import io.gds4j.testkit.contract.ParameterContract;
import io.gds4j.testkit.contract.ScatterContract;
import io.gds4j.testkit.contract.VectorContract;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;

/** The groups of the contract that a newer library changes, over a double of cuFile 1.20 with direct storage. */
@Tag("slow")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LaterLibCuFileContractTest implements BackendUnderTest {
    private final FakeMachine machine = new FakeMachine(true).withDirectStorage();
    private final RawDescriptors descriptors = new NativeDescriptors();

    @Nested
    class Vector extends VectorContract {
        @Override
        protected BackendUnderTest backend() {
            return LaterLibCuFileContractTest.this;
        }
    }

    @Nested
    class Scatter extends ScatterContract {
        @Override
        protected BackendUnderTest backend() {
            return LaterLibCuFileContractTest.this;
        }
    }

    @Nested
    class Later extends LaterContract {
        @Override
        protected BackendUnderTest backend() {
            return LaterLibCuFileContractTest.this;
        }
    }

    @Nested
    class Parameter extends ParameterContract {
        @Override
        protected BackendUnderTest backend() {
            return LaterLibCuFileContractTest.this;
        }
    }

    @Override
    public CuFileBackend createBackend(CuFileConfig config) {
        return machine.backend(config);
    }

    @Override
    public Path directory() {
        return Path.of("target").toAbsolutePath();
    }

    @Override
    public RawDescriptors descriptors() {
        return descriptors;
    }

    @Override
    public List<MemoryKind> kinds() {
        return List.of(MemoryKind.HOST, MemoryKind.CUDA_DEVICE);
    }

    @Override
    public Set<Divergence> divergences() {
        return Set.of(Divergence.ERRNO_LOST, Divergence.ONE_CONFIGURATION);
    }

    @Override
    public Set<String> unbuiltFunctions() {
        return Set.of();
    }

    @AfterAll
    void libraryWouldHaveSurvivedEveryCall() {
        assertThat(machine.fake.violations()).isEmpty();
        assertThat(machine.fake.transfers().openFiles()).isZero();
    }
}
