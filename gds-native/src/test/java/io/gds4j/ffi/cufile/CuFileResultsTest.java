package io.gds4j.ffi.cufile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.spi.BatchStatus;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Each form of a failure of libcufile becomes an exception. */
class CuFileResultsTest {
    private static final CuFileFunction FUNCTION = CuFileFunction.BUF_REGISTER;

    @Test
    void zeroStatusIsSuccessWithAnyCudaResult() {
        assertThatCode(() -> CuFileResults.check(FUNCTION, 0)).doesNotThrowAnyException();
        assertThatCode(() -> CuFileResults.check(FUNCTION, 700L << 32)).doesNotThrowAnyException();
    }

    @ParameterizedTest
    @EnumSource(names = {"SUCCESS", "CUDA_DRIVER_ERROR"}, mode = EnumSource.Mode.EXCLUDE)
    void statusWithACodeIsThatError(CuFileError error) {
        CuFileException failure = failure(error.code());

        assertThat(failure.error()).isEqualTo(error);
        assertThat(failure.errno()).isEmpty();
        assertThat(failure.function()).isEqualTo("cuFileBufRegister");
    }

    @Test
    void statusOfACudaErrorNamesIt() {
        CuFileException failure = failure(5011 | 701L << 32);

        assertThat(failure.error()).isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
        assertThat(failure.detail()).contains("701");
    }

    @Test
    void cudaResultBesideAnotherCodeIsIgnored() {
        assertThat(failure(5014 | 12345L << 32).getMessage()).doesNotContain("12345");
    }

    @Test
    void negativeStatusIsAnErrno() {
        CuFileException failure = failure(-22 & 0xFFFFFFFFL);

        assertThat(failure.errno()).hasValue(Errno.EINVAL);
        assertThat(failure.error()).isEqualTo(CuFileError.INVALID_VALUE);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 4999, 5000, 5021, 5032, 5051, 99999})
    void undefinedStatusIsAnInternalErrorThatNamesIt(long status) {
        CuFileException failure = failure(status);

        assertThat(failure.error()).isEqualTo(CuFileError.INTERNAL_ERROR);
        assertThat(failure.detail()).contains(String.valueOf(status));
    }

    private static CuFileException failure(long status) {
        return catchThrowableOfType(CuFileException.class, () -> CuFileResults.check(FUNCTION, status));
    }

    static Stream<Arguments> transfers() {
        return Stream.of(
                arguments("bytes", 4096, 0, 4096),
                arguments("fewer bytes", 10, 0, 10),
                arguments("no bytes", 0, 0, 0),
                arguments("errno of an earlier call is no failure", 100, Errno.EIO, 100),
                arguments("-1 and an errno", -1, Errno.EBADF, -Errno.EBADF),
                arguments("-1 and a code in errno", -1, 5027, -5027),
                arguments("-1 and no errno at all", -1, 0, -Errno.EIO),
                arguments("a negative errno", -5, 0, -5),
                arguments("a negative errno, whatever errno says", -14, Errno.EIO, -14),
                arguments("a negative code", -5012, 0, -5012),
                arguments("a positive code, more than was asked for", 5006, 0, -5006));
    }

    @ParameterizedTest(name = "{0}: {1}, errno {2} -> {3}")
    @MethodSource("transfers")
    void transferIsBytesOrOneNegativeNumber(String what, long result, int errno, long expected) {
        assertThat(CuFileResults.transferred(result, errno, 4096)).isEqualTo(expected);
    }

    @Test
    void largeTransferIsNoErrorCode() {
        assertThat(CuFileResults.transferred(5006, 0, 1 << 20)).isEqualTo(5006);
    }

    static Stream<Arguments> events() {
        return Stream.of(
                arguments(BatchStatus.COMPLETE, 4096, 4096),
                arguments(BatchStatus.COMPLETE, 0, 0),
                arguments(BatchStatus.COMPLETE, -5, -5),
                arguments(BatchStatus.FAILED, -22, -22),
                arguments(BatchStatus.FAILED, -5017, -5017),
                arguments(BatchStatus.FAILED, -1, -Errno.EIO),
                arguments(BatchStatus.FAILED, 0, -Errno.EIO),
                arguments(BatchStatus.TIMEOUT, 0, -Errno.EIO),
                arguments(BatchStatus.INVALID, 0, -5022),
                arguments(BatchStatus.CANCELED, 0, -Errno.ECANCELED));
    }

    @ParameterizedTest
    @MethodSource("events")
    void eventOfABatchIsBytesOrOneNegativeNumber(BatchStatus status, long result, long expected) {
        assertThat(CuFileResults.transferred(status, result, 4096)).isEqualTo(expected);
    }

    @Test
    void negativeErrnoBecomesAnExceptionWithIt() {
        CuFileException failure = CuFileResults.failure("cuFileRead", -Errno.ENOSPC).build();

        assertThat(failure.errno()).hasValue(Errno.ENOSPC);
        assertThat(failure.error()).isEqualTo(CuFileError.IO_ERROR);
        assertThat(failure.detail()).contains("ENOSPC");
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EPERM, Errno.EIO})
    void genericErrnosOfLibcufileNameNoCause(int errno) {
        CuFileException failure = CuFileResults.failure("cuFileWrite", -errno).build();

        assertThat(failure.error()).isEqualTo(CuFileError.IO_ERROR);
        assertThat(failure.errno()).hasValue(errno);
        assertThat(failure.detail()).contains("whatever the kernel's error was");
    }

    @Test
    void negativeCodeBecomesItsException() {
        CuFileException failure = CuFileResults.failure("cuFileRead", -5027).build();

        assertThat(failure.error()).isEqualTo(CuFileError.HANDLE_NOT_REGISTERED);
        assertThat(failure.errno()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(longs = {-4096, -5000, -5021, -6000, Long.MIN_VALUE})
    void otherNegativeNumberIsAnInternalError(long negative) {
        assertThat(CuFileResults.failure("cuFileRead", negative).build().error())
                .isEqualTo(CuFileError.INTERNAL_ERROR);
    }
}
