package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.RegisteredMemory;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.FileSource;
import io.gds4j.statistics.IoPathReport;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * A registered file ({@code cuFileHandleRegister}): reads it into memory and writes memory to it.
 *
 * <pre>{@code
 * long n = handle.read(memory, 1 << 20, 4096, 0);   // 1 MiB from file offset 4096 to the start of the memory
 * }</pre>
 *
 * <p>
 * Thread-safe; positions are arguments, never state. {@link #close} waits for I/O in flight.
 *
 * @since 0.1
 */
public final class CuFileHandle implements AutoCloseable {
    /** Largest size of one request, in bytes. */
    public static final long MAX_REQUEST_SIZE = 1L << 62;

    private static final String READ = "cuFileRead";
    private static final String WRITE = "cuFileWrite";

    private final CuFileDriver driver;
    private final BackendFile file;
    private final Resource resource;

    private CuFileHandle(CuFileDriver driver, BackendFile file) {
        this.driver = driver;
        this.file = file;
        Session session = driver.session();
        String what = "CuFileHandle of " + file.path().map(Path::toString).orElse("a descriptor");
        this.resource = Resource.of(
                this, session, "cuFileHandleRegister", what, () -> session.backend().handleDeregister(file));
    }

    static CuFileHandle register(CuFileDriver driver, FileSource source) {
        return new CuFileHandle(driver, driver.session().backend().handleRegister(source));
    }

    /**
     * Reads from the file into memory ({@code cuFileRead}).
     *
     * @param memory receives the bytes
     * @param size bytes to read, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @return bytes read: {@code size}, or less at the end of the file (0 at or past it, never -1). Bytes of the memory
     *         behind the count are untouched
     * @throws CuFileException INVALID_VALUE for a negative or overflowing argument, CUDA_POINTER_RANGE_ERROR past the end
     *         of the memory, INVALID_MAPPING_RANGE past the end of a registered buffer, INVALID_FILE_OPEN_FLAG (EBADF) if
     *         the file is not open for reading, HANDLE_NOT_REGISTERED after close; an errno where the kernel failed
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted between pieces
     */
    public long read(IoMemory memory, long size, long fileOffset, long bufferOffset) {
        MemoryRange range = check(READ, memory, size, fileOffset, bufferOffset);
        enter(READ, memory, size, fileOffset);
        try {
            if (!file.isReadable()) {
                throw openFlag(READ, size, fileOffset, "the file is not open for reading");
            }
            if (!range.isWritable()) {
                throw failure(READ, CuFileError.PERMISSION_DENIED, size, fileOffset)
                        .detail("the memory is a read-only segment")
                        .build();
            }
            return driver.session().backend().read(file, range, size, fileOffset, bufferOffset);
        } finally {
            exit(memory);
        }
    }

    /** Reads {@code memory.length()} bytes from {@code fileOffset} on. */
    public long read(IoMemory memory, long fileOffset) {
        return read(memory, memory.range().length(), fileOffset, 0);
    }

    /**
     * Writes memory to the file ({@code cuFileWrite}); all of it, or an exception that says how much.
     *
     * @param memory holds the bytes
     * @param size bytes to write, 0 to 2^62; 0 never makes the file longer
     * @param fileOffset first byte in the file; past the end the gap reads as zeros
     * @param bufferOffset first byte in the memory
     * @return {@code size}
     * @throws CuFileException as {@link #read(IoMemory, long, long, long)} does; with ENOSPC, EDQUOT, EFBIG or EIO where the
     *         kernel says so, and {@link CuFileException#bytesTransferred()} the contiguous count
     */
    public long write(IoMemory memory, long size, long fileOffset, long bufferOffset) {
        MemoryRange range = check(WRITE, memory, size, fileOffset, bufferOffset);
        enter(WRITE, memory, size, fileOffset);
        try {
            if (!file.isWritable()) {
                throw openFlag(WRITE, size, fileOffset, "the file is not open for writing");
            }
            return driver.session().backend().write(file, range, size, fileOffset, bufferOffset);
        } finally {
            exit(memory);
        }
    }

    /** Writes {@code memory.length()} bytes at {@code fileOffset}. */
    public long write(IoMemory memory, long fileOffset) {
        return write(memory, memory.range().length(), fileOffset, 0);
    }

    /** Fills several ranges from consecutive bytes of the file ({@code cuFileReadv} of cuFile 1.19). */
    @Experimental
    public long readv(List<MemoryRange> ranges, long fileOffset) {
        return vectored("cuFileReadv", ranges, fileOffset, false);
    }

    /** Writes several ranges to consecutive bytes of the file ({@code cuFileWritev} of cuFile 1.19). */
    @Experimental
    public long writev(List<MemoryRange> ranges, long fileOffset) {
        return vectored("cuFileWritev", ranges, fileOffset, true);
    }

    private long vectored(String function, List<MemoryRange> ranges, long fileOffset, boolean write) {
        List<MemoryRange> copy = List.copyOf(ranges);
        if (fileOffset < 0) {
            throw failure(function, CuFileError.INVALID_VALUE, 0, fileOffset)
                    .errno(Errno.EINVAL)
                    .detail("file offset is negative: " + fileOffset)
                    .build();
        }
        use(function);
        int held = 0;
        try {
            for (MemoryRange range : copy) {
                range.retain();
                held++;
            }
            var backend = driver.session().backend();
            return write ? backend.writev(file, copy, fileOffset, 0) : backend.readv(file, copy, fileOffset, 0);
        } finally {
            for (MemoryRange range : copy.subList(0, held)) {
                range.release();
            }
            resource.exit();
        }
    }

    /** The file's name when it was registered, where the kernel knows one. */
    public Optional<Path> path() {
        return file.path();
    }

    /** Bytes in the file now; of a block device its capacity. */
    public long size() {
        use("fstat");
        try {
            return file.size();
        } finally {
            resource.exit();
        }
    }

    /** Which way an aligned request on this file goes now, and why. */
    public IoPathReport ioPath() {
        use("ioPath");
        try {
            return file.ioPath();
        } finally {
            resource.exit();
        }
    }

    /**
     * Makes everything written so far durable.
     *
     * @param metadata also the file's times and other metadata ({@code fsync}), not only data and size ({@code fdatasync})
     */
    public void force(boolean metadata) {
        use(metadata ? "fsync" : "fdatasync");
        try {
            file.force(metadata);
        } finally {
            resource.exit();
        }
    }

    /** Sets the file's length: cuts it, or adds a hole that reads as zeros. */
    public void truncate(long size) {
        if (size < 0) {
            throw failure("ftruncate", CuFileError.INVALID_VALUE, size, -1)
                    .errno(Errno.EINVAL)
                    .detail("size is negative: " + size)
                    .build();
        }
        use("ftruncate");
        try {
            if (!file.isWritable()) {
                throw openFlag("ftruncate", -1, -1, "the file is not open for writing");
            }
            file.truncate(size);
        } finally {
            resource.exit();
        }
    }

    /** True until {@link #close}. */
    public boolean isOpen() {
        return resource.isOpen();
    }

    /** Waits for I/O in flight, then deregisters ({@code cuFileHandleDeregister}). Idempotent. */
    @Override
    public void close() {
        resource.close();
    }

    CuFileDriver driver() {
        return driver;
    }

    BackendFile file() {
        return file;
    }

    /** Checks what a request asks of the memory; the range inside which it is. */
    MemoryRange check(String function, IoMemory memory, long size, long fileOffset, long bufferOffset) {
        if (size < 0 || size > MAX_REQUEST_SIZE) {
            throw invalid(function, size, fileOffset, "size is outside 0..2^62: " + size);
        }
        if (fileOffset < 0) {
            throw invalid(function, size, fileOffset, "file offset is negative: " + fileOffset);
        }
        if (bufferOffset < 0) {
            throw invalid(function, size, fileOffset, "buffer offset is negative: " + bufferOffset);
        }
        if (fileOffset > Long.MAX_VALUE - size) {
            throw invalid(function, size, fileOffset, "file offset and size overflow");
        }
        MemoryRange range = memory.range();
        if (bufferOffset > range.length() || size > range.length() - bufferOffset) {
            boolean registered = memory instanceof RegisteredMemory;
            throw failure(
                    function,
                    registered ? CuFileError.INVALID_MAPPING_RANGE : CuFileError.CUDA_POINTER_RANGE_ERROR,
                    size,
                    fileOffset)
                    .detail("buffer offset %d and size %d reach past %d bytes of memory"
                            .formatted(bufferOffset, size, range.length()))
                    .build();
        }
        return range;
    }

    private void enter(String function, IoMemory memory, long size, long fileOffset) {
        use(function);
        boolean done = false;
        try {
            hold(function, memory);
            done = true;
        } finally {
            if (!done) {
                resource.exit();
            }
        }
    }

    /** Keeps memory, and its registration if it has one, until {@link #letGo}. */
    void hold(String function, IoMemory memory) {
        switch (memory) {
            case CuFileBuffer buffer -> buffer.enter(driver.session(), function);
            case MemoryRange range -> range.retain();
            case RegisteredMemory foreign ->
                throw CuFileException.of(
                        CuFileError.MEMORY_NOT_REGISTERED, function, "not a buffer of this driver: " + foreign);
        }
    }

    static void letGo(IoMemory memory) {
        switch (memory) {
            case CuFileBuffer buffer -> buffer.exit();
            case MemoryRange range -> range.release();
            case RegisteredMemory foreign -> throw new AssertionError(foreign);
        }
    }

    private void exit(IoMemory memory) {
        letGo(memory);
        resource.exit();
    }

    /** Counts one use of the handle in; {@link #unuse} counts it out. */
    void use(String function) {
        if (!resource.enter()) {
            if (!driver.session().isOpen()) {
                throw Session.closed(function);
            }
            throw CuFileException.builder(function)
                    .error(CuFileError.HANDLE_NOT_REGISTERED)
                    .path(file.path())
                    .detail("the handle is closed")
                    .build();
        }
    }

    void unuse() {
        resource.exit();
    }

    private CuFileException invalid(String function, long size, long fileOffset, String detail) {
        return failure(function, CuFileError.INVALID_VALUE, size, fileOffset)
                .errno(Errno.EINVAL)
                .detail(detail)
                .build();
    }

    private CuFileException openFlag(String function, long size, long fileOffset, String detail) {
        return failure(function, CuFileError.INVALID_FILE_OPEN_FLAG, size, fileOffset)
                .errno(Errno.EBADF)
                .detail(detail)
                .build();
    }

    private CuFileException.Builder failure(String function, CuFileError error, long size, long fileOffset) {
        return CuFileException.builder(function).error(error).path(file.path()).range(fileOffset, size);
    }

    @Override
    public String toString() {
        return "CuFileHandle[%s, %s]"
                .formatted(file.path().map(Path::toString).orElse("descriptor"), isOpen() ? "open" : "closed");
    }
}
