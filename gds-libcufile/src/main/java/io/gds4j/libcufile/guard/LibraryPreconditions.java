package io.gds4j.libcufile.guard;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.TransferArguments;
import java.util.List;

/**
 * Preconditions for calls of the library. Each rejects arguments that the library answers wrongly or does not survive; its
 * comment says what the library would do. The object API checks most arguments already; the backend must be safe without it.
 */
public final class LibraryPreconditions {
    private static final int P2P_FLAGS = 0x1F;

    private LibraryPreconditions() {
    }

    /**
     * Checks that a range to be registered is within its allocations. The library registers it later, at the first
     * transfer, when the caller cannot be told; and it never checks host memory.
     */
    public static void withinAllocation(Cuda cuda, MemoryRange range) {
        if (range.length() == 0) {
            throw CuFileException.invalid("cuFileBufRegister", "the range is empty");
        }
        if (!range.kind().isCuda()) {
            return;
        }
        long known = new CudaPointers(cuda).knownUpTo(range.address(), range.length()) - range.address();
        if (known < range.length()) {
            throw CuFileException.of(
                    known == 0 ? CuFileError.CUDA_POINTER_INVALID : CuFileError.CUDA_POINTER_RANGE_ERROR,
                    "cuFileBufRegister",
                    "the GPU has no memory at 0x%x, within %s".formatted(range.address() + known, range));
        }
    }

    /**
     * Checks the capacity of a batch. The library crashes if it has no place for the answer, and refuses more than
     * io_batchsize.
     */
    public static void batchCapacity(int capacity, long largest) {
        if (capacity < 1 || capacity > largest) {
            throw CuFileException.invalid(
                    "cuFileBatchIOSetUp", "capacity is %s, allowed: 1 to %s".formatted(capacity, largest));
        }
    }

    /** Checks the flags of a submission. cuFile defines none, and the library accepts any. */
    public static void batchFlags(int flags) {
        if (flags != 0) {
            throw CuFileException.of(
                    CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                    "cuFileBatchIOSubmit",
                    "flags are 0x%x, allowed: 0".formatted(flags));
        }
    }

    /** Checks peer-to-peer flags. The library ignores a call that sets none. */
    public static void p2pFlags(int flags) {
        if (flags <= 0 || (flags & ~P2P_FLAGS) != 0) {
            throw CuFileException.invalid(
                    "cuFileDriverSetP2PFlags", "flags are 0x%x, allowed: one or more of 0x1f".formatted(flags));
        }
    }

    /** Checks a vectored transfer. The library counts ranges in an int and their bytes in a signed size. */
    public static void vector(String function, LibraryFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        long sum = TransferArguments.total(ranges);
        if (!TransferArguments.isFileRange(sum, fileOffset) || flags != 0) {
            throw CuFileException.builder(function)
                    .error(CuFileError.INVALID_VALUE)
                    .errno(Errno.EINVAL)
                    .path(file.path())
                    .range(fileOffset, sum)
                    .detail("%s ranges, file offset %s or flags 0x%x are out of range"
                            .formatted(ranges.size(), fileOffset, flags))
                    .build();
        }
    }
}
