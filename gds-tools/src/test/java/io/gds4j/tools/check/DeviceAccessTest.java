package io.gds4j.tools.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAttributes;
import io.gds4j.ffi.cuda.CudaAvailability;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;

class DeviceAccessTest {
    private final CudaAvailability none = new CudaAvailability.Unavailable("no driver", "install one");

    /** Returns a driver of one GPU with these attribute values; it fails for a negative one. */
    private static CudaAvailability cuda(int ordering, int options) {
        Cuda driver = (Cuda) Proxy.newProxyInstance(
                Cuda.class.getClassLoader(), new Class<?>[]{Cuda.class}, (proxy, method, arguments) -> {
                    int[] out = (int[]) arguments[0];
                    if (method.getName().equals("deviceGet")) {
                        return (int) arguments[1] == 0 ? Cuda.SUCCESS : Cuda.ERROR_INVALID_DEVICE;
                    }
                    out[0] = switch ((int) arguments[1]) {
                        case CudaAttributes.DEVICE_RDMA_WRITES_ORDERING -> ordering;
                        case CudaAttributes.DEVICE_RDMA_FLUSH_WRITES_OPTIONS -> options;
                        case CudaAttributes.DEVICE_HOST_ALLOC_DMA_BUF -> -1;
                        default -> 1;
                    };
                    return out[0] < 0 ? Cuda.ERROR_INVALID_VALUE : Cuda.SUCCESS;
                });
        return new CudaAvailability.Available(driver, 13000, 1);
    }

    @Test
    void answersOfTheDriverAreShown() {
        assertThat(DeviceAccess.json(cuda(100, 1), 0))
                .containsEntry("gpuDirectRdma", true)
                .containsEntry("gpuDirectRdmaWithVmm", true)
                .containsEntry("hostAllocDmaBuf", false)
                .containsEntry("flushWritesFromHost", true)
                .containsEntry("writesOrdering", "OWNER");
        assertThat(DeviceAccess.json(cuda(200, 2), 0))
                .containsEntry("flushWritesFromHost", false)
                .containsEntry("writesOrdering", "ALL_DEVICES");
        assertThat(DeviceAccess.text(cuda(0, 0), 0))
                .contains("GPUDirect RDMA supported", "writes ordered for: none", "no flush from the host");
        assertThat(DeviceAccess.text(cuda(200, 1), 0)).contains("all devices").doesNotContain("no flush");
    }

    @Test
    void missingAnswersAreUnknown() {
        assertThat(DeviceAccess.json(none, 0)).hasSize(5).containsEntry("gpuDirectRdma", null);
        assertThat(DeviceAccess.json(cuda(0, 0), 7)).containsEntry("writesOrdering", null);
        assertThat(DeviceAccess.text(none, 0)).contains("unknown");
    }
}
