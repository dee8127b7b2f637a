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
 * Constant names are NVIDIA's without the prefix {@code CU_FILE_}; the texts are our own.
 *
 * @since 0.1
 */
public enum CuFileError {
    SUCCESS(0, "no error"),
    DRIVER_NOT_INITIALIZED(5001, "the driver is not open"),
    DRIVER_INVALID_PROPS(5002, "a driver property is not valid"),
    DRIVER_UNSUPPORTED_LIMIT(5003, "a driver limit is outside its range"),
    DRIVER_VERSION_MISMATCH(5004, "library and nvidia-fs are of different versions"),
    DRIVER_VERSION_READ_ERROR(5005, "the version of nvidia-fs cannot be read"),
    DRIVER_CLOSING(5006, "the driver is closing or closed"),
    PLATFORM_NOT_SUPPORTED(5007, "this platform is not supported"),
    IO_NOT_SUPPORTED(5008, "this operation is not supported here"),
    DEVICE_NOT_SUPPORTED(5009, "this GPU is not supported"),
    NVFS_DRIVER_ERROR(5010, "nvidia-fs reported an error"),
    CUDA_DRIVER_ERROR(5011, "the CUDA driver reported an error"),
    CUDA_POINTER_INVALID(5012, "the memory address is not valid"),
    CUDA_MEMORY_TYPE_INVALID(5013, "this kind of memory cannot be used here"),
    CUDA_POINTER_RANGE_ERROR(5014, "the range reaches past its allocation"),
    CUDA_CONTEXT_MISMATCH(5015, "the memory belongs to another CUDA context"),
    INVALID_MAPPING_SIZE(5016, "the range is larger than what may be pinned"),
    INVALID_MAPPING_RANGE(5017, "the range reaches past the registered buffer"),
    INVALID_FILE_TYPE(5018, "neither a regular file nor a block device"),
    INVALID_FILE_OPEN_FLAG(5019, "the file is open with a mode or flag that forbids this"),
    DIO_NOT_SET(5020, "the file is not open for direct I/O"),
    INVALID_VALUE(5022, "an argument is not valid"),
    MEMORY_ALREADY_REGISTERED(5023, "a buffer with this base address is registered already"),
    MEMORY_NOT_REGISTERED(5024, "no buffer with this base address is registered"),
    PERMISSION_DENIED(5025, "permission denied"),
    DRIVER_ALREADY_OPEN(5026, "the driver is open already"),
    HANDLE_NOT_REGISTERED(5027, "the file handle is not registered"),
    HANDLE_ALREADY_REGISTERED(5028, "a handle for this file descriptor is registered already"),
    DEVICE_NOT_FOUND(5029, "the device was not found"),
    INTERNAL_ERROR(5030, "internal error"),
    GETNEWFD_FAILED(5031, "the file could not be opened a second time"),
    NVFS_SETUP_ERROR(5033, "setting up nvidia-fs or CUDA failed"),
    IO_DISABLED(5034, "GPUDirect Storage is switched off for this file by configuration"),
    BATCH_SUBMIT_FAILED(5035, "submitting the batch failed"),
    GPU_MEMORY_PINNING_FAILED(5036, "GPU memory could not be pinned"),
    BATCH_FULL(5037, "the batch is full"),
    ASYNC_NOT_SUPPORTED(5038, "stream-ordered I/O is not available"),
    INTERNAL_BATCH_SETUP_ERROR(5039, "the batch could not be set up"),
    INTERNAL_BATCH_SUBMIT_ERROR(5040, "the batch or one of its entries is not valid"),
    INTERNAL_BATCH_GETSTATUS_ERROR(5041, "the batch is not known"),
    INTERNAL_BATCH_CANCEL_ERROR(5042, "the batch could not be cancelled"),
    NOMEM_ERROR(5043, "out of memory"),
    IO_ERROR(5044, "input or output error"),
    INTERNAL_BUF_REGISTER_ERROR(5045, "registering the buffer failed"),
    HASH_OPR_ERROR(5046, "an internal table could not be updated"),
    INVALID_CONTEXT_ERROR(5047, "the CUDA context is not valid"),
    NVFS_INTERNAL_DRIVER_ERROR(5048, "nvidia-fs failed internally"),
    BATCH_NOCOMPAT_ERROR(5049, "the batch needs compat mode, which is switched off"),
    IO_MAX_ERROR(5050, "the largest code of this table");

    private static final Map<Integer, CuFileError> BY_CODE =
            Stream.of(values()).collect(Collectors.toUnmodifiableMap(CuFileError::code, Function.identity()));

    private final int code;
    private final String text;

    CuFileError(int code, String text) {
        this.code = code;
        this.text = text;
    }

    /** The numeric code, as {@code cufile.h} defines it. */
    public int code() {
        return code;
    }

    /** NVIDIA's name, for example {@code CU_FILE_INVALID_VALUE}. */
    public String cName() {
        return "CU_FILE_" + name();
    }

    /** What the code means, in a few words. */
    public String text() {
        return text;
    }

    /** The error with this code; empty for a number that cuFile does not define. */
    public static Optional<CuFileError> of(int code) {
        return Optional.ofNullable(BY_CODE.get(code));
    }
}
