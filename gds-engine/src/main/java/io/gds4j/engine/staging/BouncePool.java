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
 * The bounce buffers of a driver session: slabs of the sizes and counts of {@code properties.posix_pool_slab_*}, mapped when
 * they are first wanted and pinned for the GPU when they first serve one. Large slabs are handed out in pieces of
 * {@value #PIECE_SIZE} bytes, which a CPU's last-level cache holds while the copy engine reads them.
 *
 * <p>
 * It never grows past its configuration: whoever holds none waits for one, whoever holds some goes on with those, so somebody
 * always makes progress.
 */
public final class BouncePool {
    /** Largest piece of a request, and largest slab that is handed out. */
    public static final long PIECE_SIZE = 4L << 20;

    /** So many pieces of operations of waiting streams are at work at a time, unless more slabs were needed before. */
    private static final int SLABS_FOR_PARKING = 48;

    private static final long BYTES_FOR_PARKING = 64L << 20;

    /** Between two looks at what is no longer used: memory that lay idle for one to two of them is given back. */
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

    /** Threads that pin or unpin. Under the lock. */
    private int pinningNow;

    private final AtomicInteger waiting = new AtomicInteger();
    /** Streams may come to wait for us: what was made for them, and all else, stays. Under the lock. */
    private volatile boolean filled;

    /** Looks after idle memory while there is any. Under the lock. */
    private @Nullable Thread trimmer;

    private boolean closed;

    private final AtomicLong peakBytes = new AtomicLong();

    public BouncePool(Posix posix, Pinning pinning, CuFileConfig config) {
        this(posix, pinning, config, new StreamWaits());
    }

    /**
     * Nothing is mapped yet.
     *
     * @param waits streams that wait for us: meanwhile nothing is mapped or pinned
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
                // Small ones are mapped together: one mapping and one pinning for up to 2 MiB of them.
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

    /** Bytes of the largest slab: a power of two, page-aligned. */
    public long pieceSize() {
        return Long.highestOneBit(classes.getLast().size());
    }

    /** Returns the bytes in use. */
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

    /** Largest number of bytes in use at a time so far, those included that threads had left for their next request. */
    public long peakBytes() {
        return peakBytes.get();
    }

    /**
     * A slab of at least {@code bytes}; waits for one if all are out. For callers that hold none.
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
                if (someWillReturn(bytes)) {
                    returned.awaitUninterruptibly();
                } else if (mayNotMap) {
                    awaitNoneParked();
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

    /** Streams of another session wait, and this one has no slab yet. */
    private void awaitNoneParked() {
        lock.unlock();
        try {
            waits.awaitNone();
        } finally {
            lock.lock();
        }
    }

    /** A slab of at least {@code bytes} if one is free or may be made, else null. For callers that hold one already. */
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

    /** Never hands this slab out again: a copy that cannot be waited for may still use it. */
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
     * Pins a slab's block, outside of the lock: the first request of a program has all its threads here, and the kernel clears
     * the pages for each of them on its own processor.
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

    /** A free slab of the smallest class that fits and has one. */
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

    /** Smallest class that fits, then larger ones: free slabs first, else a new block. Under the lock. */
    private @Nullable Slab takeOrMap(long bytes) {
        for (int i = 0; i < classes.size(); i++) {
            SlabClass slabs = classes.get(i);
            if (slabs.size() >= bytes) {
                Slab slab = slabs.take();
                if (slab == null && slabs.mayGrow() && !waits.any() && map(slabs)) {
                    slab = slabs.take();
                }
                if (slab != null) {
                    return slab;
                }
            }
        }
        return null;
    }

    private boolean someWillReturn(long bytes) {
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
                    // Nobody interrupts this thread; were it so, it would look a little early.
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

    /** Gives back what is not in use and was not since the last call. */
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
        // Without the lock: a program's own streams may hold the driver up, and must not hold up who wants a slab.
        for (SlabBlock block : unused) {
            block.unpin(pinning);
            posix.munmap(block.address(), block.size());
        }
        endPinning();
    }

    /** False if a stream waits for us; else {@link #endPinning} must follow. */
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

    /** True if streams may come to wait for us. */
    public boolean mayBeParked() {
        return filled;
    }

    /** The streams that wait for us: meanwhile the pool stays as it is. */
    public StreamWaits waits() {
        return waits;
    }

    /** Makes slabs for streams that will wait for us, before any does. */
    public void fillForParking() {
        lock.lock();
        try {
            filled = true;
        } finally {
            lock.unlock();
        }
        List<Slab> made = new ArrayList<>();
        for (SlabClass slabs : classes) {
            long count = Math.min(SLABS_FOR_PARKING, Math.max(1, BYTES_FOR_PARKING / slabs.size()));
            // None is held at first, and then none is waited for.
            Slab slab = made.isEmpty() ? acquire(slabs.size(), true) : tryAcquire(slabs.size(), true);
            while (slab != null) {
                made.add(slab);
                count--;
                slab = count > 0 ? tryAcquire(slabs.size(), true) : null;
            }
        }
        made.forEach(this::release);
    }

    /** Unmaps everything; nothing may be in use. */
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

    /** Pins memory for GPUs; refusing is no failure, copies are slower then. */
    public interface Pinning {
        /** Nothing is pinned: there is no GPU. */
        Pinning NONE = new Pinning() {
            @Override
            public boolean pin(long address, long size) {
                return false;
            }

            @Override
            public void unpin(long address) {
                // nothing was pinned
            }
        };

        /** True if it is pinned now. */
        boolean pin(long address, long size);

        void unpin(long address);
    }
}
