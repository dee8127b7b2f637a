package io.gds4j.error;

import java.util.Map;

/**
 * Names and texts of the Linux {@code errno} values that storage code receives.
 *
 * @since 0.1
 */
public final class Errno {
    /** Operation not permitted. */
    public static final int EPERM = 1;
    /** No such file or directory. */
    public static final int ENOENT = 2;
    /** Interrupted system call. */
    public static final int EINTR = 4;
    /** Input/output error. */
    public static final int EIO = 5;
    /** Bad file descriptor, or not open for this. */
    public static final int EBADF = 9;
    /** Temporarily unavailable. */
    public static final int EAGAIN = 11;
    /** Out of memory. */
    public static final int ENOMEM = 12;
    /** Permission denied. */
    public static final int EACCES = 13;
    /** Bad address. */
    public static final int EFAULT = 14;
    /** Device or resource busy. */
    public static final int EBUSY = 16;
    /** File exists. */
    public static final int EEXIST = 17;
    /** No such device. */
    public static final int ENODEV = 19;
    /** Not a directory. */
    public static final int ENOTDIR = 20;
    /** Is a directory. */
    public static final int EISDIR = 21;
    /** Invalid argument. */
    public static final int EINVAL = 22;
    /** Too many open files in the system. */
    public static final int ENFILE = 23;
    /** Too many open files in this process. */
    public static final int EMFILE = 24;
    /** Not supported by this device. */
    public static final int ENOTTY = 25;
    /** File is being executed. */
    public static final int ETXTBSY = 26;
    /** File too large. */
    public static final int EFBIG = 27;
    /** No space left on device. */
    public static final int ENOSPC = 28;
    /** Cannot seek. */
    public static final int ESPIPE = 29;
    /** Read-only file system. */
    public static final int EROFS = 30;
    /** Broken pipe. */
    public static final int EPIPE = 32;
    /** File name too long. */
    public static final int ENAMETOOLONG = 36;
    /** Not implemented by this kernel. */
    public static final int ENOSYS = 38;
    /** Too many symbolic links. */
    public static final int ELOOP = 40;
    /** Value too large. */
    public static final int EOVERFLOW = 75;
    /** Operation not supported. */
    public static final int EOPNOTSUPP = 95;
    /** Timed out. */
    public static final int ETIMEDOUT = 110;
    /** Stale file handle. */
    public static final int ESTALE = 116;
    /** Disk quota exceeded. */
    public static final int EDQUOT = 122;
    /** Operation cancelled. */
    public static final int ECANCELED = 125;

    private record Entry(String name, String text) {
    }

    private static final Map<Integer, Entry> TABLE = Map.ofEntries(
            row(EPERM, "EPERM", "operation not permitted"),
            row(ENOENT, "ENOENT", "no such file or directory"),
            row(EINTR, "EINTR", "interrupted system call"),
            row(EIO, "EIO", "input/output error"),
            row(EBADF, "EBADF", "bad file descriptor, or not open for this"),
            row(EAGAIN, "EAGAIN", "temporarily unavailable"),
            row(ENOMEM, "ENOMEM", "out of memory"),
            row(EACCES, "EACCES", "permission denied"),
            row(EFAULT, "EFAULT", "bad address"),
            row(EBUSY, "EBUSY", "device or resource busy"),
            row(EEXIST, "EEXIST", "file exists"),
            row(ENODEV, "ENODEV", "no such device"),
            row(ENOTDIR, "ENOTDIR", "not a directory"),
            row(EISDIR, "EISDIR", "is a directory"),
            row(EINVAL, "EINVAL", "invalid argument"),
            row(ENFILE, "ENFILE", "too many open files in the system"),
            row(EMFILE, "EMFILE", "too many open files in this process"),
            row(ENOTTY, "ENOTTY", "not supported by this device"),
            row(ETXTBSY, "ETXTBSY", "file is being executed"),
            row(EFBIG, "EFBIG", "file too large"),
            row(ENOSPC, "ENOSPC", "no space left on device"),
            row(ESPIPE, "ESPIPE", "cannot seek"),
            row(EROFS, "EROFS", "read-only file system"),
            row(EPIPE, "EPIPE", "broken pipe"),
            row(ENAMETOOLONG, "ENAMETOOLONG", "file name too long"),
            row(ENOSYS, "ENOSYS", "not implemented by this kernel"),
            row(ELOOP, "ELOOP", "too many symbolic links"),
            row(EOVERFLOW, "EOVERFLOW", "value too large"),
            row(EOPNOTSUPP, "EOPNOTSUPP", "operation not supported"),
            row(ETIMEDOUT, "ETIMEDOUT", "timed out"),
            row(ESTALE, "ESTALE", "stale file handle"),
            row(EDQUOT, "EDQUOT", "disk quota exceeded"),
            row(ECANCELED, "ECANCELED", "operation cancelled"));

    private Errno() {
    }

    private static Map.Entry<Integer, Entry> row(int value, String name, String text) {
        return Map.entry(value, new Entry(name, text));
    }

    /**
     * Names an errno.
     *
     * @param errno a positive errno value
     * @return the symbolic name, such as {@code ENOSPC}; {@code errno N} for a value outside the table
     */
    public static String name(int errno) {
        Entry entry = TABLE.get(errno);
        return entry == null ? "errno " + errno : entry.name();
    }

    /**
     * Describes an errno.
     *
     * @param errno a positive errno value
     * @return a short text, such as {@code no space left on device}; the name for a value outside the table
     */
    public static String text(int errno) {
        Entry entry = TABLE.get(errno);
        return entry == null ? "errno " + errno : entry.text();
    }
}
