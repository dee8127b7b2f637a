package io.gds4j.tools.explain;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.internal.file.Pages;
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
import java.util.concurrent.locks.LockSupport;

/**
 * Measures how fast storage delivers a file, in a fifth of a second, by reads like those of a load: as many requests at a time, one behind
 * the other in the file, through the same engine and page cache. They begin short, for slow storage, and the longest ones tell the speed.
 * What the page cache has of them is dropped first, and is fetched again at the end, unless a read did so; what it had not is dropped.
 */
final class ColdRead {
    private static final long NANOS = 200_000_000;
    private static final long LEAST_FILE = 1L << 20;
    /** Largest folio of the page cache. Reads that follow each other share none, so that each can be dropped from it. */
    private static final long FOLIO = 2L << 20;
    /** A folio of which the page cache has fewer pages is cold: the header before it has been read. */
    private static final long COLD_PAGES = FOLIO / Pages.SIZE / 4;
    /** The kernel reads ahead of the last request. */
    private static final long AHEAD = 16L << 20;
    /** Bytes that each kernel fetches at a time, when it is told that they will be needed. */
    private static final long FETCHED_AT_ONCE = 128 << 10;

    /** How often pages are dropped that the kernel still reads, and the pause between. */
    private static final int PASSES = 20;
    private static final long PAUSE_NANOS = 2_000_000;

    /** Requests that a load has in flight. */
    private static final int CALLERS = 4;

    /** Bytes of the shortest request, and of the longest: a load's are no shorter. */
    private static final long LEAST = 64 << 10;
    private static final long MOST = 128L << 20;

    /** How much longer requests may be than those before them: these tell little about the speed. */
    private static final int GROWTH = 8;

    private final Posix posix = FfmPosix.instance();
    private final CuFileHandle handle;
    private final MemoryRange memory;
    private final int fd;

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
            long most = Pages.down(Math.min(Math.min(MOST, room), handle.size() / CALLERS));
            if (handle.size() < LEAST_FILE || most < LEAST) {
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
        long[] before = new long[(int) Math.ceilDiv(size, FOLIO)];
        Arrays.setAll(before, this::cached);
        double rate = 0;
        long longest = 0;
        long at = 0;
        long start = System.nanoTime();
        try (ExecutorService callers = Executors.newFixedThreadPool(CALLERS)) {
            long length = LEAST;
            for (long took = 0; length > 0 && took < NANOS / 2 && System.nanoTime() - start < NANOS;) {
                boolean comesFromStorage = isDropped(at, CALLERS * length);
                took = read(callers, at, length);
                if (comesFromStorage && length >= longest) {
                    longest = length;
                    rate = CALLERS * length * 1e9 / took;
                }
                at = (at + CALLERS * length + FOLIO - 1) / FOLIO * FOLIO;
                long next = (long) Math.clamp(length * (double) NANOS / took, length, length * GROWTH);
                length = length == most && rate > 0 ? 0
                        : Pages.down(Math.min(Math.min(next, most), (size - at) / CALLERS));
            }
        } catch (ExecutionException e) {
            return OptionalDouble.empty();
        } finally {
            long end = Math.min(size, at + AHEAD);
            for (int left = PASSES; left > 0 && !restored(before, end); left--) {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
        return rate > 0 ? OptionalDouble.of(rate) : OptionalDouble.empty();
    }

    /** Drops a range from the page cache; false if pages stay, which are dirty or mapped by another program. */
    private boolean isDropped(long offset, long count) {
        if (posix.cachedPages(fd, offset, count) != 0) {
            drop(offset, count);
        }
        return posix.cachedPages(fd, offset, count) <= 0;
    }

    /** Has all callers read, each a part behind that of the one before, and returns the nanoseconds until the last one is done. */
    private long read(ExecutorService callers, long offset, long length)
            throws InterruptedException, ExecutionException {
        long start = System.nanoTime();
        List<Future<Long>> reads = new ArrayList<>();
        for (int i = 0; i < CALLERS; i++) {
            long at = i * length;
            reads.add(callers.submit(() -> handle.read(memory, length, offset + at, at)));
        }
        for (Future<Long> read : reads) {
            read.get();
        }
        return System.nanoTime() - start;
    }

    private long cached(int folio) {
        return posix.cachedPages(fd, folio * FOLIO, FOLIO);
    }

    /**
     * Leaves as much in the page cache as there was, if the kernel tells that. Returns false if pages stay, as those do that the kernel
     * still reads.
     */
    private boolean restored(long[] before, long end) {
        boolean done = true;
        for (int i = 0; i * FOLIO < end; i++) {
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

    private void drop(long offset, long count) {
        posix.fadvise(fd, offset, count, PosixConstants.POSIX_FADV_DONTNEED);
    }
}
