package io.gds4j.tools.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.diagnosis.Gpu;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class PeerAccessTest {
    /** A driver whose GPUs reach all others but the last one, whose number it does not know. */
    private static Cuda driver(int gpus) {
        return (Cuda) Proxy.newProxyInstance(
                PeerAccessTest.class.getClassLoader(), new Class<?>[]{Cuda.class}, (proxy, method, arguments) -> {
                    int device = (int) arguments[arguments.length - 1];
                    if (method.getName().equals("deviceGet")) {
                        ((int[]) arguments[0])[0] = device;
                        return device == gpus - 1 ? Cuda.ERROR_INVALID_DEVICE : Cuda.SUCCESS;
                    }
                    ((int[]) arguments[0])[0] = 1;
                    return Cuda.SUCCESS;
                });
    }

    private static Gpu gpu(OptionalInt nvLinks) {
        return Gpu.of(
                1, "Test GPU", "", Optional.empty(), OptionalLong.empty(), OptionalLong.empty(), "9.0",
                OptionalInt.empty(), Optional.empty(), nvLinks);
    }

    @Test
    void peersAreOtherGpus() {
        CudaAvailability cuda = new CudaAvailability.Available(driver(4), 13_000, 4);
        assertThat(PeerAccess.of(cuda, 1)).containsExactly(0, 2);
        assertThat(PeerAccess.text(cuda, gpu(OptionalInt.of(18))))
                .isEqualTo("peer access to gpu:0, gpu:2, active NVLinks 18");
    }

    @Test
    void withoutDriverThereAreNoPeers() {
        CudaAvailability none = new CudaAvailability.Unavailable("no driver", "install one");
        assertThat(PeerAccess.of(none, 0)).isEmpty();
        assertThat(PeerAccess.text(none, gpu(OptionalInt.empty())))
                .isEqualTo("peer access to no other GPU, active NVLinks unknown");
    }
}
