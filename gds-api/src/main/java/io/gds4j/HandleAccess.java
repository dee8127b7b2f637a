package io.gds4j;

import io.gds4j.error.CuFileException;
import io.gds4j.memory.IoMemory;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;

/**
 * Shorter ways to use a {@link CuFileHandle}, for small amounts of data and tests.
 *
 * <pre>{@code
 * byte[] header = new byte[512];
 * handle.readFully(header, 0);           // through a copy in native memory
 * }</pre>
 *
 * <p>
 * Arrays have no stable address, so each call copies their bytes through native memory of the same size, which it allocates and frees.
 * A loop over large data saves that with memory of {@link CuFileDriver#allocator()}.
 *
 * @since 0.1
 */
public sealed interface HandleAccess permits CuFileHandle {
    /**
     * As {@link CuFileHandle#read(IoMemory, long)}.
     *
     * @param memory receives the bytes
     * @param fileOffset first byte in the file
     * @return bytes read
     */
    long read(IoMemory memory, long fileOffset);

    /**
     * As {@link CuFileHandle#read(MemorySegment, long)}.
     *
     * @param segment receives the bytes
     * @param fileOffset first byte in the file
     * @return bytes read
     */
    long read(MemorySegment segment, long fileOffset);

    /**
     * As {@link CuFileHandle#readFully(MemorySegment, long)}.
     *
     * @param segment receives the bytes
     * @param fileOffset first byte in the file
     */
    void readFully(MemorySegment segment, long fileOffset);

    /**
     * As {@link CuFileHandle#write(MemorySegment, long)}.
     *
     * @param segment holds the bytes
     * @param fileOffset first byte in the file
     * @return bytes written
     */
    long write(MemorySegment segment, long fileOffset);

    /**
     * As {@link CuFileHandle#force(boolean)}.
     *
     * @param metadata true to include times and other metadata
     */
    void force(boolean metadata);

    /**
     * Fills the whole memory from the start of the file; see {@link CuFileHandle#read(IoMemory, long)}.
     *
     * @param memory receives the bytes
     * @return bytes read; less than the memory holds only if the file is shorter
     * @throws CuFileException as {@link CuFileHandle#read(IoMemory, long)}
     */
    default long read(IoMemory memory) {
        return read(memory, 0);
    }

    /**
     * Reads into an array, through a copy in native memory.
     *
     * @param bytes receives the bytes; unchanged past their count, and unchanged if the read fails
     * @param fileOffset first byte in the file
     * @return bytes read; less than the array holds only at the end of the file (0 at or past it, never -1)
     * @throws CuFileException as {@link CuFileHandle#read(MemorySegment, long)}; NOMEM_ERROR if the JVM's limit of direct memory
     *         leaves too little for the copy
     */
    default long read(byte[] bytes, long fileOffset) {
        return read(MemorySegment.ofArray(bytes), fileOffset);
    }

    /**
     * Fills an array, through a copy in native memory, or throws.
     *
     * @param bytes receives the bytes
     * @param fileOffset first byte in the file
     * @throws CuFileException as {@link CuFileHandle#readFully(MemorySegment, long)} and {@link #read(byte[], long)}
     */
    default void readFully(byte[] bytes, long fileOffset) {
        readFully(MemorySegment.ofArray(bytes), fileOffset);
    }

    /**
     * Writes an array, through a copy in native memory.
     *
     * @param bytes holds the bytes; no other thread changes it during the call
     * @param fileOffset first byte in the file
     * @return bytes written: all of the array
     * @throws CuFileException as {@link CuFileHandle#write(MemorySegment, long)}; NOMEM_ERROR as {@link #read(byte[], long)}
     */
    default long write(byte[] bytes, long fileOffset) {
        return write(MemorySegment.ofArray(bytes), fileOffset);
    }

    /**
     * Fills the whole memory as {@link #read(IoMemory, long)}, and reports the request.
     *
     * @param memory receives the bytes
     * @param fileOffset first byte in the file
     * @param result receives the report, also of a failure
     * @return bytes read
     * @throws CuFileException as {@link CuFileHandle#read(IoMemory, long, long, long, IoResult)}
     */
    @Experimental
    default long read(IoMemory memory, long fileOffset, IoResult result) {
        return RequestCall.plain((CuFileHandle) this, false, memory, memory.range().length(), fileOffset, 0, result);
    }

    /**
     * Writes the whole memory as {@link CuFileHandle#write(IoMemory, long)}, and reports the request.
     *
     * @param memory holds the bytes
     * @param fileOffset first byte in the file
     * @param result receives the report, also of a failure
     * @return bytes written: all that the memory holds
     * @throws CuFileException as {@link CuFileHandle#write(IoMemory, long, long, long, IoResult)}
     */
    @Experimental
    default long write(IoMemory memory, long fileOffset, IoResult result) {
        return RequestCall.plain((CuFileHandle) this, true, memory, memory.range().length(), fileOffset, 0, result);
    }

    /**
     * Reads into an array as {@link #read(byte[], long)}, and reports the request.
     *
     * @param bytes receives the bytes
     * @param fileOffset first byte in the file
     * @param result receives the report, also of a failure
     * @return bytes read
     * @throws CuFileException as {@link #read(byte[], long)}
     */
    @Experimental
    default long read(byte[] bytes, long fileOffset, IoResult result) {
        return HeapCopies.read((CuFileHandle) this, bytes, fileOffset, result);
    }

    /**
     * As {@link CuFileHandle#readAsync(IoMemory, long, long, long)}, and reports the request.
     *
     * @param memory receives the bytes
     * @param size bytes to read, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @param result receives the report before the future completes, also of a failure; of a cancelled future, once its request has ended
     * @return completes with the bytes read, or with what {@code read} throws
     * @throws CuFileException as {@link CuFileHandle#readAsync(IoMemory, long, long, long)}; INVALID_VALUE if another request fills the
     *         report
     */
    @Experimental
    default CompletableFuture<Long> readAsync(
            IoMemory memory, long size, long fileOffset, long bufferOffset, IoResult result) {
        return RequestCall.async((CuFileHandle) this, false, memory, size, fileOffset, bufferOffset, result);
    }

    /**
     * As {@link CuFileHandle#writeAsync(IoMemory, long, long, long)}, and reports the request.
     *
     * @param memory holds the bytes
     * @param size bytes to write, 0 to 2^62
     * @param fileOffset first byte in the file
     * @param bufferOffset first byte in the memory
     * @param result receives the report, as of {@link #readAsync}
     * @return completes with {@code size}, or with what {@code write} throws
     * @throws CuFileException as {@link CuFileHandle#writeAsync(IoMemory, long, long, long)}; INVALID_VALUE if another request fills the
     *         report
     */
    @Experimental
    default CompletableFuture<Long> writeAsync(
            IoMemory memory, long size, long fileOffset, long bufferOffset, IoResult result) {
        return RequestCall.async((CuFileHandle) this, true, memory, size, fileOffset, bufferOffset, result);
    }

    /**
     * Makes durable what was written before this call, with times and other metadata.
     *
     * @throws CuFileException as {@link CuFileHandle#force(boolean)}
     */
    default void force() {
        force(true);
    }
}
