package io.gds4j.engine.staging;

import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The pool of bounce buffers of a driver session: slabs of the sizes and counts of {@code properties.posix_pool_slab_*}. A slab is
 * mapped at its first use, and pinned when it first serves a GPU. Large slabs are handed out in pieces of {@value #PIECE_SIZE}
 * bytes, which a CPU's last-level cache holds while the copy engine reads them.
 *
 * <p>
 * The pool never grows past its configuration. A thread without a slab waits for one; a thread that holds slabs continues with
 * those. So one thread always makes progress.
 */
public final class BouncePool {
    /** Largest piece of a request, and largest slab that is handed out. */
    public static final long PIECE_SIZE = 4L << 20;

    /** Largest number of slabs of a class that are made before streams wait for this process. */
    private static final int SLABS_FOR_WAITS = 48;

    /** Largest number of bytes of a class that are made before streams wait for this process. */
    private static final long BYTES_FOR_WAITS = 64L << 20;

    /** Time between two trims: memory that was idle for one to two of them is unmapped. */
    private static final Duration IDLE = Duration.ofSeconds(10);

    private static final long KIB = 1024;
    private static final long PAGE = 4096;
    private static final long HUGE_PAGE = 2L << 20;

    private final Posix posix;
    private final Pinning pinning;
    private final StreamWaits waits;
    private final List<SlabClass> classes = new ArrayList<>();
    private final List<SlabBlock> blocks = new ArrayList<>();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition returned = lock.newCondition();
    private final Condition closing = lock.newCondition();
    private final Condition pinningOver = lock.newCondition();

    /** Number of threads that pin or unpin now. Guarded by the lock. */
    private int pinningNow;

    /** Number of threads that wait for a slab. */
    private final AtomicInteger waiting = new AtomicInteger();

    /** Streams may wait for this process: the pool keeps every slab that it has made. Written under the lock. */
    private volatile boolean filled;

    /** Trims idle blocks; runs only while any are mapped. Guarded by the lock. */
    private @Nullable Thread trimmer;

    private boolean closed;

    private final AtomicLong peakBytes = new AtomicLong();

    public BouncePool(Posix posix, Pinning pinning, CuFileConfig config) {
        this(posix, pinning, config, new StreamWaits());
    }

    /**
     * Creates a pool without slabs.
     *
     * @param waits streams that wait for this process: nothing is mapped or pinned while there are any
     */
    public BouncePool(Posix posix, Pinning pinning, CuFileConfig config, StreamWaits waits) {
        this.posix = posix;
        this.pinning = pinning;
        this.waits = waits;
        List<Long> sizes = config.get(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB);
        List<Long> counts = config.get(CuFileKeys.POSIX_POOL_SLAB_COUNT);
        for (int i = 0; i < sizes.size(); i++) {
            long size = sizes.get(i) * KIB;
            if (counts.get(i) < 1) {
                continue;
            }
            if (size <= PIECE_SIZE) {
                // One mapping and one pinning serve up to 2 MiB of small slabs.
                long together = Math.max(1, Math.min(counts.get(i), HUGE_PAGE / size));
                classes.add(new SlabClass(size, size * together, counts.get(i) / together));
            } else {
                classes.add(new SlabClass(PIECE_SIZE, size - size % PIECE_SIZE, counts.get(i)));
            }
        }
        if (classes.isEmpty()) {
            classes.add(new SlabClass(PAGE, PAGE, 1));
        }
        classes.sort((a, b) -> Long.compare(a.size(), b.size()));
    }

    /** Returns the bytes of the largest slab, rounded down to a power of two. */
    public long pieceSize() {
        return Long.highestOneBit(classes.getLast().size());
    }

    /** Returns the bytes in use now. */
    public long bytesInUse() {
        // Under the lock: trimming takes all free slabs for a moment, and they would count as used.
        lock.lock();
        try {
            long bytes = 0;
            for (int i = 0; i < classes.size(); i++) {
                bytes += classes.get(i).inUse() * classes.get(i).size();
            }
            return bytes;
        } finally {
            lock.unlock();
        }
    }

    /** Returns the largest number of bytes in use at a time so far, including slabs that threads kept for their next request. */
    public long peakBytes() {
        return peakBytes.get();
    }

    /**
     * Takes a slab of at least {@code bytes}; waits for one if all are in use. For threads that hold none.
     *
     * @throws CuFileException NOMEM_ERROR if there is none and none can be mapped
     */
    public Slab acquire(long bytes, boolean pinned) {
        Slab slab = take(bytes);
        if (slab == null) {
            slab = await(bytes);
        }
        return count(slab, pinned);
    }

    private Slab await(long bytes) {
        lock.lock();
        waiting.incrementAndGet();
        try {
            while (true) {
                boolean mayNotMap = waits.any();
                Slab slab = takeOrMap(bytes);
                if (slab != null) {
                    return slab;
                }
                if (mayReturn(bytes)) {
                    returned.awaitUninterruptibly();
                } else if (mayNotMap) {
                    awaitNoWaitingStream();
                } else {
                    throw CuFileException.builder("bounce buffer")
                            .error(CuFileError.NOMEM_ERROR)
                            .errno(Errno.ENOMEM)
                            .detail("no memory for a bounce buffer of " + bytes + " bytes")
                            .build();
                }
            }
        } finally {
            waiting.decrementAndGet();
            lock.unlock();
        }
    }

    /** Waits for the streams of other sessions: this session has no slab yet, and may not map one meanwhile. */
    private void awaitNoWaitingStream() {
        lock.unlock();
        try {
            waits.awaitNone();
        } finally {
            lock.lock();
        }
    }

    /** Takes a slab of at least {@code bytes} without waiting; null if none is free and none can be made. */
    @Nullable
    Slab tryAcquire(long bytes, boolean pinned) {
        Slab slab = take(bytes);
        if (slab == null) {
            lock.lock();
            try {
                slab = takeOrMap(bytes);
            } finally {
                lock.unlock();
            }
        }
        return slab == null ? null : count(slab, pinned);
    }

    public void release(Slab slab) {
        slab.home().give(slab);
        wakeWaiting();
    }

    /** Withdraws a slab from use: a copy whose end is unknown may still use it. */
    void abandon(Slab slab) {
        slab.home().abandon();
        wakeWaiting();
    }

    private void wakeWaiting() {
        if (waiting.get() > 0) {
            lock.lock();
            try {
                returned.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /**
     * Takes slabs of at least {@code bytes} and has the kernel clear their pages, on the processor of the calling thread. Pins nothing,
     * so it needs no CUDA context. Does not wait: it takes fewer slabs if the pool is at its limit.
     *
     * @param taken receives the slabs, which the caller releases
     */
    public void takeCleared(long bytes, int count, List<Slab> taken) {
        for (int i = 0; i < count; i++) {
            Slab slab = tryAcquire(bytes, false);
            if (slab == null) {
                return;
            }
            taken.add(slab);
            posix.madvise(slab.address(), slab.size(), PosixConstants.MADV_POPULATE_WRITE);
        }
    }

    /** Pins a slab that was taken unpinned. */
    public void pin(Slab slab) {
        count(slab, true);
    }

    private Slab count(Slab slab, boolean pinned) {
        if (pinned && !slab.block().isPinningSettled()) {
            settlePinning(slab);
        }
        long outside = 0;
        for (int i = 0; i < classes.size(); i++) {
            outside += classes.get(i).outside() * classes.get(i).size();
        }
        if (outside > peakBytes.get()) {
            peakBytes.accumulateAndGet(outside, Math::max);
        }
        return slab;
    }

    /**
     * Pins a slab's block. This happens outside the lock: all threads of a program's first request come here, and each has the
     * kernel clear its pages on its own processor.
     */
    private void settlePinning(Slab slab) {
        if (!beginPinning()) {
            return;
        }
        try {
            posix.madvise(slab.address(), slab.size(), PosixConstants.MADV_POPULATE_WRITE);
            slab.block().pin(pinning);
        } finally {
            endPinning();
        }
    }

    /** Takes a free slab of the smallest class that fits; null if that class can grow or no class has one. */
    private @Nullable Slab take(long bytes) {
        for (int i = 0; i < classes.size(); i++) {
            SlabClass slabs = classes.get(i);
            if (slabs.size() >= bytes) {
                Slab slab = slabs.take();
                if (slab != null) {
                    return slab;
                }
                if (slabs.mayGrow()) {
                    return null;
                }
            }
        }
        return null;
    }

    /** Takes a slab of the smallest class that fits and has a free slab or can grow. Guarded by the lock. */
    private @Nullable Slab takeOrMap(long bytes) {
        for (int i = 0; i < classes.size(); i++) {
            SlabClass slabs = classes.get(i);
            if (slabs.size() >= bytes) {
                Slab slab = slabs.take();
                // Other threads may take all slabs of a new block first.
                while (slab == null && slabs.mayGrow() && !waits.any() && map(slabs)) {
                    slab = slabs.take();
                }
                if (slab != null) {
                    return slab;
                }
            }
        }
        return null;
    }

    private boolean mayReturn(long bytes) {
        for (SlabClass slabs : classes) {
            if (slabs.size() >= bytes && slabs.hasAny()) {
                return true;
            }
        }
        return false;
    }

    private boolean map(SlabClass slabs) {
        long size = slabs.blockSize();
        long address = posix.mmap(
                0,
                size,
                PosixConstants.PROT_READ | PosixConstants.PROT_WRITE,
                PosixConstants.MAP_PRIVATE | PosixConstants.MAP_ANONYMOUS,
                -1,
                0);
        if (address < 0 && address > -PAGE) {
            return false;
        }
        if (size >= HUGE_PAGE) {
            posix.madvise(address, size, PosixConstants.MADV_HUGEPAGE);
        }
        SlabBlock block = new SlabBlock(address, size);
        blocks.add(block);
        slabs.add(block);
        if (trimmer == null && !closed) {
            trimmer = Thread.ofPlatform().daemon().name("gds4j-trim").start(this::trimWhileMapped);
        }
        return true;
    }

    private void trimWhileMapped() {
        lock.lock();
        try {
            long left = IDLE.toNanos();
            while (!closed && !blocks.isEmpty()) {
                try {
                    left = closing.awaitNanos(left);
                } catch (InterruptedException e) {
                    left = 0;
                }
                if (left <= 0 && !closed) {
                    lock.unlock();
                    try {
                        trim();
                    } finally {
                        lock.lock();
                    }
                    left = IDLE.toNanos();
                }
            }
            trimmer = null;
        } finally {
            lock.unlock();
        }
    }

    /** Unmaps blocks that are not in use and were not used since the last call. */
    void trim() {
        List<SlabBlock> unused = new ArrayList<>();
        lock.lock();
        try {
            if (filled || !beginPinning()) {
                return;
            }
            classes.forEach(slabs -> unused.addAll(slabs.removeUnused()));
            blocks.removeAll(unused);
            returned.signalAll();
        } finally {
            lock.unlock();
        }
        // Outside the lock: the program's streams may block the driver, and must not block threads that want a slab.
        for (SlabBlock block : unused) {
            block.unpin(pinning);
            posix.munmap(block.address(), block.size());
        }
        endPinning();
    }

    /** Returns false if a stream waits for this process. Otherwise the caller must call {@link #endPinning}. */
    private boolean beginPinning() {
        lock.lock();
        try {
            boolean begun = waits.tryEnterCall();
            pinningNow += begun ? 1 : 0;
            return begun;
        } finally {
            lock.unlock();
        }
    }

    private void endPinning() {
        waits.leaveCall();
        lock.lock();
        try {
            pinningNow--;
            if (pinningNow == 0) {
                pinningOver.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    private void awaitPinning() {
        while (pinningNow > 0) {
            pinningOver.awaitUninterruptibly();
        }
    }

    /** Returns whether streams may wait for this process. */
    public boolean servesWaitingStreams() {
        return filled;
    }

    /** Returns the streams that wait for this process; the pool neither grows nor shrinks while there are any. */
    public StreamWaits waits() {
        return waits;
    }

    /** Makes slabs before streams wait for this process: no slab can be made while they do. */
    public void fillForWaitingStreams() {
        lock.lock();
        try {
            filled = true;
        } finally {
            lock.unlock();
        }
        List<Slab> made = new ArrayList<>();
        for (SlabClass slabs : classes) {
            long count = Math.min(SLABS_FOR_WAITS, Math.max(1, BYTES_FOR_WAITS / slabs.size()));
            // Only a thread that holds no slab may wait for one.
            Slab slab = made.isEmpty() ? acquire(slabs.size(), true) : tryAcquire(slabs.size(), true);
            while (slab != null) {
                made.add(slab);
                count--;
                slab = count > 0 ? tryAcquire(slabs.size(), true) : null;
            }
        }
        made.forEach(this::release);
    }

    /** Unmaps everything; no slab may be in use. */
    public void close() {
        lock.lock();
        try {
            closed = true;
            closing.signalAll();
            awaitPinning();
        } finally {
            lock.unlock();
        }
        waits.whileNone(this::unmapAll);
    }

    private void unmapAll() {
        lock.lock();
        try {
            for (SlabBlock block : blocks) {
                block.unpin(pinning);
                posix.munmap(block.address(), block.size());
            }
            blocks.clear();
        } finally {
            lock.unlock();
        }
    }

    /** Pins memory for GPUs. A refusal is not a failure: copies are slower then. */
    public interface Pinning {
        /** Pins nothing, for a process without a GPU. */
        Pinning NONE = new Pinning() {
            @Override
            public boolean pin(long address, long size) {
                return false;
            }

            @Override
            public void unpin(long address) {
                // pin() pins nothing
            }
        };

        /** Pins memory; false if the driver refuses. */
        boolean pin(long address, long size);

        void unpin(long address);
    }
}
