package io.gds4j.compat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.spi.CuFileBackend;
import java.util.List;
import org.junit.jupiter.api.Tag;

/** The contract with the smallest pool: every request beyond a page is cut into pieces. */
@Tag("slow")
class SmallSlabsContractTest extends CompatUnderTest {
    private static final int PIECE_KB = 64;

    @Override
    public CuFileBackend createBackend(CuFileConfig config) {
        return new CompatBackendProvider().create(config);
    }

    @Override
    public CuFileConfig config() {
        return CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, (long) PIECE_KB))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(1L, 1L))
                .set(CuFileKeys.MAX_IO_THREADS, 4L)
                .build();
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
