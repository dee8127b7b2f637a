package io.gds4j.loader;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * A read that a plan requests from the driver.
 *
 * @since 0.1
 */
public final class LoadRequest {
    private final Parts parts;

    LoadRequest(Path file, long fileOffset, long length, boolean gathered) {
        parts = new Parts(file, fileOffset, length, gathered);
    }

    /** {@return file to read} */
    public Path file() {
        return parts.file;
    }

    /** {@return offset of the first byte} */
    public long fileOffset() {
        return parts.fileOffset;
    }

    /** {@return length in bytes} */
    public long length() {
        return parts.length;
    }

    /** {@return true if the bytes are read into host memory and copied from there} */
    public boolean gathered() {
        return parts.gathered;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LoadRequest that && parts.equals(that.parts);
    }

    @Override
    public int hashCode() {
        return parts.hashCode();
    }

    @Override
    public String toString() {
        return parts.toString().replaceFirst("Parts", "LoadRequest");
    }

    private record Parts(Path file, long fileOffset, long length, boolean gathered) {}
}
