package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.RegisteredMemory;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The arguments of one transfer, checked: what is not valid never reaches a backend. Names itself in every exception.
 *
 * @param function the C function
 * @param path the file, where its name is known
 * @param write memory to file
 */
record RequestCheck(String function, Optional<Path> path, boolean write, long size, long fileOffset, long bufferOffset) {

    /** Largest size of one transfer, in bytes. */
    static final long MAX_SIZE = 1L << 62;

    /** True if {@link #checkWithin} would find nothing wrong; asked first, because a request that is right is never made. */
    static boolean isWithin(IoMemory memory, boolean write, long size, long fileOffset, long bufferOffset) {
        long length = memory.range().length();
        return size >= 0
                && size <= MAX_SIZE
                && fileOffset >= 0
                && fileOffset <= Long.MAX_VALUE - size
                && bufferOffset >= 0
                && bufferOffset <= length
                && size <= length - bufferOffset
                && MemoryUse.allows(memory, write);
    }

    /** Checks the numbers, that they are within the memory, and that the memory allows the request. */
    void checkWithin(IoMemory memory) {
        MemoryRange range = memory.range();
        checkFileRange();
        if (bufferOffset < 0) {
            throw invalid("buffer offset is negative: " + bufferOffset);
        }
        if (bufferOffset > range.length() || size > range.length() - bufferOffset) {
            boolean registered = memory instanceof RegisteredMemory;
            throw failure(registered ? CuFileError.INVALID_MAPPING_RANGE : CuFileError.CUDA_POINTER_RANGE_ERROR)
                    .detail("buffer offset %d and size %d reach past %d bytes of memory"
                            .formatted(bufferOffset, size, range.length()))
                    .build();
        }
        checkAccess(memory);
    }

    /** Checks that the numbers can be a range of a file. */
    void checkFileRange() {
        if (size < 0 || size > MAX_SIZE) {
            throw invalid("size is outside 0..2^62: " + size);
        }
        if (fileOffset < 0) {
            throw invalid("file offset is negative: " + fileOffset);
        }
        if (fileOffset > Long.MAX_VALUE - size) {
            throw invalid("file offset %d and size %d overflow".formatted(fileOffset, size));
        }
    }

    /** Checks that bytes may be read into the memory, or written from it, as the request does. */
    void checkAccess(IoMemory memory) {
        if (!MemoryUse.allows(memory, write)) {
            throw failure(CuFileError.PERMISSION_DENIED)
                    .detail(memory instanceof RegisteredMemory
                            ? "%s has no right of %s".formatted(memory, BufferRight.of(write))
                            : "the memory is a read-only segment")
                    .build();
        }
    }

    /** Sum of the lengths of some ranges. */
    static long total(List<MemoryRange> ranges) {
        long sum = 0;
        for (MemoryRange range : ranges) {
            // More than 2^62 is refused anyway: saturate.
            sum = sum > MAX_SIZE - range.length() ? Long.MAX_VALUE : sum + range.length();
            if (sum == Long.MAX_VALUE) {
                return sum;
            }
        }
        return sum;
    }

    CuFileException.Builder failure(CuFileError error) {
        return CuFileException.builder(function).error(error).path(path).range(fileOffset, size);
    }

    CuFileException invalid(String detail) {
        return failure(CuFileError.INVALID_VALUE).errno(Errno.EINVAL).detail(detail).build();
    }

    CuFileException openFlag(String detail) {
        return failure(CuFileError.INVALID_FILE_OPEN_FLAG).errno(Errno.EBADF).detail(detail).build();
    }

    /** The same failure, as one of this request. */
    CuFileException named(CuFileException e) {
        CuFileException.Builder builder = failure(e.error()).detail(e.detail()).cause(e);
        OptionalInt errno = e.errno();
        errno.ifPresent(builder::errno);
        return builder.build();
    }
}
