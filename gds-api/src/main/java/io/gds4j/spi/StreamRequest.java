package io.gds4j.spi;

import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;

/**
 * Arguments of {@code cuFileReadAsync} and {@code cuFileWriteAsync}. The four segments are 8 bytes of host memory each and
 * outlive the operation. Without the matching FIXED flag, the backend reads them when the stream reaches the operation.
 *
 * @param file the file
 * @param memory source of a write, destination of a read
 * @param size bytes to move; at submission an upper bound
 * @param fileOffset first byte in the file
 * @param bufferOffset first byte in the memory
 * @param bytesDone receives the byte count, or a negative error, before the stream continues
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
