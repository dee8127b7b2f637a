package io.gds4j.error;

import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Every status code of cuFile ({@code CUfileOpError}): 0 and 5001 to 5050, without 5021 and 5032, which do not exist.
 *
 * <p>
 * Constant names are those of NVIDIA without the prefix {@code CU_FILE_}; the texts are gds4j's.
 *
 * @since 0.1
 */
public enum CuFileError {
    /** 0: no error. */
    SUCCESS(0, "no error"),
    /** 5001: the driver is not open. */
    DRIVER_NOT_INITIALIZED(5001, "the driver is not open"),
    /** 5002: a driver property is not valid. */
    DRIVER_INVALID_PROPS(5002, "a driver property is not valid"),
    /** 5003: a driver limit is outside its range. */
    DRIVER_UNSUPPORTED_LIMIT(5003, "a driver limit is outside its range"),
    /** 5004: library and nvidia-fs are of different versions. */
    DRIVER_VERSION_MISMATCH(5004, "library and nvidia-fs are of different versions"),
    /** 5005: the version of nvidia-fs cannot be read. */
    DRIVER_VERSION_READ_ERROR(5005, "the version of nvidia-fs cannot be read"),
    /** 5006: the driver is closing or closed. */
    DRIVER_CLOSING(5006, "the driver is closing or closed"),
    /** 5007: this platform is not supported. */
    PLATFORM_NOT_SUPPORTED(5007, "this platform is not supported"),
    /** 5008: this operation is not supported here. */
    IO_NOT_SUPPORTED(5008, "this operation is not supported here"),
    /** 5009: this GPU is not supported. */
    DEVICE_NOT_SUPPORTED(5009, "this GPU is not supported"),
    /** 5010: nvidia-fs reported an error. */
    NVFS_DRIVER_ERROR(5010, "nvidia-fs reported an error"),
    /** 5011: the CUDA driver reported an error. */
    CUDA_DRIVER_ERROR(5011, "the CUDA driver reported an error"),
    /** 5012: the memory address is not valid. */
    CUDA_POINTER_INVALID(5012, "the memory address is not valid"),
    /** 5013: this kind of memory cannot be used here. */
    CUDA_MEMORY_TYPE_INVALID(5013, "this kind of memory cannot be used here"),
    /** 5014: the range reaches past its allocation. */
    CUDA_POINTER_RANGE_ERROR(5014, "the range reaches past its allocation"),
    /** 5015: the memory belongs to another CUDA context. */
    CUDA_CONTEXT_MISMATCH(5015, "the memory belongs to another CUDA context"),
    /** 5016: the range is larger than what may be pinned. */
    INVALID_MAPPING_SIZE(5016, "the range is larger than what may be pinned"),
    /** 5017: the range reaches past the registered buffer. */
    INVALID_MAPPING_RANGE(5017, "the range reaches past the registered buffer"),
    /** 5018: neither a regular file nor a block device. */
    INVALID_FILE_TYPE(5018, "neither a regular file nor a block device"),
    /** 5019: the file is open with a mode or flag that forbids this. */
    INVALID_FILE_OPEN_FLAG(5019, "the file is open with a mode or flag that forbids this"),
    /** 5020: the file is not open for direct I/O. */
    DIO_NOT_SET(5020, "the file is not open for direct I/O"),
    /** 5022: an argument is not valid. */
    INVALID_VALUE(5022, "an argument is not valid"),
    /** 5023: a buffer with this base address is registered already. */
    MEMORY_ALREADY_REGISTERED(5023, "a buffer with this base address is registered already"),
    /** 5024: no buffer with this base address is registered. */
    MEMORY_NOT_REGISTERED(5024, "no buffer with this base address is registered"),
    /** 5025: permission denied. */
    PERMISSION_DENIED(5025, "permission denied"),
    /** 5026: the driver is open already. */
    DRIVER_ALREADY_OPEN(5026, "the driver is open already"),
    /** 5027: the file handle is not registered. */
    HANDLE_NOT_REGISTERED(5027, "the file handle is not registered"),
    /** 5028: a handle for this file descriptor is registered already. */
    HANDLE_ALREADY_REGISTERED(5028, "a handle for this file descriptor is registered already"),
    /** 5029: the device was not found. */
    DEVICE_NOT_FOUND(5029, "the device was not found"),
    /** 5030: internal error. */
    INTERNAL_ERROR(5030, "internal error"),
    /** 5031: the file could not be opened a second time. */
    GETNEWFD_FAILED(5031, "the file could not be opened a second time"),
    /** 5033: setting up nvidia-fs or CUDA failed. */
    NVFS_SETUP_ERROR(5033, "setting up nvidia-fs or CUDA failed"),
    /** 5034: GPUDirect Storage is switched off for this file by configuration. */
    IO_DISABLED(5034, "GPUDirect Storage is switched off for this file by configuration"),
    /** 5035: submitting the batch failed. */
    BATCH_SUBMIT_FAILED(5035, "submitting the batch failed"),
    /** 5036: GPU memory could not be pinned. */
    GPU_MEMORY_PINNING_FAILED(5036, "GPU memory could not be pinned"),
    /** 5037: the batch is full. */
    BATCH_FULL(5037, "the batch is full"),
    /** 5038: stream-ordered I/O is not available. */
    ASYNC_NOT_SUPPORTED(5038, "stream-ordered I/O is not available"),
    /** 5039: the batch could not be set up. */
    INTERNAL_BATCH_SETUP_ERROR(5039, "the batch could not be set up"),
    /** 5040: the batch or one of its entries is not valid. */
    INTERNAL_BATCH_SUBMIT_ERROR(5040, "the batch or one of its entries is not valid"),
    /** 5041: the batch is not known. */
    INTERNAL_BATCH_GETSTATUS_ERROR(5041, "the batch is not known"),
    /** 5042: the batch could not be cancelled. */
    INTERNAL_BATCH_CANCEL_ERROR(5042, "the batch could not be cancelled"),
    /** 5043: out of memory. */
    NOMEM_ERROR(5043, "out of memory"),
    /** 5044: input or output error. */
    IO_ERROR(5044, "input or output error"),
    /** 5045: registering the buffer failed. */
    INTERNAL_BUF_REGISTER_ERROR(5045, "registering the buffer failed"),
    /** 5046: an internal table could not be updated. */
    HASH_OPR_ERROR(5046, "an internal table could not be updated"),
    /** 5047: the CUDA context is not valid. */
    INVALID_CONTEXT_ERROR(5047, "the CUDA context is not valid"),
    /** 5048: nvidia-fs failed internally. */
    NVFS_INTERNAL_DRIVER_ERROR(5048, "nvidia-fs failed internally"),
    /** 5049: the batch needs compat mode, which is switched off. */
    BATCH_NOCOMPAT_ERROR(5049, "the batch needs compat mode, which is switched off"),
    /** 5050: the largest code of this table. */
    IO_MAX_ERROR(5050, "the largest code of this table");

    private static final Map<Integer, CuFileError> BY_CODE =
            Stream.of(values()).collect(Collectors.toUnmodifiableMap(CuFileError::code, Function.identity()));

    private final int code;
    private final String text;

    CuFileError(int code, String text) {
        this.code = code;
        this.text = text;
    }

    /** {@return the numeric code, as {@code cufile.h} defines it} */
    public int code() {
        return code;
    }

    /** {@return NVIDIA's name, for example {@code CU_FILE_INVALID_VALUE}} */
    public String cName() {
        return "CU_FILE_" + name();
    }

    /** {@return the meaning of the code, in a few words} */
    public String text() {
        return text;
    }

    /**
     * Finds an error by its number.
     *
     * @param code 0, or 5001 to 5050
     * @return the error with this code; empty for a number that cuFile does not define
     */
    public static Optional<CuFileError> of(int code) {
        return Optional.ofNullable(BY_CODE.get(code));
    }
}
