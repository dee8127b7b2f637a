package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.cuda.FakeProgram;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.random.ProgramGpu;
import java.util.List;

/** Backends with real system calls and the fake driver of a GPU. */
final class FakeGpu implements AutoCloseable {
    /** Host memory is listed twice because it has more code paths. */
    static final List<MemoryKind> KINDS = List.of(
            MemoryKind.HOST,
            MemoryKind.HOST,
            MemoryKind.HOST_HUGEPAGE,
            MemoryKind.HOST_PINNED,
            MemoryKind.CUDA_DEVICE,
            MemoryKind.CUDA_DEVICE,
            MemoryKind.CUDA_MANAGED,
            MemoryKind.CUDA_POOL);

    private final FakeCuda cuda = new FakeCuda();
    private final CudaAvailability.Available availability = cuda.available();

    CuFileBackend backend(CuFileConfig config) {
        return new CompatBackend(config, FfmPosix.instance(), availability);
    }

    /** Returns the program's own use of the GPU. */
    ProgramGpu program() {
        return new FakeProgram(cuda, availability);
    }

    @Override
    public void close() {
        assertThat(cuda.violations()).as("rules of CUDA broken").isEmpty();
        assertThat(cuda.leaks()).as("CUDA objects left").isEmpty();
    }
}
