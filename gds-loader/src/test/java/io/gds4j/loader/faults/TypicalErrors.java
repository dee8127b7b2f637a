package io.gds4j.loader.faults;

import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cufile.CuFileLibrary;
import io.gds4j.ffi.cufile.CuFileResults;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.StatxResult;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The table of errors: two that are typical of each native function. */
final class TypicalErrors {
    /** What else happens when a call fails. */
    enum Mode {
        /** The call does nothing. */
        INSTEAD,
        /** The call does its work first: what frees or waits, where the driver reports the failure of other work. */
        AFTERWARDS,
        /** The call and all later ones of CUDA do nothing: the process ends, or a kernel has used an illegal address. */
        FROM_NOW_ON
    }

    /**
     * An error of a call.
     *
     * @param code errno, {@code CUresult} or code of cuFile
     */
    record NativeError(int code, Mode mode) {
        /** Returns what a method answers, or throws it, as the binding does. */
        Object answer(NativeFunction function, Method method) {
            Class<?> type = method.getReturnType();
            if (function.binding() == Cuda.class) {
                return type == boolean.class ? (Object) false : code;
            }
            long negative = -(long) code;
            if (type == StatxResult.class) {
                return StatxResult.failed((int) negative);
            }
            if (function.binding() == CuFileLibrary.class && !TRANSFERS.contains(function.name())) {
                throw CuFileResults.failure("cuFile" + function.name(), negative).build();
            }
            return type == int.class ? (Object) (int) negative : negative;
        }

        @Override
        public String toString() {
            return code + " " + mode;
        }
    }

    /** Those that answer an error as a negative number of bytes. */
    private static final List<String> TRANSFERS = List.of("read", "write", "readv", "writev");

    private static final int CUDA_DEVICE_UNAVAILABLE = 46;
    private static final int CUDA_LAUNCH_FAILED = 719;

    private static final NativeError FATAL = new NativeError(Cuda.ERROR_ILLEGAL_ADDRESS, Mode.FROM_NOW_ON);
    private static final NativeError ENDED = new NativeError(Cuda.ERROR_DEINITIALIZED, Mode.FROM_NOW_ON);

    private static final Map<NativeFunction, List<NativeError>> TABLE = new HashMap<>();

