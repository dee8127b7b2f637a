package io.gds4j.ffi.cufile;

import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.contract.BackendUnderTest;
import io.gds4j.testkit.contract.Divergence;
import io.gds4j.testkit.contract.StatisticsContract;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** What of the contract holds where the library counts. */
class LibraryStatisticsContractTest extends StatisticsContract {
    private final BackendUnderTest counting = new Counting(FakeMachine.withStatisticsOfTheLibrary());

    @Override
    protected BackendUnderTest backend() {
        return counting;
    }

    private record Counting(FakeMachine machine) implements BackendUnderTest {
        @Override
        public CuFileBackend createBackend(CuFileConfig config) {
            return machine.backend(config);
        }

        @Override
        public Path directory() {
            return Path.of("target").toAbsolutePath();
        }

        @Override
        public List<MemoryKind> kinds() {
            return List.of(MemoryKind.HOST, MemoryKind.CUDA_DEVICE);
        }

        @Override
        public Set<Divergence> divergences() {
            return Set.of(
                    Divergence.ERRNO_LOST, Divergence.ONE_CONFIGURATION, Divergence.STATISTICS_OF_THE_LIBRARY);
        }

        @Override
        public Set<String> unbuiltFunctions() {
            return LibCuFileContractTest.LATER_FUNCTIONS;
        }
    }
}
