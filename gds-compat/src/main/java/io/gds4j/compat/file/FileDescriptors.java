package io.gds4j.compat.file;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FileForce;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixErrors;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.source.FileVersion;
import io.gds4j.statistics.IoPath;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The private descriptors of one file in one access mode: a buffered one, and a direct one that is opened at first use. There
 * are two because O_DIRECT belongs to the open file description: changing the flag would race with other threads. Only the
 * {@link DescriptorTable} closes them. Thread-safe.
 */
public final class FileDescriptors {
    private static final int NONE = -1;

    /**
     * Number of bytes that count as uncached after a read with RWF_NOWAIT found nothing. Such a read makes the kernel fetch the
     * missing bytes.
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
    private final FileForce force = new FileForce();

    private volatile int direct = NONE;
    private volatile Direct state;
    private volatile boolean canQueryPageCache;
    private volatile boolean triesCache;
    private volatile boolean dropsBehind = true;
    private volatile boolean fetchesFolios = true;

    /** File offset at which a read with RWF_NOWAIT last found nothing. */
    private volatile long coldFrom = -COLD_BYTES;

    private int users;
    private volatile int closeError;

    /**
     * Identifies a file and its access mode. Equality is spelled out because the compiler's version is linked at the first
     * call, which takes 2 ms.
     *
     * @param file the file
     * @param accessMode O_RDONLY, O_WRONLY or O_RDWR
     * @param syncFlags O_SYNC, O_DSYNC or 0
     */
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

    FileDescriptors(Posix posix, Key key, FileTraits traits, int buffered, int mode, RangeLocks locks) {
        this.posix = posix;
        this.key = key;
        this.traits = traits;
        this.buffered = buffered;
        this.mode = mode;
        this.locks = locks;
        this.state = traits.allowsDirect() ? Direct.UNTRIED : Direct.REFUSED;
        this.canQueryPageCache = traits.local();
        this.triesCache = traits.local();
    }

    Key key() {
        return key;
    }

    boolean isReadable() {
        return key.accessMode != PosixConstants.O_WRONLY;
    }

    boolean isWritable() {
        return key.accessMode != PosixConstants.O_RDONLY;
    }

    public FileTraits traits() {
        return traits;
    }

    /** Returns the file's permission bits at the time it was opened. */
    int mode() {
        return mode;
    }

    public RangeLocks locks() {
        return locks;
    }

    public int bufferedDescriptor() {
        return buffered;
    }

    /** Makes writes of all handles of these descriptors durable; returns 0 or {@code -errno}, and a lost write to each caller. */
    public int force(boolean metadata) {
        return force.force(posix, buffered, metadata);
    }

    /** Returns the number of registered handles; guarded by the table's lock. */
    int users() {
        return users;
    }

    void addUsers(int change) {
        users += change;
    }

    /**
     * Returns the descriptor for direct I/O, or a negative number where the file system has no direct I/O. A file system may
     * refuse it at open or at the first request ({@link #refuseDirect}).
     */
    public int directDescriptor() {
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

    /** Notes that the file system refused a direct request: from now on everything goes buffered. */
    public void refuseDirect() {
        state = Direct.REFUSED;
    }

    public boolean directWorks() {
        return directDescriptor() >= 0;
    }

    /** Returns whether the kernel tells this process what is in the page cache. */
    public boolean canQueryPageCache() {
        return canQueryPageCache;
    }

    /** Notes that the kernel does not tell this process what is in the page cache. */
    public void disablePageCacheQueries() {
        canQueryPageCache = false;
    }

    /** Returns whether a read with RWF_NOWAIT may find out what is in the page cache, because the kernel does not tell. */
    public boolean triesCache(long position) {
        long behind = position - coldFrom;
        return triesCache && !canQueryPageCache && (behind < 0 || behind >= COLD_BYTES);
    }

    /**
     * Notes that a read with RWF_NOWAIT found nothing.
     *
     * @param error what it returned
     */
    public void missed(long position, long error) {
        if (error == -Errno.EAGAIN) {
            coldFrom = position;
        } else if (error != -Errno.EINTR) {
            triesCache = false;
        }
    }

    /** Returns whether reads may ask the file system to drop from the page cache what they read (RWF_DONTCACHE). */
    public boolean dropsBehind() {
        return dropsBehind;
    }

    /** Notes that the file system refused RWF_DONTCACHE. */
    public void refuseDropBehind() {
        dropsBehind = false;
    }

    /** Returns whether a mapping of the file may fetch large folios into the page cache. */
    boolean fetchesFolios() {
        return fetchesFolios;
    }

    /** Notes that the kernel or the file system does not fetch large folios through a mapping. */
    void refuseFolios() {
        fetchesFolios = false;
    }

    /** Returns the path under which bytes of the buffered descriptor are counted. */
    public IoPath bufferedPath() {
        return traits.inMemory() ? IoPath.COMPAT_CACHED : IoPath.COMPAT_BUFFERED;
    }

    /** Returns the bytes in the file now, or {@code -errno}. */
    public long size() {
        if (traits.block()) {
            return posix.blockDeviceSize(buffered);
        }
        StatxResult status = posix.statx(buffered);
        return status.error() != 0 ? status.error() : status.size();
    }

    /** Returns the version of the file's content now. */
    public FileVersion version(Optional<Path> path) {
        if (traits.block()) {
            return FileVersion.ofSize(PosixErrors.check("fstat", "ioctl", size(), path));
        }
        StatxResult status = posix.statx(buffered);
        PosixErrors.check("fstat", "statx", status.error(), path);
        return status.version();
    }

    /** Closes both descriptors; no request may be at work. */
    void close() {
        int result = posix.close(buffered);
        if (direct >= 0) {
            int ofDirect = posix.close(direct);
            result = result < 0 ? result : ofDirect;
        }
        // a descriptor is closed whatever close says
        closeError = result == -Errno.EINTR ? 0 : result;
    }

    /**
     * Returns 0, also before {@link #close}, or the negative errno of bytes that were written and are lost: a network file system sends
     * them at the close.
     */
    int closeError() {
        return closeError;
    }
}
