package io.gds4j.ffi.cufile;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.memory.MemoryRange;
import java.util.List;

/**
 * Preconditions for calls of the library. Each rejects arguments that the library answers wrongly or does not survive,
 * and says what the library would do. The object API has checked most arguments already; the backend must be safe
 * without it.
 */
final class Guards {
    private static final long LARGEST = 1L << 62;
    private static final long PAGE_KB = 4;
    private static final long GPU_PAGE_KB = 64;
    private static final long MAX_DIRECT_IO_KB = 16384;
    private static final int P2P_FLAGS = 0x1F;

    private Guards() {
    }

    /**
     * Checks the numbers of a transfer. The library fails with EPERM or EIO past the end of the memory, reads 2^62
     * bytes as EPERM, and a negative offset as 5030 or EIO.
     */
    static void transfer(
            String function, LibraryFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        if (size < 0 || size > LARGEST || fileOffset < 0 || bufferOffset < 0 || fileOffset > Long.MAX_VALUE - size) {
            throw failure(CuFileError.INVALID_VALUE, function, file, size, fileOffset)
                    .errno(Errno.EINVAL)
                    .detail("size %d, file offset %d or buffer offset %d is out of range"
                            .formatted(size, fileOffset, bufferOffset))
                    .build();
        }
        if (bufferOffset > base.length() || size > base.length() - bufferOffset) {
            throw failure(CuFileError.CUDA_POINTER_RANGE_ERROR, function, file, size, fileOffset)
                    .detail("buffer offset %d and size %d reach past %d bytes of memory"
                            .formatted(bufferOffset, size, base.length()))
                    .build();
        }
    }

    /** Checks the access mode. The library answers EIO for a write on a descriptor that is open for reading. */
    static void accessMode(String function, LibraryFile file, boolean write, long size, long fileOffset) {
        if (write ? !file.isWritable() : !file.isReadable()) {
            throw failure(CuFileError.INVALID_FILE_OPEN_FLAG, function, file, size, fileOffset)
                    .errno(Errno.EBADF)
                    .detail("the file is not open for " + (write ? "writing" : "reading"))
                    .build();
        }
    }

    private static CuFileException.Builder failure(
            CuFileError error, String function, LibraryFile file, long size, long fileOffset) {
        CuFileException.Builder failure = CuFileException.builder(function).error(error).path(file.path());
        return size >= 0 && fileOffset >= 0 ? failure.range(fileOffset, size) : failure;
    }

    /**
     * Checks that a range to be registered is within its allocations. The library registers it later, at the first
     * transfer, when the caller cannot be told; and it never checks host memory.
     */
    static void withinAllocation(Cuda cuda, MemoryRange range) {
        if (range.length() == 0) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, "cuFileBufRegister", "the range is empty");
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
    static void batchCapacity(int capacity, long largest) {
        if (capacity < 1 || capacity > largest) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    "cuFileBatchIOSetUp",
                    "capacity is %d, allowed: 1 to %d".formatted(capacity, largest));
        }
    }

    /** Checks the flags of a submission. cuFile defines none, and the library accepts any. */
    static void batchFlags(int flags) {
        if (flags != 0) {
            throw CuFileException.of(
                    CuFileError.INTERNAL_BATCH_SUBMIT_ERROR,
                    "cuFileBatchIOSubmit",
                    "flags are 0x%x, allowed: 0".formatted(flags));
        }
    }

    /** Checks peer-to-peer flags. The library ignores a call that sets none. */
    static void p2pFlags(int flags) {
        if (flags <= 0 || (flags & ~P2P_FLAGS) != 0) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    "cuFileDriverSetP2PFlags",
                    "flags are 0x%x, allowed: one or more of 0x1f".formatted(flags));
        }
    }

    /** Checks a vectored transfer. The library counts the ranges in an int and their bytes in a signed size. */
    static void vector(String function, LibraryFile file, List<MemoryRange> ranges, long fileOffset, int flags) {
        long sum = 0;
        for (MemoryRange range : ranges) {
            sum = sum > LARGEST - range.length() ? Long.MAX_VALUE : sum + range.length();
        }
        if (fileOffset < 0 || sum > LARGEST || fileOffset > Long.MAX_VALUE - sum || flags != 0) {
            throw failure(CuFileError.INVALID_VALUE, function, file, sum, fileOffset)
                    .errno(Errno.EINVAL)
                    .detail("%d ranges, file offset %d or flags 0x%x are out of range"
                            .formatted(ranges.size(), fileOffset, flags))
                    .build();
        }
    }

    /** Checks a limit of the running driver. The library accepts some that it cannot keep. */
    static void pollThreshold(long kb) {
        limit("cuFileDriverSetPollMode", kb, PAGE_KB, Long.MAX_VALUE, PAGE_KB, "a multiple of 4 KiB, 4 or more");
    }

    static void maxDirectIoSize(long kb) {
        limit(
                "cuFileDriverSetMaxDirectIOSize",
                kb,
                GPU_PAGE_KB,
                MAX_DIRECT_IO_KB,
                GPU_PAGE_KB,
                "a multiple of 64 KiB, 64 to 16384");
    }

    static void maxCacheSize(long kb) {
        limit("cuFileDriverSetMaxCacheSize", kb, 0, Long.MAX_VALUE, PAGE_KB, "a multiple of 4 KiB");
    }

    static void maxPinnedMemSize(long kb) {
        limit(
                "cuFileDriverSetMaxPinnedMemSize",
                kb,
                GPU_PAGE_KB,
                Long.MAX_VALUE,
                PAGE_KB,
                "a multiple of 4 KiB, 64 or more");
    }

    private static void limit(String function, long kb, long min, long max, long step, String allowed) {
        if (kb < min || kb > max || kb % step != 0) {
            throw CuFileException.of(
                    CuFileError.DRIVER_UNSUPPORTED_LIMIT, function, "%d KiB is not %s".formatted(kb, allowed));
        }
    }
}
