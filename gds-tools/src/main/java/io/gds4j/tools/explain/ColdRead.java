package io.gds4j.tools.explain;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.loader.LoadDestination;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryRange;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalDouble;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;

/**
 * Measures how fast storage delivers a file, in a fifth of a second, by reads like those of a load: as many at a time, as far apart,
 * through the same engine and page cache. What the page cache has of them is dropped first, and is fetched again at the end, unless a
 * read did so; what it had not is dropped.
 */
final class ColdRead {
    private static final long NANOS = 200_000_000;
    private static final long LEAST_FILE = 1L << 20;
    private static final long PAGE = 4096;
    /** Largest folio of the page cache. Requests share none, so that each can be dropped from it. */
    private static final long FOLIO = 2L << 20;
    /** A folio of which the page cache has fewer pages is cold: the header before it has been read. */
    private static final long COLD_PAGES = FOLIO / PAGE / 4;
    /** The kernel reads ahead of the last request. */
    private static final long AHEAD = 16L << 20;
    /** Bytes that each kernel fetches at a time, when it is told that they will be needed. */
    private static final long FETCHED_AT_ONCE = 128 << 10;

    /** How often pages are dropped that the kernel still reads, and the pause between. */
    private static final int PASSES = 20;
    private static final long PAUSE_NANOS = 2_000_000;

    /** Requests that a load has in flight. */
    private static final int CALLERS = 4;

    /** Bytes of a caller's first request. It starts threads and maps memory, so it does not count if there are others. */
    private static final long FIRST = 4L << 20;
    /** Bytes of its first read: storage that is slow takes no longer for it. */
    private static final long LEAST_READ = 64 << 10;
    private static final long MOST = 64L << 20;

    /** Requests of a caller that fit into the time after the first: few, because threads wait for each other at their ends. */
    private static final int REQUESTS = 2;

    private final Posix posix = FfmPosix.instance();
    private final CuFileHandle handle;
    private final MemoryRange memory;
    private final int fd;
    private long start;

    private ColdRead(CuFileHandle handle, MemoryRange memory, int fd) {
        this.handle = handle;
        this.memory = memory;
        this.fd = fd;
    }

    /** Returns bytes per second; empty if the file is short, cannot be read, or does not leave the page cache. */
    static OptionalDouble bytesPerSecond(CuFileDriver driver, LoadDestination destination, Path file, boolean direct)
            throws InterruptedException {
        Posix posix = FfmPosix.instance();
        int fd = posix.open(file.toString(), PosixConstants.O_RDONLY | PosixConstants.O_NONBLOCK, 0);
        if (fd < 0) {
            return OptionalDouble.empty();
        }
        OpenOption[] options = direct ? new OpenOption[]{CuFileOpenOption.DIRECT} : new OpenOption[0];
        try (CuFileHandle handle = driver.openFile(file, options)) {
            long room = driver.allocator().available(destination.kind(), destination.device()) / (2 * CALLERS);
            long most = folios(Math.min(Math.min(MOST, room), Math.max(FIRST, handle.size() / CALLERS)));
            if (handle.size() < LEAST_FILE || most < FIRST) {
                return OptionalDouble.empty();
            }
            try (MemoryAllocation memory = driver.allocator().allocate(
                    destination.kind(), CALLERS * most, destination.device())) {
                return new ColdRead(handle, memory.range(), fd).measure(handle.size(), most);
            }
        } catch (CuFileException e) {
            return OptionalDouble.empty();
        } finally {
            posix.close(fd);
        }
    }

