package io.gds4j.compat;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.statistics.IoPath;

/**
 * The private descriptors of one file in one access mode: a buffered one, and a direct one that is opened when it is first
 * wanted. Two descriptors, because the flag that makes the difference belongs to the open file, and changing it would race
 * with other threads. Nobody but its {@link DescriptorTable} closes it.
 */
final class FilePair {
    private static final int NONE = -1;

    /**
     * Asking by a read that must not wait makes the kernel fetch the bytes that are missing: after a miss it is not asked about
     * so many.
     */
    private static final long COLD_BYTES = 16L << 20;

    private enum Direct {
        UNTRIED,
        OPEN,
        REFUSED
    }

    private final Posix posix;
    private final Key key;
    private final FileTraits traits;
    private final int buffered;
    private final int mode;
    private final RangeLocks locks;

    private volatile int direct = NONE;
    private volatile Direct state;
    private volatile boolean tellsResidency;
    private volatile boolean triesCache;
    private volatile boolean dropsBehind = true;

    /** Where the page cache was last found without the bytes. */
    private volatile long coldFrom = -COLD_BYTES;

    private int users;

    /** A file, how it is open, and which synchronisation its writes ask for. */
    record Key(FileKey file, int accessMode, int syncFlags) {
        @Override
        public boolean equals(Object other) {
            return other instanceof Key key && file.equals(key.file) && accessMode == key.accessMode
                    && syncFlags == key.syncFlags;
        }

        @Override
        public int hashCode() {
            return 31 * (31 * file.hashCode() + accessMode) + syncFlags;
        }
    }

    FilePair(Posix posix, Key key, FileTraits traits, int buffered, int mode, RangeLocks locks) {
        this.posix = posix;
        this.key = key;
        this.traits = traits;
        this.buffered = buffered;
        this.mode = mode;
        this.locks = locks;
        this.state = traits.allowsDirect() ? Direct.UNTRIED : Direct.REFUSED;
        this.tellsResidency = traits.local();
        this.triesCache = traits.local();
    }

    Key key() {
        return key;
    }

    FileTraits traits() {
        return traits;
    }

    /** Permission bits at the time it was opened. */
    int mode() {
        return mode;
    }

    RangeLocks locks() {
        return locks;
    }

    int bufferedDescriptor() {
        return buffered;
    }

    /** Counts of registered handles; guarded by the table's lock. */
    int users() {
        return users;
    }

    void addUsers(int change) {
        users += change;
    }

    /**
     * The descriptor for direct I/O, or a negative number where the file system has none: it may say so at open, or at the
     * first request ({@link #refuseDirect}).
     */
    int directDescriptor() {
        return state == Direct.OPEN ? direct : openDirect();
    }

    private synchronized int openDirect() {
        if (state == Direct.UNTRIED) {
            int flags = key.accessMode() | key.syncFlags() | PosixConstants.O_DIRECT;
            int fd = posix.open("/proc/self/fd/" + buffered, flags, 0);
            if (fd >= 0) {
                direct = fd;
                state = Direct.OPEN;
            } else {
                state = Direct.REFUSED;
            }
        }
        return state == Direct.OPEN ? direct : NONE;
    }

    /** The file system refused direct I/O when it was tried; everything goes buffered from here on. */
    void refuseDirect() {
        state = Direct.REFUSED;
    }

    boolean directWorks() {
        return directDescriptor() >= 0;
    }

    /** True while the kernel may be asked what is in the page cache. */
    boolean tellsResidency() {
        return tellsResidency;
    }

    /** The kernel does not tell this process what is in the page cache. */
    void refuseResidency() {
        tellsResidency = false;
    }

    /** True if a read that must not wait may find out whether the bytes are in the page cache: for those who are not told. */
    boolean triesCache(long position) {
        long behind = position - coldFrom;
        return triesCache && !tellsResidency && (behind < 0 || behind >= COLD_BYTES);
    }

    /**
     * Such a read found nothing.
     *
     * @param error what it answered
     */
    void missed(long position, long error) {
        if (error == -Errno.EAGAIN) {
            coldFrom = position;
        } else if (error != -Errno.EINTR) {
            triesCache = false;
        }
    }

    /** True unless the file system was seen not to read without keeping what it read. */
    boolean dropsBehind() {
        return dropsBehind;
    }

    void refuseDropBehind() {
        dropsBehind = false;
    }

    /** How bytes that go by the buffered descriptor are counted. */
    IoPath bufferedPath() {
        return traits.inMemory() ? IoPath.COMPAT_CACHED : IoPath.COMPAT_BUFFERED;
    }

    /** Bytes in the file now, or {@code -errno}. */
    long size() {
        if (traits.block()) {
            return posix.blockDeviceSize(buffered);
        }
        StatxResult status = posix.statx(buffered);
        return status.error() != 0 ? status.error() : status.size();
    }

    void close() {
        posix.close(buffered);
        if (direct >= 0) {
            posix.close(direct);
        }
    }
}
