package io.gds4j.error;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares the table of codes with cufile.h. */
class CuFileErrorTest {
    @ParameterizedTest
    @CsvSource({
            "0, CU_FILE_SUCCESS",
            "5001, CU_FILE_DRIVER_NOT_INITIALIZED",
            "5002, CU_FILE_DRIVER_INVALID_PROPS",
            "5003, CU_FILE_DRIVER_UNSUPPORTED_LIMIT",
            "5004, CU_FILE_DRIVER_VERSION_MISMATCH",
            "5005, CU_FILE_DRIVER_VERSION_READ_ERROR",
            "5006, CU_FILE_DRIVER_CLOSING",
            "5007, CU_FILE_PLATFORM_NOT_SUPPORTED",
            "5008, CU_FILE_IO_NOT_SUPPORTED",
            "5009, CU_FILE_DEVICE_NOT_SUPPORTED",
            "5010, CU_FILE_NVFS_DRIVER_ERROR",
            "5011, CU_FILE_CUDA_DRIVER_ERROR",
            "5012, CU_FILE_CUDA_POINTER_INVALID",
            "5013, CU_FILE_CUDA_MEMORY_TYPE_INVALID",
            "5014, CU_FILE_CUDA_POINTER_RANGE_ERROR",
            "5015, CU_FILE_CUDA_CONTEXT_MISMATCH",
            "5016, CU_FILE_INVALID_MAPPING_SIZE",
            "5017, CU_FILE_INVALID_MAPPING_RANGE",
            "5018, CU_FILE_INVALID_FILE_TYPE",
            "5019, CU_FILE_INVALID_FILE_OPEN_FLAG",
            "5020, CU_FILE_DIO_NOT_SET",
            "5022, CU_FILE_INVALID_VALUE",
            "5023, CU_FILE_MEMORY_ALREADY_REGISTERED",
            "5024, CU_FILE_MEMORY_NOT_REGISTERED",
            "5025, CU_FILE_PERMISSION_DENIED",
            "5026, CU_FILE_DRIVER_ALREADY_OPEN",
            "5027, CU_FILE_HANDLE_NOT_REGISTERED",
            "5028, CU_FILE_HANDLE_ALREADY_REGISTERED",
            "5029, CU_FILE_DEVICE_NOT_FOUND",
            "5030, CU_FILE_INTERNAL_ERROR",
            "5031, CU_FILE_GETNEWFD_FAILED",
            "5033, CU_FILE_NVFS_SETUP_ERROR",
            "5034, CU_FILE_IO_DISABLED",
            "5035, CU_FILE_BATCH_SUBMIT_FAILED",
            "5036, CU_FILE_GPU_MEMORY_PINNING_FAILED",
            "5037, CU_FILE_BATCH_FULL",
            "5038, CU_FILE_ASYNC_NOT_SUPPORTED",
            "5039, CU_FILE_INTERNAL_BATCH_SETUP_ERROR",
            "5040, CU_FILE_INTERNAL_BATCH_SUBMIT_ERROR",
            "5041, CU_FILE_INTERNAL_BATCH_GETSTATUS_ERROR",
            "5042, CU_FILE_INTERNAL_BATCH_CANCEL_ERROR",
            "5043, CU_FILE_NOMEM_ERROR",
            "5044, CU_FILE_IO_ERROR",
            "5045, CU_FILE_INTERNAL_BUF_REGISTER_ERROR",
            "5046, CU_FILE_HASH_OPR_ERROR",
            "5047, CU_FILE_INVALID_CONTEXT_ERROR",
            "5048, CU_FILE_NVFS_INTERNAL_DRIVER_ERROR",
            "5049, CU_FILE_BATCH_NOCOMPAT_ERROR",
            "5050, CU_FILE_IO_MAX_ERROR"
    })
    void codeHasTheNameOfTheHeader(int code, String name) {
        assertThat(CuFileError.of(code)).map(CuFileError::cName).contains(name);
        assertThat(CuFileError.of(code)).map(CuFileError::code).contains(code);
    }

    @Test
    void tableHasExactlyTheCodesOfTheHeader() {
        assertThat(Stream.of(CuFileError.values()).map(CuFileError::code))
                .containsExactlyElementsOf(IntStream.concat(
                        IntStream.of(0),
                        IntStream.rangeClosed(5001, 5050).filter(code -> code != 5021 && code != 5032))
                        .boxed()
                        .toList());
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 1, 22, 5000, 5021, 5032, 5051, -5022, Integer.MIN_VALUE, Integer.MAX_VALUE})
    void numberOutsideTheHeaderIsNoCode(int code) {
        assertThat(CuFileError.of(code)).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void everyCodeHasItsOwnText(CuFileError error) {
        assertThat(error.text()).isNotBlank().doesNotContain("\n").doesNotContain("CU_FILE").doesNotEndWith(".");
        assertThat(Stream.of(CuFileError.values())
                .filter(other -> other.text().toLowerCase(Locale.ROOT).equals(error.text().toLowerCase(Locale.ROOT))))
                .containsExactly(error);
    }
}
