package io.gds4j.compat.file;

import io.gds4j.ffi.posix.StatxResult;

/**
 * Identifies a file, whatever its name and descriptor. Equality is spelled out because the compiler's version is linked at the
 * first call, which takes 2 ms of a program's first file.
 */
record FileKey(int deviceMajor, int deviceMinor, long inode) {
    static FileKey of(StatxResult status) {
        return new FileKey(status.deviceMajor(), status.deviceMinor(), status.inode());
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof FileKey key && inode == key.inode && deviceMajor == key.deviceMajor
                && deviceMinor == key.deviceMinor;
    }

    @Override
    public int hashCode() {
        return 31 * (31 * Long.hashCode(inode) + deviceMajor) + deviceMinor;
    }
}
