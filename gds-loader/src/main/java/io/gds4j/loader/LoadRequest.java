package io.gds4j.loader;

import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A read that a plan requests from the driver.
 *
 * @since 0.1
 */
public final class LoadRequest {
    private final Path file;
    private final long fileOffset;
    private final long length;
    private final boolean gathered;

    LoadRequest(Path file, long fileOffset, long length, boolean gathered) {
        this.file = file;
        this.fileOffset = fileOffset;
        this.length = length;
        this.gathered = gathered;
    }

    /** {@return file to read} */
    public Path file() {
        return file;
    }

    /** {@return offset of the first byte} */
    public long fileOffset() {
        return fileOffset;
    }

    /** {@return length in bytes} */
    public long length() {
        return length;
    }

    /** {@return true if the bytes are read into host memory and copied from there} */
    public boolean gathered() {
        return gathered;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LoadRequest that && fileOffset == that.fileOffset && length == that.length
                && gathered == that.gathered && file.equals(that.file);
    }

    @Override
    public int hashCode() {
        return Objects.hash(file, fileOffset, length, gathered);
    }

    @Override
    public String toString() {
        return "LoadRequest[file=" + file + ", fileOffset=" + fileOffset + ", length=" + length + ", gathered="
                + gathered + ']';
    }
}
