package io.gds4j.tools.io;

import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;

/** One request and the part of a thread's memory that is its own; used again and again. */
final class IoRequest {
    /** As it is given to the API: the registration, where there is one. */
    final IoMemory memory;
    /** First byte in that memory. */
    final long bufferOffset;
    /** The same bytes. */
    final MemoryRange range;

    boolean write;
    long fileOffset;
    long size;
    long startNanos;
    long endNanos;

    IoRequest(IoMemory memory, long bufferOffset, long size) {
        this.memory = memory;
        this.bufferOffset = bufferOffset;
        this.range = memory.range().slice(bufferOffset, size);
    }
}
