package io.gds4j.compat;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryRange;

/** The last look at a request's arguments: behind it stand raw addresses. The object API has looked before. */
final class RequestArguments {
    private RequestArguments() {
    }

    static void check(
            String function,
            CompatFile file,
            MemoryRange base,
            long size,
            long fileOffset,
            long bufferOffset,
            boolean write) {
        if ((size | fileOffset | bufferOffset) < 0 || fileOffset > Long.MAX_VALUE - size) {
            throw failure(function, file, size, fileOffset)
                    .error(CuFileError.INVALID_VALUE)
                    .errno(Errno.EINVAL)
                    .detail("size %d, file offset %d or buffer offset %d is negative or overflows"
                            .formatted(size, fileOffset, bufferOffset))
                    .build();
        }
        if (bufferOffset > base.length() || size > base.length() - bufferOffset) {
            throw failure(function, file, size, fileOffset)
                    .error(CuFileError.CUDA_POINTER_RANGE_ERROR)
                    .detail("buffer offset %d and size %d reach past %d bytes of memory"
                            .formatted(bufferOffset, size, base.length()))
                    .build();
        }
        if (write ? !file.isWritable() : !file.isReadable()) {
            throw failure(function, file, size, fileOffset)
                    .error(CuFileError.INVALID_FILE_OPEN_FLAG)
                    .errno(Errno.EBADF)
                    .detail("the file is not open for " + (write ? "writing" : "reading"))
                    .build();
        }
    }

    private static CuFileException.Builder failure(String function, CompatFile file, long size, long fileOffset) {
        return CuFileException.builder(function).path(file.path()).range(fileOffset, size);
    }
}
