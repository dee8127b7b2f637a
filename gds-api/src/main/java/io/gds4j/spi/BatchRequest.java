package io.gds4j.spi;

import io.gds4j.memory.MemoryRange;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One entry of a batch ({@code CUfileIOParams_t}).
 *
 * @since 0.1
 */
public final class BatchRequest {
    private final BackendFile file;
    private final boolean write;
    private final MemoryRange memory;
    private final long size;
    private final long fileOffset;
    private final long bufferOffset;
    private final long cookie;

    /**
     * Sets the parts.
     *
     * @param file as {@link #file}
     * @param write as {@link #write}
     * @param memory as {@link #memory}
     * @param size as {@link #size}
     * @param fileOffset as {@link #fileOffset}
     * @param bufferOffset as {@link #bufferOffset}
     * @param cookie as {@link #cookie}
     */
    public BatchRequest(
            BackendFile file,
            boolean write,
            MemoryRange memory,
            long size,
            long fileOffset,
            long bufferOffset,
            long cookie) {
        this.file = file;
        this.write = write;
        this.memory = memory;
        this.size = size;
        this.fileOffset = fileOffset;
        this.bufferOffset = bufferOffset;
        this.cookie = cookie;
    }

    /** {@return the file} */
    public BackendFile file() {
        return file;
    }

    /** {@return true to write the memory to the file, false to read the file into the memory} */
    public boolean write() {
        return write;
    }

    /** {@return source of a write, destination of a read} */
    public MemoryRange memory() {
        return memory;
    }

    /** {@return bytes} */
    public long size() {
        return size;
    }

    /** {@return first byte in the file} */
    public long fileOffset() {
        return fileOffset;
    }

    /** {@return first byte in the memory} */
    public long bufferOffset() {
        return bufferOffset;
    }

    /** {@return identifies the entry in its event} */
    public long cookie() {
        return cookie;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof BatchRequest that && write == that.write && size == that.size
                && fileOffset == that.fileOffset && bufferOffset == that.bufferOffset && cookie == that.cookie
                && file.equals(that.file) && memory.equals(that.memory);
    }

    @Override
    public int hashCode() {
        return Objects.hash(file, write, memory, size, fileOffset, bufferOffset, cookie);
    }

    @Override
    public String toString() {
        return "BatchRequest[file=" + file + ", write=" + write + ", memory=" + memory + ", size=" + size
                + ", fileOffset=" + fileOffset + ", bufferOffset=" + bufferOffset + ", cookie=" + cookie + ']';
    }
}
