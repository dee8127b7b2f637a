package io.gds4j.ffi.cufile;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.ffi.Linkage;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.invoke.MethodHandle;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;

/**
 * Where a file ends, for reads that must not cross the end. A look is a system call, a quarter of a microsecond before each
 * read into a GPU: so an end that was seen lately serves for what stays before it. A file that grows makes such an answer no
 * worse. One that shrinks is noticed at once where a file of this process was truncated ({@link #shrunk}), and after
 * {@link #TRUST} else; a read across the new end that falls into that time is one beside the truncation, and what is in its
 * memory behind the count then is not specified.
 */
final class FileEnd {
    /** How long ago the end may have been seen. Ten times as much would make reads of 4 KiB 0.3 % shorter, and late cuts likelier. */
    static final Duration TRUST = Duration.ofNanos(100_000);

    private static final long TRUST_NANOS = TRUST.toNanos();

    private static final int SEEK_END = 2;
    private static final MethodHandle LSEEK =
            Linkage.ofLibc()
                    .function(
                            "lseek",
                            FunctionDescriptor.of(JAVA_LONG, JAVA_INT, JAVA_LONG, JAVA_INT),
                            // It never waits: the end of a file is in memory.
                            Linker.Option.critical(false));

    /** Truncations that this process has made by its files. */
    private static final AtomicInteger SHRUNK = new AtomicInteger();

    private final LongSupplier look;
    private volatile long seen = Long.MIN_VALUE;
    private volatile long seenAt;
    private volatile int seenShrunk;

    /** @param look bytes in the file now, or a negative number */
    FileEnd(LongSupplier look) {
        this.look = look;
    }

    /** By {@code lseek(2)}, the cheapest call that knows: bytes of the file or block device, or -1. It moves the position. */
    static long seek(int fd) {
        try {
            return (long) LSEEK.invokeExact(fd, 0L, SEEK_END);
        } catch (Throwable t) {
            throw Linkage.rethrow(t);
        }
    }

    /** Some file of this process was truncated: nobody trusts what was seen before. */
    static void shrunk() {
        SHRUNK.incrementAndGet();
    }

    /**
     * The end as a request sees it that reaches to {@code reach}: if that is not behind an end that was seen lately, that end,
     * else the end now. Negative if nobody knows.
     *
     * @param now by {@link System#nanoTime}
     */
    long before(long reach, long now) {
        // Against the order in which they are written: the end is never older than what is beside it.
        int shrunk = seenShrunk;
        long at = seenAt;
        long end = seen;
        return reach <= end && shrunk == SHRUNK.get() && now - at < TRUST_NANOS ? end : lookAt(now);
    }

    /** One looks at a time, so that no older end is kept with a newer time. */
    private synchronized long lookAt(long now) {
        int shrunk = SHRUNK.get();
        long end = look.getAsLong();
        seen = end;
        seenAt = now;
        seenShrunk = shrunk;
        return end;
    }
}
