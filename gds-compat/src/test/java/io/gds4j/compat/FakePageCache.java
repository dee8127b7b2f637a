package io.gds4j.compat;

import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import java.lang.reflect.Method;
import java.util.BitSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A page cache that holds what the test put there and what was read through it. The kernel's own page cache evicts pages when
 * memory is short, and reads ahead. All files of a test share one.
 */
public final class FakePageCache implements PosixOverlay.Answer {
    private final Posix real = FfmPosix.instance();
    private final BitSet pages = new BitSet();
    private final BitSet wanted = new BitSet();
    private final Set<Integer> direct = ConcurrentHashMap.newKeySet();
    private final Map<Long, Long> mapped = new ConcurrentHashMap<>();
    private final AtomicInteger mappings = new AtomicInteger();
    private final AtomicInteger questions = new AtomicInteger();

    /** Holds the first {@code bytes} of the file and nothing else. */
    public static FakePageCache ofFirst(long bytes) {
        FakePageCache cache = new FakePageCache();
        cache.fill(0, bytes);
        return cache;
    }

    /** Returns the kernel's system calls over this page cache. */
    public Posix posix() {
        return PosixOverlay.of(this);
    }

    /** Puts bytes of the file into the cache. */
    public synchronized void fill(long offset, long length) {
        pages.set(page(offset), page(offset + length - 1) + 1);
    }

    /** Evicts bytes of the file, or all from {@code offset} on for length 0. */
    public synchronized void drop(long offset, long length) {
        pages.clear(page(offset), length == 0 ? Math.max(page(offset), pages.length()) : page(offset + length));
    }

    /** Returns the bytes of whole pages that the kernel was told to fetch before they were read. */
    public synchronized long wantedBytes() {
        return (long) wanted.cardinality() * Rig.PAGE;
    }

    /** Returns the number of mappings of files so far. */
    public int mappings() {
        return mappings.get();
    }

    /** Returns how often the kernel was asked what it holds. */
    public int questions() {
        return questions.get();
    }

    /** Returns the bytes of whole pages. */
    public synchronized long bytes() {
        return (long) pages.cardinality() * Rig.PAGE;
    }

    private static int page(long offset) {
        return Math.toIntExact(offset / Rig.PAGE);
    }

    @Override
    public Object answer(Method call, Object[] arguments, PosixOverlay.Kernel kernel) throws Exception {
        return switch (call.getName()) {
            case "open" -> open((Integer) arguments[1], (Integer) kernel.call());
            case "cachedPages" -> cached((Long) arguments[1], (Long) arguments[2], (Long) kernel.call());
            case "pread" -> read((Integer) arguments[0], (Long) arguments[arguments.length - 1], (Long) kernel.call());
            case "preadv2" -> read(
                    (Integer) arguments[0], (Long) arguments[1], (Long) arguments[2], (Long) arguments[3],
                    (Integer) arguments[4]);
            case "fadvise" -> advise((Long) arguments[1], (Long) arguments[2], (Integer) arguments[3]);
            case "mmap" -> map((Integer) arguments[4], (Long) arguments[5], (Long) kernel.call());
            case "madvise" -> populate(
                    (Long) arguments[0], (Long) arguments[1], (Integer) arguments[2], (Integer) kernel.call());
            default -> kernel.call();
        };
    }

    private int open(int flags, int fd) {
        if ((flags & PosixConstants.O_DIRECT) != 0) {
            direct.add(fd);
        } else {
            direct.remove(fd);
        }
        return fd;
    }

    /** Asks the kernel first, which refuses users without write access. */
    private synchronized long cached(long offset, long length, long kernels) {
        questions.incrementAndGet();
        return kernels == -Errno.EPERM
                ? kernels : pages.get(page(offset), page(offset + length - 1) + 1).cardinality();
    }

    private long read(int fd, long offset, long moved) {
        if (moved > 0 && !direct.contains(fd)) {
            fill(offset, moved);
        }
        return moved;
    }

    private long read(int fd, long address, long count, long offset, int flags) {
        if (flags != PosixConstants.RWF_NOWAIT) {
            // RWF_DONTCACHE leaves the cache as it was.
            return real.pread(fd, address, count, offset);
        }
        long end = end(offset);
        return end <= offset ? -Errno.EAGAIN : real.pread(fd, address, Math.min(count, end - offset), offset);
    }

    /** Returns the end of the cached bytes that begin at {@code offset}. */
    private synchronized long end(long offset) {
        return (long) pages.nextClearBit(page(offset)) * Rig.PAGE;
    }

    private synchronized int advise(long offset, long length, int advice) {
        if (advice == PosixConstants.POSIX_FADV_DONTNEED) {
            drop(offset, length);
        } else if (advice == PosixConstants.POSIX_FADV_WILLNEED) {
            announce(offset, length);
        }
        return 0;
    }

    private void announce(long offset, long length) {
        BitSet told = new BitSet();
        told.set(page(offset), page(offset + length - 1) + 1);
        told.andNot(pages);
        wanted.or(told);
    }

    private long map(int fd, long offset, long address) {
        if (fd >= 0 && address > 0) {
            mapped.put(address, offset);
            mappings.incrementAndGet();
        }
        return address;
    }

    private synchronized int populate(long address, long length, int advice, int result) {
        if (advice == PosixConstants.MADV_POPULATE_READ && result == 0) {
            announce(mapped.get(address), length);
        }
        return result;
    }
}
