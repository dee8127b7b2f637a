package io.gds4j.libcufile;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.CudaOrderedStream;
import io.gds4j.ffi.cufile.CuFileVersion;
import io.gds4j.ffi.cufile.GpuMachine;
import io.gds4j.ffi.posix.NativeDescriptors;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.RawDescriptors;
import io.gds4j.testkit.contract.BackendContractSuite;
import io.gds4j.testkit.contract.Divergence;
import io.gds4j.testkit.contract.OrderedStream;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;

/**
 * The contract of the libcufile backend, over NVIDIA's library and driver. On machines without direct storage the library is in
 * POSIX mode. Tests make files in the folder that {@code gds4j.gpu.directory} names: the library asks udev for its disk.
 */
@Tag("gpu")
class GpuLibCuFileContractTest extends BackendContractSuite {
    private final RawDescriptors descriptors = new NativeDescriptors();

    @Override
    public CuFileBackend createBackend(CuFileConfig config) {
        return new LibCuFileBackendProvider().create(config);
    }

    @Override
    public Path directory() {
        return GpuMachine.directory();
    }

    @Override
    public RawDescriptors descriptors() {
        return descriptors;
    }

    @Override
    public List<MemoryKind> kinds() {
        return List.of(
                MemoryKind.CUDA_DEVICE,
                MemoryKind.CUDA_MANAGED,
                MemoryKind.CUDA_POOL,
                MemoryKind.CUDA_VMM,
                MemoryKind.HOST_PINNED,
                MemoryKind.HOST_REGISTERED,
                MemoryKind.HOST);
    }

    /** The compat backend's list, so that both have the same cases. */
    @Override
    public int pieceBytes() {
        return 4 << 20;
    }

    @Override
    public boolean servesStreams() {
        return true;
    }

    @Override
    public OrderedStream newStream() {
        return new CudaOrderedStream();
    }

    @Override
    public Set<Divergence> divergences() {
        Set<Divergence> kept = EnumSet.of(Divergence.ERRNO_LOST, Divergence.ONE_CONFIGURATION);
        if (version() < 1170) {
            kept.add(Divergence.MEMFD_REFUSED);
        }
        if (DirectStorageProbe.probe(config()) instanceof DirectStorageProbe.Lacking) {
            kept.add(Divergence.NEEDS_COMPAT_MODE);
        }
        return kept;
    }

    @Override
    public Set<String> unbuiltFunctions() {
        return LibCuFileContractTest.laterThan(new CuFileVersion(version()));
    }

    private int version() {
        return createBackend(config()).controls().getVersion();
    }
}
