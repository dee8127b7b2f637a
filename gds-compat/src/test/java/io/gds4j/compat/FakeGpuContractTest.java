package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;

/**
 * The contract over GPU memory without a GPU. The fake driver copies late: code that does not wait for a copy, or uses a slab
 * again too early, moves wrong bytes.
 */
@Tag("slow")
class FakeGpuContractTest extends CompatUnderTest {
    private static final int PIECE_KB = 128;

    private final FakeCuda cuda = new FakeCuda();
    private final CudaAvailability availability = cuda.available();

    @Override
    public CuFileBackend createBackend(CuFileConfig config) {
        return new CompatBackend(config, FfmPosix.instance(), availability);
    }

    @Override
    public CuFileConfig config() {
        return CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.FORCE_ODIRECT_MODE, true)
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, (long) PIECE_KB))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(16L, 8L))
                .set(CuFileKeys.MAX_IO_THREADS, 3L)
                .build();
    }

    @Override
    public List<MemoryKind> kinds() {
        return List.of(
                MemoryKind.CUDA_DEVICE,
                MemoryKind.CUDA_MANAGED,
                MemoryKind.CUDA_POOL,
                MemoryKind.CUDA_VMM,
                MemoryKind.HOST_PINNED);
    }

    @Override
    public int pieceBytes() {
        return PIECE_KB << 10;
    }

    @Override
    public boolean triesMoreThanTwoGibibytes() {
        return false;
    }

    @AfterAll
    void nothingIsBrokenAndNothingLeft() {
        assertThat(cuda.violations()).as("rules of CUDA broken").isEmpty();
        assertThat(cuda.leaks()).as("CUDA objects left").isEmpty();
    }
}
