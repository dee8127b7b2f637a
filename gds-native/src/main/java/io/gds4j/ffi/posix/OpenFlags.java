package io.gds4j.ffi.posix;

import java.nio.file.OpenOption;
import java.nio.file.StandardOpenOption;
import java.util.Set;

/**
 * Flags of {@code open} for Java's options.
 *
 * @param access O_RDONLY, O_WRONLY or O_RDWR
 * @param sync O_SYNC, O_DSYNC or 0
 * @param once what only the first opening does: O_CREAT, O_EXCL and O_TRUNC, or 0
 */
public record OpenFlags(int access, int sync, int once) {
    /** Returns the flags; options that are not of {@link StandardOpenOption} set none. */
    public static OpenFlags of(Set<OpenOption> options) {
        boolean writes = options.contains(StandardOpenOption.WRITE);
        boolean onlyNew = options.contains(StandardOpenOption.CREATE_NEW);
        int access = !writes
                ? PosixConstants.O_RDONLY
                : options.contains(StandardOpenOption.READ) ? PosixConstants.O_RDWR : PosixConstants.O_WRONLY;
        int sync = options.contains(StandardOpenOption.SYNC)
                ? PosixConstants.O_SYNC
                : options.contains(StandardOpenOption.DSYNC) ? PosixConstants.O_DSYNC : 0;
        int once = (onlyNew || options.contains(StandardOpenOption.CREATE) ? PosixConstants.O_CREAT : 0)
                | (onlyNew ? PosixConstants.O_EXCL : 0)
                | (options.contains(StandardOpenOption.TRUNCATE_EXISTING) ? PosixConstants.O_TRUNC : 0);
        return new OpenFlags(access, sync, once);
    }
}