    static {
        // libc: the kernel has closed a descriptor whose close fails
        row(Posix.class, before(Errno.EMFILE, Errno.EACCES), "open");
        row(Posix.class, after(Errno.EIO, Errno.EINTR), "close");
        row(Posix.class, before(Errno.EIO, Errno.EINTR), "pread", "preadv2", "fsync", "fdatasync");
        row(Posix.class, before(Errno.ENOSPC, Errno.EIO), "pwrite");
        row(Posix.class, before(Errno.EPERM, Errno.ENOSYS), "cachedPages");
        row(Posix.class, before(Errno.EACCES, Errno.ESTALE), "statx");
        row(Posix.class, before(Errno.EIO, Errno.ENOSYS), "fileSystemMagic");
        row(Posix.class, before(Errno.EMFILE, Errno.EAGAIN), "fcntl");
        row(Posix.class, before(Errno.EINVAL, Errno.ESPIPE), "fadvise", "lseek");
        row(Posix.class, before(Errno.ENOMEM, Errno.EAGAIN), "mmap");
        row(Posix.class, after(Errno.EINVAL, Errno.ENOMEM), "munmap");
        row(Posix.class, before(Errno.EINVAL, Errno.EAGAIN), "madvise");
        row(Posix.class, before(Errno.EIO, Errno.EFBIG), "ftruncate");
        row(Posix.class, before(Errno.ENOSPC, Errno.EOPNOTSUPP), "fallocate");
        row(Posix.class, before(Errno.EACCES, Errno.ENOSPC), "rename", "link", "mkdir");
        row(Posix.class, before(Errno.EACCES, Errno.EBUSY), "unlink", "rmdir");
        row(Posix.class, before(Errno.EPERM, Errno.EROFS), "chmod");
        row(Posix.class, before(Errno.EMFILE, Errno.ENOMEM), "memfdCreate");
        row(Posix.class, before(Errno.ENOTTY, Errno.EIO), "blockDeviceSize");
        row(Posix.class, before(Errno.EPERM, Errno.ENOSYS), "ioUringSetup", "ioUringEnter");
        row(Posix.class, before(Errno.EINVAL, Errno.ENOSYS), "timerSlack", "setTimerSlack");
        row(Posix.class, before(Errno.EINVAL, Errno.EPERM), "affinity", "setAffinity");
        row(Posix.class, before(Errno.ENOMEM, Errno.EINVAL), "setenv");
        row(Posix.class, List.of(), "isatty", "pageSize");

        // CUDA: what frees or waits may report the failure of other work
        row(Cuda.class, before(Cuda.ERROR_NOT_INITIALIZED, Cuda.ERROR_INVALID_DEVICE), "deviceGetCount", "deviceGet",
                "deviceGetName", "deviceGetUuid", "deviceTotalMem", "deviceGetAttribute", "deviceGetPciBusId",
                "deviceCanAccessPeer");
        row(Cuda.class, before(Cuda.ERROR_OUT_OF_MEMORY, CUDA_DEVICE_UNAVAILABLE), "devicePrimaryCtxRetain");
        row(Cuda.class, List.of(ENDED, FATAL), "ctxPushCurrent", "ctxGetCurrent", "ctxSetCurrent", "ctxIsCurrent",
                "ctxGetId");
        row(Cuda.class, before(Cuda.ERROR_OUT_OF_MEMORY, Cuda.ERROR_NOT_SUPPORTED), "ctxEnablePeerAccess", "memAlloc",
                "memAllocManaged", "memAllocAsync", "memHostAlloc", "memHostRegister", "memAddressReserve",
                "memCreate", "memMap", "memSetAccess", "memGetAllocationGranularity", "memGetDmaBuf");
        row(Cuda.class, List.of(new NativeError(Cuda.ERROR_OUT_OF_MEMORY, Mode.INSTEAD), FATAL), "memGetInfo",
                "memGetAddressRange", "memPrefetchAsync", "memcpyHtoDAsync", "memcpyRowsHtoDAsync",
                "memcpy2DHtoDAsync", "memcpy2DDtoHAsync", "memcpy2DDtoDAsync", "memcpyDtoHAsync", "memcpyDtoDAsync",
                "memcpyAsync", "memcpyPeerAsync", "memcpyRowsPeerAsync", "memsetD8Async", "streamCreate",
                "streamCreateWithPriority", "eventCreate", "eventRecord", "streamWaitEvent", "moduleLoad",
                "moduleGetFunction", "launchKernel", "launchKernelEarly");
        row(Cuda.class, List.of(new NativeError(Cuda.ERROR_NOT_SUPPORTED, Mode.INSTEAD), FATAL), "streamWaitValue32",
                "streamWriteValue32", "flushGpuDirectRdmaWrites");
        row(Cuda.class, List.of(new NativeError(Cuda.ERROR_INVALID_VALUE, Mode.INSTEAD), ENDED), "pointerGetAttribute",
                "pointerGetAttributes", "pointerSetAttribute", "threadExchangeStreamCaptureMode", "streamGetCtx",
                "streamIsCapturing");
        row(Cuda.class, List.of(new NativeError(CUDA_LAUNCH_FAILED, Mode.AFTERWARDS), FATAL), "streamSynchronize",
                "streamQuery", "eventSynchronize", "eventQuery");
        row(Cuda.class, List.of(new NativeError(CUDA_LAUNCH_FAILED, Mode.AFTERWARDS), ENDED),
                "devicePrimaryCtxRelease", "ctxPopCurrent", "memFree", "memFreeAsync", "memFreeHost",
                "memHostUnregister", "streamDestroy", "eventDestroy", "moduleUnload", "memAddressFree", "memRelease",
                "memUnmap");
        row(Cuda.class, List.of(), "has", "errorName", "errorText");

        // libcufile: what deregisters a handle and destroys a batch answers nothing
        row(CuFileLibrary.class, before(CuFileError.IO_NOT_SUPPORTED.code(), CuFileError.NVFS_DRIVER_ERROR.code()),
                "handleRegister");
        row(CuFileLibrary.class, before(CuFileError.GPU_MEMORY_PINNING_FAILED.code(), CuFileError.NOMEM_ERROR.code()),
                "bufRegister");
        row(CuFileLibrary.class, after(CuFileError.NVFS_DRIVER_ERROR.code(), CuFileError.INTERNAL_ERROR.code()),
                "bufDeregister", "driverClose", "streamDeregister", "batchIoCancel");
        row(CuFileLibrary.class, before(Errno.EIO, CuFileError.NVFS_INTERNAL_DRIVER_ERROR.code()), "read", "write",
                "readv", "writev");
        row(CuFileLibrary.class,
                before(CuFileError.NVFS_SETUP_ERROR.code(), CuFileError.DRIVER_VERSION_MISMATCH.code()),
                "driverOpen", "driverGetProperties", "getVersion");
        row(CuFileLibrary.class, before(CuFileError.INTERNAL_BATCH_SETUP_ERROR.code(), CuFileError.NOMEM_ERROR.code()),
                "batchIoSetUp");
        row(CuFileLibrary.class, before(CuFileError.BATCH_SUBMIT_FAILED.code(), CuFileError.NVFS_DRIVER_ERROR.code()),
                "batchIoSubmit");
        row(CuFileLibrary.class, before(CuFileError.INTERNAL_BATCH_GETSTATUS_ERROR.code(), CuFileError.IO_ERROR.code()),
                "batchIoGetStatus");
        row(CuFileLibrary.class, before(CuFileError.ASYNC_NOT_SUPPORTED.code(), CuFileError.NVFS_DRIVER_ERROR.code()),
                "readAsync", "writeAsync", "streamRegister");
        row(CuFileLibrary.class, before(CuFileError.DRIVER_UNSUPPORTED_LIMIT.code(), CuFileError.INTERNAL_ERROR.code()),
                "driverSetPollMode", "driverSetMaxDirectIoSize", "driverSetMaxCacheSize",
                "driverSetMaxPinnedMemSize", "setParameterSizeT", "setParameterBool", "setParameterString",
                "setParameterPosixPoolSlabArray", "setStatsLevel");
        row(CuFileLibrary.class, before(CuFileError.INVALID_VALUE.code(), CuFileError.INTERNAL_ERROR.code()),
                "getParameterSizeT",
                "getParameterBool", "getParameterString", "getParameterMinMaxValue", "getParameterPosixPoolSlabArray",
                "getParameterGpuBounceBufferSlabArray", "setParameterGpuBounceBufferSlabArray", "getStatsLevel",
                "statsStart", "statsStop", "statsReset", "getStatsL1", "getStatsL2", "getStatsL3", "getBarSizeInKb",
                "driverSetP2pFlags", "driverGetP2pFlags", "exportPcieTopology");
        row(CuFileLibrary.class, List.of(), "description", "version", "has", "useCount", "handleDeregister",
                "batchIoDestroy");
    }

    private TypicalErrors() {
    }

    private static void row(Class<?> binding, List<NativeError> errors, String... functions) {
        for (String function : functions) {
            TABLE.put(new NativeFunction(binding, function), errors);
        }
    }

    private static List<NativeError> before(int one, int other) {
        return List.of(new NativeError(one, Mode.INSTEAD), new NativeError(other, Mode.INSTEAD));
    }

    private static List<NativeError> after(int one, int other) {
        return List.of(new NativeError(one, Mode.AFTERWARDS), new NativeError(other, Mode.AFTERWARDS));
    }

    /** Returns two errors of a function, or none if it cannot fail. */
    static List<NativeError> of(NativeFunction function) {
        List<NativeError> errors = TABLE.get(function);
        if (errors == null) {
            throw new AssertionError("an operation calls " + function
                    + ", and the table of typical errors has no row for it: add one to TypicalErrors");
        }
        return errors;
    }

    /** Returns the rows of the table, so that a test finds one whose function is gone. */
    static List<NativeFunction> functions() {
        return TABLE.keySet().stream().sorted().toList();
    }
}
