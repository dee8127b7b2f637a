package io.gds4j.spi;

import io.gds4j.memory.MemoryRange;

/**
 * One entry of a batch ({@code CUfileIOParams_t}).
 *
 * @param file the file
 * @param write true to write the memory to the file, false to read the file into the memory
 * @param memory source of a write, destination of a read
 * @param size bytes
 * @param fileOffset first byte in the file
 * @param bufferOffset first byte in the memory
 * @param cookie identifies the entry in its event
 * @since 0.1
 */
public record BatchRequest(
        BackendFile file,
        boolean write,
        MemoryRange memory,
        long size,
        long fileOffset,
        long bufferOffset,
        long cookie) {
}
