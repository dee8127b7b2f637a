package io.gds4j.source;

import java.util.Objects;

/**
 * Tells one content of a file or source from another: a file's device, inode, size and time of the last change of its bytes
 * (mtime), or a source's size and version. Names and links are not part of it: a file that is renamed, linked or unlinked keeps
 * its version.
 *
 * <p>
 * The same version means the same bytes. There is one exception: a file that is written in place keeps its version within one
 * tick of its file system's clock, up to 10 ms on Linux.
 *
 * @param size bytes
 * @param file a text that tells files apart, whatever their content; empty if unknown
 * @param content a text that tells contents of one file and size apart; empty if only the size is known
 * @since 0.1
 */
public record FileVersion(long size, String file, String content) {
    /** Refuses null. */
    public FileVersion {
        Objects.requireNonNull(file, "file");
        Objects.requireNonNull(content, "content");
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
}
