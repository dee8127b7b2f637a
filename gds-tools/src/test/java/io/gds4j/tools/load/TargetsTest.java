package io.gds4j.tools.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.tools.terminal.CommandFailure;
import java.lang.reflect.Proxy;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** GPUs by number, PCI address and UUID, on a machine with two. */
class TargetsTest {
    private static final String[] ADDRESSES = {"0000:3B:00.0", "0001:3b:00.0"};
    private static final String[] UUIDS = {"5b1c0000000000000000000000000001", "5b2c0000000000000000000000000002"};

    private static CudaAvailability twoGpus() {
        Cuda driver = (Cuda) Proxy.newProxyInstance(
                Cuda.class.getClassLoader(), new Class<?>[]{Cuda.class}, (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "deviceGet" -> ((int[]) arguments[0])[0] = (int) arguments[1];
                        case "deviceGetName" -> ((String[]) arguments[0])[0] = "NVIDIA H100";
                        case "deviceGetPciBusId" -> ((String[]) arguments[0])[0] = ADDRESSES[(int) arguments[1]];
                        case "deviceGetUuid" -> {
                            byte[] uuid = HexFormat.of().parseHex(UUIDS[(int) arguments[1]]);
                            System.arraycopy(uuid, 0, (byte[]) arguments[0], 0, uuid.length);
                        }
                        default -> {
                            return Cuda.ERROR_INVALID_VALUE;
                        }
                    }
                    return Cuda.SUCCESS;
                });
        return new CudaAvailability.Available(driver, 13000, 2);
    }

    private static Target resolved(String text) {
        return Targets.resolve(Target.parse(text), twoGpus()).target();
    }

    @ParameterizedTest
    @ValueSource(strings = {"gpu:0", "gpu:3b:00.0", "gpu:0000:3b:00.0", "gpu:00000000:3B:00.0", "gpu:GPU-5b1c",
            "gpu:gpu-5b1c0000-0000-0000-0000-000000000001"})
    void firstGpuIsFoundByEveryName(String name) {
        assertThat(resolved(name)).isEqualTo(Target.gpu(0)).hasToString("gpu:0");
    }

    @Test
    void domainTellsGpusApart() {
        assertThat(resolved("gpu:0001:3b:00.0")).isEqualTo(Target.gpu(1));
    }

    @Test
    void unknownAndAmbiguousNamesListTheGpus() {
        assertThatThrownBy(() -> resolved("gpu:0000:41:00.0")).isInstanceOf(CommandFailure.class)
                .hasMessageContaining("gpu:0000:41:00.0: no such GPU; this machine has gpu:0 = 0000:3b:00.0, GPU-5b1c");
        assertThatThrownBy(() -> resolved("gpu:GPU-5b")).isInstanceOf(CommandFailure.class)
                .hasMessageContaining("several GPUs begin with this");
        assertThatThrownBy(() -> Targets.resolve(
                Target.parse("gpu:0000:3b:00.0"), new CudaAvailability.Unavailable("no driver", "install one")))
                .isInstanceOf(CommandFailure.class).hasMessageContaining("gpu:0000:3b:00.0: no GPU here");
    }

    @ParameterizedTest
    @ValueSource(strings = {"gpu:", "gpu:0000:3b:00", "gpu:GPU-", "gpu:3b:00.8", "gpu:0000:3b:00.0.1", "gpu:GPU-xyz"})
    void malformedNamesAreWrongUsage(String name) {
        assertThatThrownBy(() -> Target.parse(name)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("is not a target");
    }
}
