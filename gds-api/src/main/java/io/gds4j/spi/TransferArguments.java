package io.gds4j.spi;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryRange;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Checks the arguments of transfers. The object API checks them first; a backend checks them again, because it passes raw
 * addresses to the kernel.
 *
 * @since 0.1
 */
public final class TransferArguments {
    /** Largest size of one transfer, in bytes. */
    public static final long MAX_SIZE = 1L << 62;

    private TransferArguments() {
    }

    /**
     * Tells whether the numbers can be a range of a file.
     *
     * @param size bytes
     * @param fileOffset first byte
     * @return true if they can
     */
    public static boolean isFileRange(long size, long fileOffset) {
        return size >= 0 && size <= MAX_SIZE && fileOffset >= 0 && fileOffset <= Long.MAX_VALUE - size;
    }

    /**
     * Tells whether a part is within memory.
     *
     * @param length bytes of the memory
     * @param size bytes of the part, 0 or more
     * @param bufferOffset first byte of the part
     * @return true if it is
     */
    public static boolean isWithin(long length, long size, long bufferOffset) {
        return bufferOffset >= 0 && bufferOffset <= length && size <= length - bufferOffset;
    }

    /**
     * Tells which number is out of range.
     *
     * @param size bytes
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @return the reason for INVALID_VALUE; null if the numbers are valid by themselves
     */
    public static @Nullable String invalidNumber(long size, long fileOffset, long bufferOffset) {
        if (size < 0 || size > MAX_SIZE) {
            return "size is outside 0..2^62: " + size;
        }
        if (fileOffset < 0) {
            return "file offset is negative: " + fileOffset;
        }
        if (fileOffset > Long.MAX_VALUE - size) {
            return "file offset %s and size %s overflow".formatted(fileOffset, size);
        }
        return bufferOffset < 0 ? "buffer offset is negative: " + bufferOffset : null;
    }

    /**
     * Describes a part that reaches past memory.
     *
     * @param length bytes of the memory
     * @param size bytes of the part
     * @param bufferOffset first byte of the part
     * @return the text
     */
    public static String pastMemory(long length, long size, long bufferOffset) {
        return "buffer offset %s and size %s reach past %s bytes of memory".formatted(bufferOffset, size, length);
    }

    /**
     * Checks the arguments of one transfer.
     *
     * @param function the C function
     * @param file the file
     * @param base the memory
     * @param size bytes
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @param operation reads or writes the file
     * @throws CuFileException INVALID_VALUE (EINVAL) for a number out of range, CUDA_POINTER_RANGE_ERROR past the memory,
     *         INVALID_FILE_OPEN_FLAG (EBADF) against the access mode
     */
    public static void check(
            String function,
            BackendFile file,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset,
            Operation operation) {
        if (!isFileRange(size, fileOffset) || !isWithin(base.length(), size, bufferOffset)) {
            throw outside(function, file, base, size, fileOffset, bufferOffset);
        }
        checkAccessMode(function, file, size, fileOffset, operation);
    }

    private static CuFileException outside(
            String function, BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
        CuFileException.Builder failure = failure(function, file, size, fileOffset);
        String invalid = invalidNumber(size, fileOffset, bufferOffset);
        return invalid != null
                ? failure.error(CuFileError.INVALID_VALUE).errno(Errno.EINVAL).detail(invalid).build()
                : failure.error(CuFileError.CUDA_POINTER_RANGE_ERROR)
                        .detail(pastMemory(base.length(), size, bufferOffset))
                        .build();
    }

    /**
     * Checks that a file is open for the transfer.
     *
     * @param function the C function
     * @param file the file
     * @param size bytes, -1 if unknown
     * @param fileOffset first byte in the file, -1 if unknown
     * @param operation reads or writes the file
     * @throws CuFileException INVALID_FILE_OPEN_FLAG (EBADF) if it is not
     */
    public static void checkAccessMode(
            String function, BackendFile file, long size, long fileOffset, Operation operation) {
        if (operation.isWrite() ? !file.isWritable() : !file.isReadable()) {
            throw failure(function, file, size, fileOffset)
                    .error(CuFileError.INVALID_FILE_OPEN_FLAG)
                    .errno(Errno.EBADF)
                    .detail("the file is not open for " + (operation.isWrite() ? "writing" : "reading"))
                    .build();
        }
    }

    private static CuFileException.Builder failure(String function, BackendFile file, long size, long fileOffset) {
        return CuFileException.builder(function).path(file.path()).range(fileOffset, size);
    }

    /**
     * Returns the sum of the lengths of some ranges.
     *
     * @param ranges memory
     * @return bytes; {@link Long#MAX_VALUE} for more than {@link #MAX_SIZE}
     */
    public static long total(List<MemoryRange> ranges) {
        long sum = 0;
        for (MemoryRange range : ranges) {
            if (sum > MAX_SIZE - range.length()) {
                return Long.MAX_VALUE;
            }
            sum += range.length();
        }
        return sum;
    }
}
