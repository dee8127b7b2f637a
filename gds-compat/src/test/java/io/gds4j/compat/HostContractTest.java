package io.gds4j.compat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import java.util.List;

/** The contract over host memory, with the backend as programs get it. */
class HostContractTest extends CompatUnderTest {
    @Override
    public CuFileBackend createBackend(CuFileConfig config) {
        return new CompatBackendProvider().create(config);
    }

    @Override
    public List<MemoryKind> kinds() {
        return List.of(MemoryKind.HOST, MemoryKind.HOST_HUGEPAGE);
    }
}
