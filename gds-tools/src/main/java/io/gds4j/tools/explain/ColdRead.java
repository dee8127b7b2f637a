package io.gds4j.tools.explain;

import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/** Measures how fast storage delivers a file past the page cache, in a fifth of a second. */
final class ColdRead {
    private static final long NANOS = 200_000_000;
    private static final int THREADS = 8;
    private static final long PIECE = 1 << 20;
    private static final long ALIGNMENT = 4096;

    private final Posix posix = FfmPosix.instance();
    private final int fd;
    private final long pieces;
    private final AtomicLong next = new AtomicLong();
    private final AtomicBoolean failed = new AtomicBoolean();

    private ColdRead(int fd, long pieces) {
        this.fd = fd;
        this.pieces = pieces;
    }

    /** Returns bytes per second; empty if the file has less than a piece, or its file system refuses O_DIRECT. */
    static OptionalDouble bytesPerSecond(Path file, long size) throws InterruptedException {
        if (size < PIECE) {
            return OptionalDouble.empty();
        }
        Posix posix = FfmPosix.instance();
        int fd = posix.open(file.toString(), PosixConstants.O_RDONLY | PosixConstants.O_DIRECT, 0);
        if (fd < 0) {
            return OptionalDouble.empty();
        }
        try {
            return new ColdRead(fd, size / PIECE).measure();
        } finally {
            posix.close(fd);
        }
    }

    private OptionalDouble measure() throws InterruptedException {
        long start = System.nanoTime();
        long bytes = 0;
        try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
            List<Future<Long>> counts = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                counts.add(threads.submit(() -> read(start)));
            }
            for (Future<Long> count : counts) {
                bytes += count.get();
            }
        } catch (ExecutionException e) {
            return OptionalDouble.empty();
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        return failed.get() || bytes == 0 ? OptionalDouble.empty() : OptionalDouble.of(bytes / seconds);
    }

    /** Reads pieces, one after the other in the file, until the time is over or every piece has been read once. */
    private long read(long start) {
        long bytes = 0;
        try (Arena arena = Arena.ofConfined()) {
            long address = arena.allocate(PIECE, ALIGNMENT).address();
            while (System.nanoTime() - start < NANOS && !failed.get()) {
                long piece = next.getAndIncrement();
                if (piece >= pieces) {
                    break;
                }
                long moved = posix.pread(fd, address, PIECE, piece * PIECE);
                if (moved <= 0) {
                    failed.set(true);
                    break;
                }
                bytes += moved;
            }
        }
        return bytes;
    }
}
