package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cufile.CuFileFunction;
import io.gds4j.ffi.cufile.CuFileVersion;
import io.gds4j.ffi.posix.NativeDescriptors;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.RawDescriptors;
import io.gds4j.testkit.contract.BackendContractSuite;
import io.gds4j.testkit.contract.Divergence;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;

/** The contract of the libcufile backend, over doubles of the library and of CUDA. */
class LibCuFileContractTest extends BackendContractSuite {
    /** Functions that cuFile 1.15 lacks; vectors are served range by range. */
    static final Set<String> LATER_FUNCTIONS = laterThan(new CuFileVersion(1150));

    /** Returns the functions that came after a version. */
    static Set<String> laterThan(CuFileVersion version) {
        return Arrays.stream(CuFileFunction.values())
                .filter(function -> function != CuFileFunction.READV && function != CuFileFunction.WRITEV)
                .filter(function -> {
                    String[] since = function.since().split("\\.");
                    return Integer.parseInt(since[0]) * 1000 + Integer.parseInt(since[1]) * 10 > version.number();
                })
                .map(CuFileFunction::cName)
                .collect(Collectors.toUnmodifiableSet());
    }

    private final FakeMachine machine = new FakeMachine();
    private final RawDescriptors descriptors = new NativeDescriptors();

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
    public int pieceBytes() {
        return 128 << 10;
    }

    @Override
    public boolean servesStreams() {
        return true;
    }

    @Override
    public boolean triesMoreThanTwoGibibytes() {
        return false;
    }

    @Override
    public Set<Divergence> divergences() {
        return Set.of(Divergence.ERRNO_LOST, Divergence.ONE_CONFIGURATION);
    }

    @Override
    public Set<String> unbuiltFunctions() {
        return LATER_FUNCTIONS;
    }

    @AfterAll
    void libraryWouldHaveSurvivedEveryCall() {
        assertThat(machine.fake.violations()).isEmpty();
        assertThat(machine.fake.transfers().openFiles()).isZero();
        assertThat(machine.fake.transfers().registeredBuffers()).isEmpty();
        assertThat(machine.cuda.violations()).isEmpty();
    }
}
