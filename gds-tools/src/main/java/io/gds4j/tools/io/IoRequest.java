package io.gds4j.tools.io;

import io.gds4j.IoResult;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import org.jspecify.annotations.Nullable;

/** A reusable request with its part of a thread's memory. */
final class IoRequest {
    /** Memory argument for the API: the registration if there is one, else the range. */
    final IoMemory memory;
    /** Offset of the first byte in that memory. */
    final long bufferOffset;
    /** The bytes of this request. */
    final MemoryRange range;

    /** What the request fills; null if nothing is reported. */
    final @Nullable IoResult report;

    boolean write;
    long fileOffset;
    long size;
    long startNanos;
    long endNanos;

    IoRequest(IoMemory memory, long bufferOffset, long size, boolean reported) {
        this.report = reported ? new IoResult() : null;
        this.memory = memory;
        this.bufferOffset = bufferOffset;
        this.range = memory.range().slice(bufferOffset, size);
    }
}
