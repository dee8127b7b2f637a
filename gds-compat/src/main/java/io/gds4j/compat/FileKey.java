package io.gds4j.compat;

import io.gds4j.ffi.posix.StatxResult;

/** Which file: the same for every name and descriptor of it. */
record FileKey(int deviceMajor, int deviceMinor, long inode) {
    static FileKey of(StatxResult status) {
        return new FileKey(status.deviceMajor(), status.deviceMinor(), status.inode());
    }
}
