package io.gds4j.engine.machine;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.diagnosis.Gpu;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.nvml.NvmlAvailability;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Descriptions of GPUs, from a simulated driver. */
class GpusTest {
    private static final NvmlAvailability NO_NVML = new NvmlAvailability.Unavailable("no library", "install one");

    @TempDir
    private Path root;

    /** A driver with two GPUs; every call on the second one fails. */
    private static Cuda driver() {
        return (Cuda) Proxy.newProxyInstance(GpusTest.class.getClassLoader(), new Class<?>[]{Cuda.class},
                (proxy, method, arguments) -> {
                    int device = method.getName().equals("deviceGet")
                            ? (int) arguments[1]
                            : (int) arguments[arguments.length - 1];
                    if (device == 1 && !method.getName().equals("deviceGet")) {
                        return Cuda.ERROR_INVALID_DEVICE;
                    }
                    switch (method.getName()) {
                        case "deviceGet" -> ((int[]) arguments[0])[0] = device;
                        case "deviceGetName" -> ((String[]) arguments[0])[0] = "NVIDIA Fake 1";
                        case "deviceGetPciBusId" -> ((String[]) arguments[0])[0] = "0000:1A:00.0";
                        case "deviceTotalMem" -> ((long[]) arguments[0])[0] = 80L << 30;
                        case "deviceGetUuid" -> {
                            for (int i = 0; i < 16; i++) {
                                ((byte[]) arguments[0])[i] = (byte) (0xf0 + i);
                            }
                        }
                        case "deviceGetAttribute" -> ((int[]) arguments[0])[0] = switch ((int) arguments[1]) {
                            case 75 -> 9;
                            case 124 -> 1;
                            default -> 0;
                        };
                        default -> throw new AssertionError("needs no " + method.getName());
                    }
                    return Cuda.SUCCESS;
                });
    }

    @Test
    void everyGpuIsDescribedAndFailingOnesAreNamed() throws IOException {
        SystemFiles files = new SystemFiles(root);
        Path resource = files.at("/sys/bus/pci/devices/0000:1a:00.0/resource");
        Files.createDirectories(resource.getParent());
        Files.writeString(resource, "0x1 0x2 0x0\n0x0000380000000000 0x0000381fffffffff 0x14220c\n");
        Files.writeString(resource.resolveSibling("numa_node"), "1\n");

        var gpus = Gpus.all(new CudaAvailability.Available(driver(), 13_000, 2), files, NO_NVML);

        assertThat(gpus).containsExactly(
                Gpu.of(0, "NVIDIA Fake 1", "GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff", Optional.of("0000:1a:00.0"),
                        OptionalLong.of(80L << 30), OptionalLong.of(128L << 30), "9.0", OptionalInt.of(1),
                        Optional.of(true), OptionalInt.empty()),
                Gpu.of(1, "unknown", "", Optional.empty(), OptionalLong.empty(), OptionalLong.empty(), "unknown",
                        OptionalInt.empty(), Optional.empty(), OptionalInt.empty()));
    }

    @Test
    void missingDriverHasNoGpus() {
        assertThat(Gpus.all(new CudaAvailability.Unavailable("no driver", "install one"), new SystemFiles(root),
                NO_NVML))
                .isEmpty();
    }
}
