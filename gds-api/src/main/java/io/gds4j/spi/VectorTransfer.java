package io.gds4j.spi;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryRange;
import java.util.List;

/**
 * Serves {@code cuFileReadv} and {@code cuFileWritev} range by range, for a backend without a call for several ranges.
 *
 * @since 0.1
 */
public final class VectorTransfer {
    /** Moves the bytes of one range. */
    @FunctionalInterface
    public interface Single {
        /**
         * Moves the whole range.
         *
         * @param range the memory, 1 byte or more
         * @param fileOffset first byte in the file
         * @return bytes moved; less than the range holds only at the end of the file
         */
        long move(MemoryRange range, long fileOffset);
    }

    private VectorTransfer() {
    }

    /**
     * Checks the arguments, and moves the ranges in their order up to the end of the file.
     *
     * @param file the file
     * @param operation {@link Operation#VECTOR_READ} or {@link Operation#VECTOR_WRITE}
     * @param ranges the memory, in the order of the file
     * @param fileOffset first byte in the file
     * @param flags bits of the C call, which defines none
     * @param single moves one range
     * @return bytes moved
     * @throws CuFileException INVALID_VALUE (EINVAL) for numbers out of range and for flags, INVALID_FILE_OPEN_FLAG (EBADF) against
     *         the access mode; the failure of a range, with the count of all bytes that were moved before
     */
    public static long run(
            BackendFile file, Operation operation, List<MemoryRange> ranges, long fileOffset, int flags,
            Single single) {
        String function = operation.function();
        long total = TransferArguments.total(ranges);
        if (!TransferArguments.isFileRange(total, fileOffset) || flags != 0) {
            throw CuFileException.builder(function)
                    .error(CuFileError.INVALID_VALUE)
                    .errno(Errno.EINVAL)
                    .path(file.path())
                    .range(fileOffset, total)
                    .detail("%s ranges, file offset %s or flags 0x%x are out of range"
                            .formatted(ranges.size(), fileOffset, flags))
                    .build();
        }
        TransferArguments.checkAccessMode(function, file, total, fileOffset, operation);
        long done = 0;
        for (MemoryRange range : ranges) {
            if (range.length() > 0) {
                long moved;
                try {
                    moved = single.move(range, fileOffset + done);
                } catch (CuFileException e) {
                    throw after(done, e, function, fileOffset, total);
                }
                done += moved;
                if (moved < range.length()) {
                    break;
                }
            }
        }
        return done;
    }

    /** Returns the failure of a vector that had moved some bytes. */
    private static CuFileException after(
            long done, CuFileException e, String function, long fileOffset, long total) {
        CuFileException.Builder failure = CuFileException.builder(function)
                .error(e.error())
                .path(e.path())
                .range(fileOffset, total)
                .transferred(done + e.bytesTransferred())
                .detail(e.detail())
                .cause(e);
        e.errno().ifPresent(failure::errno);
        return e instanceof CuFileInterruptedException ? failure.buildInterrupted() : failure.build();
    }
}
