package io.gds4j.ffi.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Detects the CUDA driver on various machines: detection never throws and makes no context. */
class CudaDriverTest {
    private static CudaAvailability.Unavailable unavailable(CudaAvailability found) {
        assertThat(found).isInstanceOf(CudaAvailability.Unavailable.class);
        assertThat(found.cuda()).isEmpty();
        assertThat(found.cudaContexts()).isEmpty();
        assertThat(found.deviceCount()).isZero();
        return (CudaAvailability.Unavailable) found;
    }

    @Test
    void threadThatDetectsAndItsCallerNeverWaitForEachOther() throws ClassNotFoundException {
        InitialisationOrder detection = new InitialisationOrder(Class.forName(
                CudaDriver.class.getName() + "$Process", false, CudaDriver.class.getClassLoader()));
        assertThat(detection.classes()).contains("io/gds4j/ffi/Linkage", "io/gds4j/ffi/cuda/CudaCalls");
        assertThat(detection.cycle()).as(detection.toString()).isEmpty();
        assertThat(new InitialisationOrder(Left.class).cycle()).hasSize(2);
    }

    /** Two classes that lead to each other. */
    private static final class Left {
        static final Object OTHER = Right.class.getModifiers() + Right.ofLeft();

        static int number() {
            return 1;
        }
    }

    private static final class Right {
        static final int NUMBER = Left.number();

        static int ofLeft() {
            return NUMBER;
        }
    }

    @Test
    void missingLibraryIsReportedInTheLinkersWords() {
        CudaAvailability.Unavailable found = unavailable(CudaDriver.probe("auto", "libgds4j-none.so.1"));
        assertThat(found.reason()).contains("libgds4j-none.so.1").contains("No such file");
        assertThat(found.remedy()).contains("NVIDIA driver");
    }

    @Test
    void fileThatIsNoLibraryIsNamed(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(folder.resolve("libcuda.so.1"), "not a library");
        CudaAvailability.Unavailable found = unavailable(CudaDriver.probe("auto", file.toString()));
        assertThat(found.reason()).contains(file.toString());
        assertThat(found.reason().lines()).hasSize(1);
    }

    @Test
    void otherLibraryLacksFunctionsOfTheDriver() {
        CudaAvailability.Unavailable found = unavailable(CudaDriver.probe("auto", "libc.so.6"));
        assertThat(found.reason()).contains("lacks").contains("cuInit");
    }

    @Test
    void nameWithANulIsRefused() {
        assertThat(unavailable(CudaDriver.probe("auto", "libc.so.6\0x")).reason()).contains("NUL");
    }

    @Test
    void propertySwitchesOnlyGpusOff() {
        assertThat(unavailable(CudaDriver.probe("off", "libc.so.6")).reason()).contains("-Dgds4j.cuda=off");
        assertThat(unavailable(CudaDriver.probe("OFF", "libc.so.6")).remedy()).contains("auto and off");
    }

    @Test
    void driverWithGpusIsAvailableWithoutAContext() {
        FakeCuda cuda = new FakeCuda(3, 1 << 20);
        CudaAvailability found = CudaDriver.initialise(cuda);
        assertThat(found).isInstanceOf(CudaAvailability.Available.class);
        assertThat(found.deviceCount()).isEqualTo(3);
        assertThat(found.cuda()).containsSame(cuda);
        assertThat(((CudaAvailability.Available) found).driverVersion()).isEqualTo(13000);
        assertThat(cuda.liveContexts()).isZero();
    }

    @Test
    void driverWithoutGpusIsReported() {
        assertThat(unavailable(CudaDriver.initialise(new FakeCuda(0, 0))).remedy()).contains("CUDA_VISIBLE_DEVICES");
        FakeCuda none = new FakeCuda();
        none.failAlways(CudaFunction.INIT, Cuda.ERROR_NO_DEVICE);
        assertThat(unavailable(CudaDriver.initialise(none)).remedy()).contains("CUDA_VISIBLE_DEVICES");
    }

    @Test
    void failedInitNamesItsReason() {
        for (CudaFunction function : new CudaFunction[]{CudaFunction.INIT, CudaFunction.DRIVER_GET_VERSION,
                CudaFunction.DEVICE_GET_COUNT}) {
            FakeCuda broken = new FakeCuda();
            broken.failAlways(function, Cuda.ERROR_ILLEGAL_ADDRESS);
            assertThat(unavailable(CudaDriver.initialise(broken)).reason()).contains("CUDA_ERROR_ILLEGAL_ADDRESS");
        }
    }

    @Test
    void laterCallsRepeatTheAnswer() {
        assertThat(CudaDriver.detect()).isSameAs(CudaDriver.detect());
    }
}
