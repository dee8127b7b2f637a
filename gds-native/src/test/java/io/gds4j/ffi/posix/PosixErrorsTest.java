package io.gds4j.ffi.posix;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** An errno becomes an exception. */
class PosixErrorsTest {
    @ParameterizedTest
    @CsvSource({"13, PERMISSION_DENIED", "1, PERMISSION_DENIED", "30, PERMISSION_DENIED", "2, INVALID_VALUE",
            "22, INVALID_VALUE", "21, INVALID_FILE_TYPE", "9, INVALID_FILE_OPEN_FLAG", "12, NOMEM_ERROR",
            "95, IO_NOT_SUPPORTED", "28, IO_ERROR", "122, IO_ERROR", "5, IO_ERROR", "27, IO_ERROR", "9999, IO_ERROR"})
    void eachErrnoHasItsCode(int errno, CuFileError error) {
        CuFileException failure = catchThrowableOfType(
                CuFileException.class,
                () -> PosixErrors.check("cuFileWrite", "pwrite", -errno, Optional.of(Path.of("/data"))));
        assertThat(failure.error()).isEqualTo(error);
        assertThat(failure.errno()).hasValue(errno);
        assertThat(failure.function()).isEqualTo("cuFileWrite");
        assertThat(failure).hasMessageContaining("pwrite failed").hasMessageContaining("/data");
    }

    @Test
    void resultsWithoutAnErrorPass() {
        assertThat(PosixErrors.check("f", "call", 0, Optional.empty())).isZero();
        assertThat(PosixErrors.check("f", "call", 1L << 40, Optional.empty())).isEqualTo(1L << 40);
    }
}