    private OptionalDouble measure(long size, long most) throws InterruptedException {
        long part = Math.max(FOLIO, folios(size / CALLERS));
        long[] before = new long[(int) Math.ceilDiv(size, FOLIO)];
        Arrays.setAll(before, this::cached);
        AtomicLongArray reached = new AtomicLongArray(CALLERS);
        double rate = 0;
        start = System.nanoTime();
        try (ExecutorService callers = Executors.newFixedThreadPool(CALLERS)) {
            List<Future<Double>> rates = new ArrayList<>();
            for (int i = 0; i < CALLERS && i * part < size; i++) {
                int caller = i;
                long begin = i * part;
                long end = Math.min(size, begin + part);
                MemoryRange into = memory.slice(i * most, most);
                rates.add(callers.submit(() -> read(begin, end, into, at -> reached.set(caller, at))));
            }
            for (Future<Double> each : rates) {
                rate += each.get();
            }
        } catch (ExecutionException e) {
            return OptionalDouble.empty();
        } finally {
            for (int i = 0; i < CALLERS && i * part < size; i++) {
                int first = (int) (i * part / FOLIO);
                long end = Math.min(size, reached.get(i) + AHEAD);
                for (int left = PASSES; left > 0 && !restored(before, first, end); left--) {
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            }
        }
        return rate > 0 ? OptionalDouble.of(rate) : OptionalDouble.empty();
    }

    /** Reads a part of the file until the time is over, and returns bytes per second; 0 if it does not come from storage. */
    private double read(long begin, long end, MemoryRange into, LongConsumer reached) {
        long firstBytes = 0;
        long firstEnd = start;
        long bytes = 0;
        long now = start;
        long size = FIRST;
        for (long at = begin; at < end && now - start < NANOS;) {
            long count = Math.min(size, end - at);
            reached.accept(at + count);
            if (posix.cachedPages(fd, at, count) != 0) {
                drop(at, count);
            }
            long before = System.nanoTime();
            boolean stays = posix.cachedPages(fd, at, count) > 0; // dirty, or mapped by another program
            if (!stays) {
                bytes += readInTime(at, count, bytes == 0 ? LEAST_READ : count, into);
            }
            at += count;
            now = System.nanoTime();
            if (firstBytes == 0) {
                firstBytes = bytes;
                firstEnd = now;
            }
            if (!stays) {
                double longer = (NANOS - (now - start)) / (double) REQUESTS / (now - before);
                size = folios(Math.clamp((long) (count * longer), FIRST, into.length()));
            }
        }
        return bytes > firstBytes
                ? (bytes - firstBytes) * 1e9 / (now - firstEnd)
                : bytes * 1e9 / Math.max(1, now - start);
    }

    /** Reads as much of a range as the time allows, and returns the number of bytes. Each read is as long as the one before it lets hope. */
    private long readInTime(long offset, long count, long first, MemoryRange into) {
        long bytes = 0;
        long at = 0;
        long next = first;
        for (long now = System.nanoTime(); at < count && now - start < NANOS;) {
            long length = Math.min(next, count - at);
            bytes += handle.read(into, length, offset + at, at);
            at += length;
            long took = System.nanoTime() - now;
            now += took;
            double inTime = (double) length * (NANOS - (now - start)) / Math.max(1, took);
            next = Math.clamp((long) inTime / LEAST_READ, 1, Math.ceilDiv(count, LEAST_READ)) * LEAST_READ;
        }
        return bytes;
    }

    private long cached(int folio) {
        return posix.cachedPages(fd, folio * FOLIO, FOLIO);
    }

    /**
     * Leaves as much in the page cache as there was, if the kernel tells that. Returns false if pages stay, as those do that the kernel
     * still reads.
     */
    private boolean restored(long[] before, int first, long end) {
        boolean done = true;
        for (int i = first; i * FOLIO < end; i++) {
            long now = cached(i);
            if (now > before[i] && before[i] >= 0 && before[i] < COLD_PAGES) {
                drop(i * FOLIO, FOLIO);
                done &= cached(i) <= before[i];
            } else if (now < before[i] && before[i] >= COLD_PAGES) {
                for (long at = 0; at < FOLIO; at += FETCHED_AT_ONCE) {
                    posix.fadvise(fd, i * FOLIO + at, FETCHED_AT_ONCE, PosixConstants.POSIX_FADV_WILLNEED);
                }
            }
        }
        return done;
    }

    private static long folios(long bytes) {
        return bytes / FOLIO * FOLIO;
    }

    private void drop(long offset, long count) {
        posix.fadvise(fd, offset, count, PosixConstants.POSIX_FADV_DONTNEED);
    }
}
