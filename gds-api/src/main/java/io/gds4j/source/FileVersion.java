package io.gds4j.source;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Tells one content of a file or source from another: a file's device, inode, size and time of the last change of its bytes
 * (mtime), or a source's size and version. Names and links are not part of it: a file that is renamed, linked or unlinked keeps
 * its version.
 *
 * <p>
 * The same version means the same bytes. There is one exception: a file that is written in place keeps its version within one
 * tick of its file system's clock, up to 10 ms on Linux.
 *
 * @since 0.1
 */
public final class FileVersion {
    private final long size;
    private final String file;
    private final String content;

    /**
     * Refuses null.
     *
     * @param size as {@link #size}
     * @param file as {@link #file}
     * @param content as {@link #content}
     */
    public FileVersion(long size, String file, String content) {
        Objects.requireNonNull(file, "file");
        Objects.requireNonNull(content, "content");
        this.size = size;
        this.file = file;
        this.content = content;
    }

    /** {@return bytes} */
    public long size() {
        return size;
    }

    /** {@return a text that tells files apart, whatever their content; empty if unknown} */
    public String file() {
        return file;
    }

    /** {@return a text that tells contents of one file and size apart; empty if only the size is known} */
    public String content() {
        return content;
    }

    /**
     * Returns the version of a file of which only the size is known.
     *
     * @param size bytes
     * @return the version
     */
    public static FileVersion ofSize(long size) {
        return new FileVersion(size, "", "");
    }

    /**
     * Returns the version of a file, from the fields of {@code struct statx}.
     *
     * @param size bytes
     * @param deviceMajor device that holds the file
     * @param deviceMinor device that holds the file
     * @param inode inode number
     * @param seconds time of the last change of its bytes, seconds since 1970
     * @param nanos nanoseconds of that time
     * @return the version
     */
    public static FileVersion ofInode(
            long size, int deviceMajor, int deviceMinor, long inode, long seconds, int nanos) {
        return new FileVersion(
                size,
                "inode " + inode + " of device " + deviceMajor + ':' + deviceMinor,
                "changed at " + seconds + " s " + nanos + " ns");
    }

    /**
     * Returns whether both are the same content, as far as both tell.
     *
     * @param other another version
     * @return false if they differ in size, or in what tells contents of the same size apart
     */
    public boolean isSameAs(FileVersion other) {
        return size == other.size && isSameFileAs(other) && isSame(content, other.content);
    }

    /**
     * Returns whether both are the same file, as far as both tell; its content may have changed.
     *
     * @param other another version
     * @return false if they are of different files
     */
    public boolean isSameFileAs(FileVersion other) {
        return isSame(file, other.file);
    }

    private static boolean isSame(String one, String other) {
        return one.isEmpty() || other.isEmpty() || one.equals(other);
    }

    /** {@return the version in one line} */
    @Override
    public String toString() {
        return size + " bytes" + (file.isEmpty() ? "" : ", " + file) + (content.isEmpty() ? "" : ", " + content);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof FileVersion that && size == that.size && file.equals(that.file)
                && content.equals(that.content);
    }

    @Override
    public int hashCode() {
        return Objects.hash(size, file, content);
    }
}
