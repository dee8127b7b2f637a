package io.gds4j.compat;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;

/**
 * Tells which bytes of a file are in the page cache, so that those are taken from memory and only the others from the disk.
 * Asked of local file systems alone: elsewhere cached bytes may be older than the file.
 */
final class Residency {
    /** Parts this small are served one way as a whole. */
    private static final long GRAIN = 256 << 10;

    private static final long SAMPLE_DISTANCE = 64 << 20;

    private static final long PAGE_SHIFT = 12;

    private final Posix posix;

    Residency(Posix posix) {
        this.posix = posix;
    }

    /** True if the kernel says that every byte of the range that the file has is in the page cache. */
    boolean isWhollyCached(FilePair pair, long offset, long length) {
        long cached = posix.cachedPages(pair.bufferedDescriptor(), offset, length);
        if (cached < 0) {
            if (cached != -Errno.EINTR) {
                pair.refuseResidency();
            }
            return false;
        }
        long last = (offset + length - 1) >> PAGE_SHIFT;
        return cached > last - (offset >> PAGE_SHIFT);
    }

    /** True if the beginning, the end and a part of every 64 MiB, three parts at least, are in the page cache. */
    boolean seemsCached(FilePair pair, long offset, long length) {
        if (length <= 3 * GRAIN) {
            return isWhollyCached(pair, offset, length);
        }
        long parts = Math.max(2, length / SAMPLE_DISTANCE);
        for (long i = 0; i <= parts; i++) {
            long at = i == parts ? length - GRAIN : (length - GRAIN) / parts * i;
            if (!isWhollyCached(pair, offset + at, GRAIN)) {
                return false;
            }
        }
        return true;
    }

    /** True if of a long range the first part is in the page cache and the last is not. */
    boolean isOnlyTheBeginningCached(FilePair pair, long offset, long length) {
        return pair.tellsResidency()
                && isWhollyCached(pair, offset, GRAIN)
                && !isWhollyCached(pair, offset + length - GRAIN, GRAIN);
    }

    /** True if the kernel says that no byte of the range is in the page cache. */
    boolean isWhollyCold(FilePair pair, long offset, long length) {
        return pair.tellsResidency() && posix.cachedPages(pair.bufferedDescriptor(), offset, length) == 0;
    }

    /**
     * How the bytes from {@code position} on are best read.
     *
     * @return a positive number of bytes to take from the page cache, or a negative one to take from the disk; 0 if the kernel
     *         does not tell this process
     */
    long run(FilePair pair, long position, long count) {
        long length = count;
        while (true) {
            long cached = posix.cachedPages(pair.bufferedDescriptor(), position, length);
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
            length = Math.max(GRAIN, Math.ceilDiv(length / 2, GRAIN) * GRAIN);
        }
    }
}
