package io.gds4j.compat.file;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;

/**
 * Asks the kernel which bytes of a file are in the page cache, so that only the others are read from the disk. Also has it read bytes
 * into the cache. Callers ask about files of local file systems only: elsewhere cached bytes may be older than the file.
 */
public final class PageCache {
    /** Smallest part in bytes that is served in one way. */
    private static final long GRAIN = 256 << 10;

    /** Bytes between samples of a long range. */
    private static final long SAMPLE_DISTANCE = 64 << 20;

    private static final long PAGE_SHIFT = 12;

    /** Size in bytes of the largest folio of the page cache where pages have 4 KiB. */
    private static final long MAX_FOLIO = 2L << 20;

    /** Smallest read in bytes that fetches whole folios: on average it fetches as much again as one folio has. */
    private static final long FETCHES_FOLIOS = 2 * MAX_FOLIO;

    /** Bytes that a thread fetches before it copies them: the processors' caches hold them, and other threads keep the disk busy. */
    private static final long FETCHED_AT_ONCE = 2 * MAX_FOLIO;

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

    /**
     * Has the kernel read bytes into the page cache that a thread will read from there. Without this, the kernel reads ahead a
     * window at a time, and a read waits for each.
     *
     * <p>
     * Long reads fetch through a mapping that asks for large folios, and wait for the disk. POSIX_FADV_WILLNEED does not wait, but
     * leaves a folio for each page: fetching takes three times the processor time, and each later read of these bytes twice.
     *
     * @param read bytes of the whole read
     * @return bytes to read now, at most {@code count}
     */
    public long fetch(FileDescriptors descriptors, long position, long count, long read) {
        if (read >= FETCHES_FOLIOS && descriptors.fetchesFolios() && posix.pageSize() == 1 << PAGE_SHIFT) {
            long length = Math.min(count, FETCHED_AT_ONCE);
            if (fetchFolios(descriptors.bufferedDescriptor(), position, length)) {
                return length;
            }
            descriptors.refuseFolios();
        }
        posix.fadvise(descriptors.bufferedDescriptor(), position, count, PosixConstants.POSIX_FADV_WILLNEED);
        return count;
    }

    /** Returns false if the kernel cannot do this. The mapping may reach past the end of the file: the process never touches it. */
    private boolean fetchFolios(int fd, long position, long count) {
        long from = position >> PAGE_SHIFT << PAGE_SHIFT;
        long length = position + count - from;
        long address = posix.mmap(0, length, PosixConstants.PROT_READ, PosixConstants.MAP_SHARED, fd, from);
        if (address < 0) {
            return false;
        }
        // Random: the kernel reads the folios of the range and no more. Without large folios it would read page by page.
        int result = posix.madvise(address, length, PosixConstants.MADV_HUGEPAGE);
        if (result == 0) {
            posix.madvise(address, length, PosixConstants.MADV_RANDOM);
            result = posix.madvise(address, length, PosixConstants.MADV_POPULATE_READ);
        }
        posix.munmap(address, length);
        return result != -Errno.EINVAL;
    }
}
