package io.gds4j.compat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import java.util.List;
import org.junit.jupiter.api.Tag;

/** The contract over a fake GPU with all I/O past the page cache, in small pieces. */
@Tag("gpu")
class ForcedDirectGpuContractTest extends CompatUnderTest {
    private static final int PIECE_KB = 1024;

    @Override
    public CuFileBackend createBackend(CuFileConfig config) {
        return new CompatBackendProvider().create(config);
    }

    @Override
    public CuFileConfig config() {
        return CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.FORCE_ODIRECT_MODE, true)
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, (long) PIECE_KB))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(16L, 8L))
                .build();
    }

    @Override
    public List<MemoryKind> kinds() {
        return List.of(MemoryKind.CUDA_DEVICE, MemoryKind.CUDA_MANAGED);
    }

    @Override
    public int pieceBytes() {
        return PIECE_KB << 10;
    }

    @Override
    public boolean triesMoreThanTwoGibibytes() {
        return false;
    }
}
