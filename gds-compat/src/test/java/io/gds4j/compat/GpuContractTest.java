package io.gds4j.compat;

import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.CudaOrderedStream;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.testkit.contract.OrderedStream;
import java.util.List;
import org.junit.jupiter.api.Tag;

/** The contract over every kind of GPU memory, with a real driver. */
@Tag("gpu")
class GpuContractTest extends CompatUnderTest {
    @Override
    public CuFileBackend createBackend(CuFileConfig config) {
        return new CompatBackendProvider().create(config);
    }

    @Override
    public OrderedStream newStream() {
        return new CudaOrderedStream();
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
}
