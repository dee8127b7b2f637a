package io.gds4j.libcufile.file;

import io.gds4j.ffi.posix.StatxResult;

/**
 * A descriptor that the program registered a file by. The file belongs to it, because the program may close the descriptor and
 * open another file under its number.
 *
 * @param number the descriptor's number
 * @param deviceMajor device that holds the file
 * @param deviceMinor device that holds the file
 * @param inode inode number of the file
 */
public record CallerDescriptor(int number, int deviceMajor, int deviceMinor, long inode) {
    /** @param status result of {@code statx} of the file */
    public static CallerDescriptor of(int number, StatxResult status) {
        return new CallerDescriptor(number, status.deviceMajor(), status.deviceMinor(), status.inode());
    }
}
