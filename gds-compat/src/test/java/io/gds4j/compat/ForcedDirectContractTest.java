package io.gds4j.compat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.spi.CuFileBackend;
import org.junit.jupiter.api.Tag;

/** The contract with all aligned I/O past the page cache, also of cached bytes. */
@Tag("slow")
class ForcedDirectContractTest extends CompatUnderTest {
    @Override
    public CuFileBackend createBackend(CuFileConfig config) {
        return new CompatBackendProvider().create(config);
    }

    @Override
    public CuFileConfig config() {
        return CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.FORCE_ODIRECT_MODE, true)
                .set(CuFileKeys.MAX_IO_THREADS, 3L)
                .build();
    }

    @Override
    public int pieceBytes() {
        return 1 << 20;
    }

    @Override
    public boolean triesMoreThanTwoGibibytes() {
        return false;
    }
}
