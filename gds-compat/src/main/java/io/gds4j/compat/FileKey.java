package io.gds4j.compat;

import io.gds4j.ffi.posix.StatxResult;

/**
 * Which file: the same for every name and descriptor of it. Equality is spelled out: what the compiler leaves to the first call
 * would be linked in the time of a program's first file, 2 ms.
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
