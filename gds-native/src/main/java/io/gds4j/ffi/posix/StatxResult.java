package io.gds4j.ffi.posix;

import io.gds4j.source.FileVersion;

/**
 * The result of {@code statx(2)}.
 *
 * @param error 0, or a negative errno; then all other values are 0
 * @param mask STATX_* bits that the kernel filled
 * @param mode type and permission bits
 * @param size bytes
 * @param blockSize preferred I/O size, bytes
 * @param deviceMajor device that holds the file
 * @param deviceMinor device that holds the file
 * @param rdevMajor device that a block or character file is
 * @param rdevMinor device that a block or character file is
 * @param inode inode number
 * @param attributes STATX_ATTR_* bits
 * @param directMemoryAlignment alignment in bytes of memory for direct I/O; 0 if impossible or unknown
 * @param directOffsetAlignment alignment in bytes of offsets and sizes for direct I/O; 0 if impossible or unknown
 * @param directReadOffsetAlignment the same for reads, if smaller; 0 if unknown
 * @param mtimeSeconds time of the last change, seconds since 1970
 * @param mtimeNanos nanoseconds of that time
 * @param links number of names
 * @param user owner
 * @param birth time of creation, nanoseconds since 1970; 0 if unknown
 */
public record StatxResult(
        int error,
        int mask,
        int mode,
        long size,
        int blockSize,
        int deviceMajor,
        int deviceMinor,
        int rdevMajor,
        int rdevMinor,
        long inode,
        long attributes,
        int directMemoryAlignment,
        int directOffsetAlignment,
        int directReadOffsetAlignment,
        long mtimeSeconds,
        int mtimeNanos,
        int links,
        int user,
        long birth) {

    /** STATX_DIOALIGN. */
    public static final int MASK_DIRECT_ALIGNMENT = 0x2000;

    private static final int TYPE_MASK = 0xF000;
    private static final int REGULAR = 0x8000;
    private static final int BLOCK = 0x6000;
    private static final int DIRECTORY = 0x4000;
    private static final int SYMBOLIC_LINK = 0xA000;

    /** A failed call. */
    public static StatxResult failed(int negativeErrno) {
        return new StatxResult(negativeErrno, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    }

    /** Returns the version of the file's content. */
    public FileVersion version() {
        return FileVersion.ofInode(size, deviceMajor, deviceMinor, inode, mtimeSeconds, mtimeNanos);
    }

    /** Returns whether both are one file, under the same or another name. */
    public boolean isSameFile(StatxResult other) {
        return inode == other.inode && deviceMajor == other.deviceMajor && deviceMinor == other.deviceMinor;
    }

    public boolean isRegularFile() {
        return (mode & TYPE_MASK) == REGULAR;
    }

    public boolean isBlockDevice() {
        return (mode & TYPE_MASK) == BLOCK;
    }

    /** Returns true for a link itself: of a descriptor opened with O_PATH and O_NOFOLLOW. */
    public boolean isSymbolicLink() {
        return (mode & TYPE_MASK) == SYMBOLIC_LINK;
    }

    public boolean isDirectory() {
        return (mode & TYPE_MASK) == DIRECTORY;
    }
}
