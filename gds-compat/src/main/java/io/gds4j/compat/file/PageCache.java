package io.gds4j.compat.file;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;

/**
 * Asks the kernel which bytes of a file are in the page cache, so that only the others are read from the disk. Callers ask for
 * files of local file systems only: elsewhere cached bytes may be older than the file.
 */
public final class PageCache {
    /** Smallest part in bytes that is served in one way. */
    private static final long GRAIN = 256 << 10;

    /** Bytes between samples of a long range. */
    private static final long SAMPLE_DISTANCE = 64 << 20;

    private static final long PAGE_SHIFT = 12;

    private final Posix posix;

    public PageCache(Posix posix) {
        this.posix = posix;
    }

    /** Returns whether the kernel says that every byte of the range is in the page cache. */
    public boolean isWhollyCached(FileDescriptors descriptors, long offset, long length) {
        long cached = posix.cachedPages(descriptors.bufferedDescriptor(), offset, length);
        if (cached < 0) {
            if (cached != -Errno.EINTR) {
                descriptors.disablePageCacheQueries();
            }
            return false;
        }
        long last = (offset + length - 1) >> PAGE_SHIFT;
        return cached > last - (offset >> PAGE_SHIFT);
    }

    /** Returns whether samples of the range are in the page cache: beginning, end, and one of every 64 MiB, at least three. */
    public boolean seemsCached(FileDescriptors descriptors, long offset, long length) {
        if (length <= 3 * GRAIN) {
            return isWhollyCached(descriptors, offset, length);
        }
        long parts = Math.max(2, length / SAMPLE_DISTANCE);
        for (long i = 0; i <= parts; i++) {
            long at = i == parts ? length - GRAIN : (length - GRAIN) / parts * i;
            if (!isWhollyCached(descriptors, offset + at, GRAIN)) {
                return false;
            }
        }
        return true;
    }

    /** Returns whether the first part of a long range is in the page cache and the last part is not. */
    public boolean isOnlyTheBeginningCached(FileDescriptors descriptors, long offset, long length) {
        return descriptors.canQueryPageCache()
                && isWhollyCached(descriptors, offset, GRAIN)
                && !isWhollyCached(descriptors, offset + length - GRAIN, GRAIN);
    }

    /** Returns whether the kernel says that no byte of the range is in the page cache. */
    public boolean isWhollyCold(FileDescriptors descriptors, long offset, long length) {
        return descriptors.canQueryPageCache()
                && posix.cachedPages(descriptors.bufferedDescriptor(), offset, length) == 0;
    }

    /**
     * Decides how the bytes from {@code position} on are best read.
     *
     * @return a positive number of bytes to take from the page cache, or a negative one to take from the disk; 0 if the kernel
     *         does not tell this process
     */
    public long run(FileDescriptors descriptors, long position, long count) {
        long length = count;
        while (true) {
            long cached = posix.cachedPages(descriptors.bufferedDescriptor(), position, length);
            if (cached < 0) {
                return cached == -Errno.EINTR ? -length : 0;
            }
            long pages = (length + (1 << PAGE_SHIFT) - 1) >> PAGE_SHIFT;
            if (cached >= pages) {
                return length;
            }
            if (cached == 0) {
                return -length;
            }
            if (length <= GRAIN) {
                return cached * 2 >= pages ? length : -length;
            }
            // Mixed: decide for the first half alone.
            length = Math.max(GRAIN, (length / 2 + GRAIN - 1) & -GRAIN);
        }
    }
}
