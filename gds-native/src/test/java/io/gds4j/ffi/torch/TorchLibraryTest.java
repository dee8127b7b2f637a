package io.gds4j.ffi.torch;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import org.junit.jupiter.api.Test;

/** A process without PyTorch. */
class TorchLibraryTest {
    /** A failed initialiser of a class once made these an ExceptionInInitializerError and a NoClassDefFoundError. */
    @Test
    void everyCallTellsThatThereIsNone() {
        for (int i = 0; i < 2; i++) {
            assertThatExceptionOfType(CuFileException.class)
                    .isThrownBy(TorchLibrary::loaded)
                    .withMessageContaining("libtorch")
                    .returns(CuFileError.PLATFORM_NOT_SUPPORTED, CuFileException::error);
        }
    }
}
