package io.gds4j.ffi.posix;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;

/**
 * An {@code io_uring(7)}: one thread submits reads and writes and awaits them with one system call; the kernel serves them in parallel.
 * Buffers are not registered: measurements showed that depth gains much and registration little.
 *
 * <pre>{@code
 * uring.read(fd, address, 65536, 0, 1);
 * uring.read(fd, address + 65536, 65536, 65536, 2);
 * uring.run((tag, result) -> ...);   // bytes or -errno, in order of completion
 * }</pre>
 *
 * <p>
 * One thread at a time may use it. When {@link #run} returns, the kernel touches no buffer any more.
 */
public final class IoUring implements AutoCloseable {
    private static final int ENTRY_BYTES = 64;
    private static final int COMPLETION_BYTES = 16;
    private static final int PARAMETER_BYTES = 120;
    private static final int FEATURE_SINGLE_MMAP = 1;
    private static final long ENTRIES_OFFSET = 0x10000000L;
    private static final byte READ = 22;
    private static final byte WRITE = 23;
    private static final int GET_EVENTS = 1;

    // Offsets in struct io_uring_params and in its two tables.
    private static final int FEATURES = 20;
    private static final int SUBMISSION = 40;
    private static final int COMPLETION = 80;
    private static final int HEAD = 0;
    private static final int TAIL = 4;
    private static final int MASK = 8;
    private static final int CQES = 20;
    private static final int ARRAY = 24;

    private static final VarHandle INT = JAVA_INT.varHandle();

    private final Posix posix;
    private final int descriptor;
    private final int capacity;
    private final MemorySegment rings;
    private final MemorySegment entries;
    private final long submissionTail;
    private final long completionHead;
    private final long completionTail;
    private final long completions;
    private final int completionMask;
    private int tail;
    private int prepared;
    private boolean broken;

    /** Receives the results of reads and writes. */
    @FunctionalInterface
    public interface Completion {
        /**
         * A read or write is complete.
         *
         * @param tag the tag it was prepared with
         * @param result bytes, 0 at the end of the file, or {@code -errno}
         */
        void done(long tag, int result);
    }

