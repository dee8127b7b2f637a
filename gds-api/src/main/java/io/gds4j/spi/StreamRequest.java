package io.gds4j.spi;

import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;

/**
 * Arguments of {@code cuFileReadAsync} and {@code cuFileWriteAsync}. The four cells are 8-byte host segments that outlive the
 * operation; without the matching FIXED flag they are read when the stream reaches it.
 *
 * @param file the file
 * @param memory what is written or filled
 * @param size bytes to move; at submission an upper bound
 * @param fileOffset first byte in the file
 * @param bufferOffset first byte in the memory
 * @param bytesDone receives the byte count, or a negative error, before the stream goes on
 * @param stream raw {@code CUstream}, 0 for the default stream
 * @since 0.1
 */
public record StreamRequest(
        BackendFile file,
        MemoryRange memory,
        MemorySegment size,
        MemorySegment fileOffset,
        MemorySegment bufferOffset,
        MemorySegment bytesDone,
        long stream) {
}
