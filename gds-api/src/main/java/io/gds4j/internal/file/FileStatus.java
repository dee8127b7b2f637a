package io.gds4j.internal.file;

import java.nio.file.attribute.FileTime;
import java.time.Instant;

/**
 * What a file system tells of a file.
 *
 * @param error 0, or the errno of a call that failed; then the other values mean nothing
 * @param mode type and permission bits
 * @param owner number of the user
 * @param links number of names
 * @param deviceMajor device that holds the file
 * @param deviceMinor device that holds the file
 * @param inode its number there
 * @param isMountPoint whether another file system is mounted here; false if unknown
 * @param size bytes
 * @param changedSeconds time of the last change of the bytes, seconds since 1970
 * @param changedNanos nanoseconds of that time; {@link #UNKNOWN} if only the size is known
 */
public record FileStatus(
        int error, int mode, int owner, int links, int deviceMajor, int deviceMinor, long inode, boolean isMountPoint,
        long size, long changedSeconds, int changedNanos) {

    /** No nanoseconds. */
    public static final int UNKNOWN = -1;

    private static final int TYPE = 0170000;
    private static final int PIPE = 0010000;
    private static final int FOLDER = 0040000;
    private static final int BLOCK = 0060000;
    private static final int REGULAR = 0100000;
    private static final int STICKY = 01000;
    private static final int WRITABLE_FOR_OTHERS = 0022;
    private static final int LINK = 0120000;

    /** {@return the status of a file of which only these are known} */
    static FileStatus of(int mode, int owner, int links, long device, long inode, long size, FileTime changed) {
        Instant time = changed.toInstant();
        return new FileStatus(
                0, mode, owner, links, major(device), minor(device), inode, false, size, time.getEpochSecond(),
                time.getNano());
    }

    /** {@return the major number of a device as java.nio tells it: Linux splits both numbers in two, and statx joins them} */
    public static int major(long device) {
        return (int) (device >>> 8 & 0xfff | device >>> 32 & ~0xfff);
    }

    /** {@return the minor number of a device as java.nio tells it} */
    public static int minor(long device) {
        return (int) (device & 0xff | device >>> 12 & ~0xff);
    }

    /** {@return the mode of a file of which only the type is known} */
    static int mode(boolean isFolder, boolean isRegular) {
        return isFolder ? FOLDER : isRegular ? REGULAR : 0;
    }

    /** {@return whether the same device holds both} */
    boolean isOnDeviceOf(FileStatus other) {
        return deviceMajor == other.deviceMajor && deviceMinor == other.deviceMinor;
    }

    /** {@return whether both are one file, under the same or another name} */
    public boolean isSameFile(FileStatus other) {
        return isOnDeviceOf(other) && inode == other.inode;
    }

    /** {@return whether this is a file with bytes of its own} */
    public boolean isRegularFile() {
        return (mode & TYPE) == REGULAR;
    }

    /** {@return whether this is a disk or a part of one} */
    public boolean isBlockDevice() {
        return (mode & TYPE) == BLOCK;
    }

    /** {@return whether this is a folder} */
    public boolean isFolder() {
        return (mode & TYPE) == FOLDER;
    }

    /** {@return whether users other than the owner may change the names of other users' files in this folder} */
    public boolean letsOthersRename() {
        return (mode & WRITABLE_FOR_OTHERS) != 0 && (mode & STICKY) == 0;
    }

    /** {@return whether this is a link itself} */
    public boolean isLink() {
        return (mode & TYPE) == LINK;
    }

    /** {@return whether this is a pipe} */
    public boolean isPipe() {
        return (mode & TYPE) == PIPE;
    }
}