    /**
     * Sets up an io_uring.
     *
     * @param depth most requests in flight, a power of two
     * @throws CuFileException with the errno of the failed call: ENOSYS or EPERM if this process may not use io_uring
     */
    public static IoUring open(Posix posix, int depth) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment parameters = arena.allocate(PARAMETER_BYTES, Long.BYTES);
            int fd = posix.ioUringSetup(depth, parameters);
            if (fd < 0) {
                throw PosixErrors.failure("io_uring", "io_uring_setup", fd).build();
            }
            IoUring ring = null;
            try {
                ring = new IoUring(posix, fd, parameters);
                return ring;
            } finally {
                if (ring == null) {
                    posix.close(fd);
                }
            }
        }
    }

    private IoUring(Posix posix, int fd, MemorySegment parameters) {
        this.posix = posix;
        this.descriptor = fd;
        this.capacity = parameters.get(JAVA_INT, 0);
        int completionCount = parameters.get(JAVA_INT, Integer.BYTES);
        if ((parameters.get(JAVA_INT, FEATURES) & FEATURE_SINGLE_MMAP) == 0) {
            throw PosixErrors.failure("io_uring", "io_uring_setup", -Errno.ENOSYS).build();
        }
        this.completions = offset(parameters, COMPLETION + CQES);
        long array = offset(parameters, SUBMISSION + ARRAY);
        long size = Math.max(array + capacity * (long) Integer.BYTES,
                completions + completionCount * (long) COMPLETION_BYTES);
        this.rings = map(size, 0);
        boolean mapped = false;
        try {
            this.entries = map(capacity * (long) ENTRY_BYTES, ENTRIES_OFFSET);
            mapped = true;
        } finally {
            if (!mapped) {
                posix.munmap(rings.address(), rings.byteSize());
            }
        }
        this.submissionTail = offset(parameters, SUBMISSION + TAIL);
        this.completionHead = offset(parameters, COMPLETION + HEAD);
        this.completionTail = offset(parameters, COMPLETION + TAIL);
        this.completionMask = rings.get(JAVA_INT, offset(parameters, COMPLETION + MASK));
        this.tail = rings.get(JAVA_INT, submissionTail);
        for (int i = 0; i < capacity; i++) {
            rings.set(JAVA_INT, array + i * (long) Integer.BYTES, i);
        }
    }

    private static long offset(MemorySegment parameters, long at) {
        return Integer.toUnsignedLong(parameters.get(JAVA_INT, at));
    }

    private MemorySegment map(long size, long offset) {
        long address = posix.mmap(
                0,
                size,
                PosixConstants.PROT_READ | PosixConstants.PROT_WRITE,
                PosixConstants.MAP_SHARED | PosixConstants.MAP_POPULATE,
                descriptor,
                offset);
        if (address < 0) {
            throw PosixErrors.failure("io_uring", "mmap", address).build();
        }
        return MemorySegment.ofAddress(address).reinterpret(size);
    }

    /** Returns the number of requests that may be prepared before {@link #run}. */
    public int capacity() {
        return capacity;
    }

    /**
     * Prepares a read to a raw address that the caller keeps alive.
     *
     * @param tag reported with the result
     * @throws IllegalStateException if {@link #capacity} requests are prepared already
     */
    public void read(int fd, long address, int count, long offset, long tag) {
        prepare(READ, fd, address, count, offset, tag);
    }

    /**
     * Prepares a write from a raw address that the caller keeps alive.
     *
     * @param tag reported with the result
     * @throws IllegalStateException if {@link #capacity} requests are prepared already
     */
    public void write(int fd, long address, int count, long offset, long tag) {
        prepare(WRITE, fd, address, count, offset, tag);
    }

    private void prepare(byte operation, int fd, long address, int count, long offset, long tag) {
        if (prepared == capacity) {
            throw new IllegalStateException("more than %s reads and writes".formatted(capacity));
        }
        long entry = (tail + prepared & capacity - 1) * (long) ENTRY_BYTES;
        entries.asSlice(entry, ENTRY_BYTES).fill((byte) 0);
        entries.set(JAVA_BYTE, entry, operation);
        entries.set(JAVA_INT, entry + 4, fd);
        entries.set(JAVA_LONG, entry + 8, offset);
        entries.set(JAVA_LONG, entry + 16, address);
        entries.set(JAVA_INT, entry + 24, count);
        entries.set(JAVA_LONG, entry + 32, tag);
        prepared++;
    }

    /**
     * Submits the prepared requests and waits for all of them.
     *
     * @return false if the kernel refused some requests: they are not reported, and this object is unusable from then on
     */
    public boolean run(Completion completion) {
        int waiting = 0;
        int left = prepared;
        prepared = 0;
        tail += left;
        INT.setRelease(rings, submissionTail, tail);
        while (left + waiting > 0) {
            int taken = posix.ioUringEnter(descriptor, left, left + waiting, GET_EVENTS);
            if (taken > 0) {
                left -= taken;
                waiting += taken;
            } else if (taken < 0 && taken != -Errno.EINTR && waiting == 0) {
                broken = true;
                return false;
            }
            waiting -= collect(completion);
        }
        return true;
    }

    private int collect(Completion completion) {
        int head = (int) INT.get(rings, completionHead);
        int end = (int) INT.getAcquire(rings, completionTail);
        int count = end - head;
        for (; head != end; head++) {
            long at = completions + (head & completionMask) * (long) COMPLETION_BYTES;
            completion.done(rings.get(JAVA_LONG, at), rings.get(JAVA_INT, at + 8));
        }
        INT.setRelease(rings, completionHead, head);
        return count;
    }

    /** Returns false once the kernel has refused requests. */
    public boolean works() {
        return !broken;
    }

    /** Unmaps and closes the io_uring; no request may be in flight. */
    @Override
    public void close() {
        posix.munmap(entries.address(), entries.byteSize());
        posix.munmap(rings.address(), rings.byteSize());
        posix.close(descriptor);
    }
}
