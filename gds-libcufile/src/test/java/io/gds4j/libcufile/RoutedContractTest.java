package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.Logged;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.NativeDescriptors;
import io.gds4j.internal.routing.RoutingBackend;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.FileSource;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.testkit.RawDescriptors;
import io.gds4j.testkit.contract.BackendContractSuite;
import io.gds4j.testkit.contract.Divergence;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * The contract over two backends: the first one refuses half of the files, and every third transfer of the files that it takes.
 */
@Tag("slow")
class RoutedContractTest extends BackendContractSuite {
    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("; libcufile repeats what libcufile fails to do");

    private final FakeMachine machine = new FakeMachine();
    private final RawDescriptors descriptors = new NativeDescriptors();

    private static final class Fickle extends ForwardingBackend {
        private final AtomicInteger transfers = new AtomicInteger();

        Fickle(CuFileBackend delegate) {
            super(delegate);
        }

        @Override
        public BackendFile handleRegister(FileSource source) {
            BackendFile file = delegate().handleRegister(source);
            if (file.path().hashCode() % 2 == 0) {
                return file;
            }
            // as libcufile, after it has opened the driver and created a new file
            delegate().handleDeregister(file);
            throw CuFileException.of(CuFileError.INTERNAL_ERROR, "cuFileHandleRegister", "not on this disk");
        }

        @Override
        public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
            fail("cuFileRead");
            return delegate().read(file, base, size, fileOffset, bufferOffset);
        }

        @Override
        public long write(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
            fail("cuFileWrite");
            return delegate().write(file, base, size, fileOffset, bufferOffset);
        }

        private void fail(String function) {
            if (transfers.getAndIncrement() % 3 == 2) {
                throw CuFileException.of(CuFileError.NOMEM_ERROR, function, "no bounce buffer is free");
            }
        }
    }

    @Override
    public CuFileBackend createBackend(CuFileConfig config) {
        return new RoutingBackend(new Fickle(machine.backend(config)), () -> machine.backend(config));
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
    public boolean servesStreams() {
        return true;
    }

    @Override
    public boolean triesMoreThanTwoGibibytes() {
        return false;
    }

    @Override
    public int pieceBytes() {
        return 64 << 10;
    }

    @Override
    public List<MemoryKind> kinds() {
        return List.of(MemoryKind.CUDA_DEVICE);
    }

    @Override
    public Set<Divergence> divergences() {
        return Set.of(
                Divergence.ERRNO_LOST, Divergence.ONE_CONFIGURATION, Divergence.STATISTICS_OF_ONE_BACKEND);
    }

    @Override
    public Set<String> unbuiltFunctions() {
        return LibCuFileContractTest.LATER_FUNCTIONS;
    }

    @AfterAll
    void libraryWouldHaveSurvivedEveryCall() {
        assertThat(machine.fake.violations()).isEmpty();
        assertThat(machine.fake.transfers().openFiles()).isZero();
        assertThat(machine.fake.transfers().registeredBuffers()).isEmpty();
    }
}
