package io.gds4j.engine.staging;

import io.gds4j.config.CuFileConfig;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.internal.file.Pages;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The pool of bounce buffers of a driver session: slabs of the sizes and counts of {@code properties.posix_pool_slab_*}. A slab is
 * mapped at its first use, and pinned when it first serves a GPU. Large slabs are handed out in pieces of {@value #PIECE_SIZE}
 * bytes, which a CPU's last-level cache holds while the copy engine reads them.
 *
 * <p>
 * The pool never grows past its configuration. A thread without a slab waits for one, first come, first served; a thread that holds slabs
 * continues with those. So one thread always makes progress.
 *
 * <p>
 * Mapping a slab is no call of a driver, but pinning is one that may wait for all streams. Until a GPU is used, the pool maps slabs on
 * demand and unmaps idle ones. From {@link #serveGpus} on its size is fixed: it has what every path of a GPU's requests needs, and grows only
 * while the program allocates ({@link #grow}). Idle slabs stay until {@link #trim}.
 */
public final class BouncePool {
    /** Largest piece of a request, and largest slab that is handed out. */
    public static final long PIECE_SIZE = SlabClasses.PIECE_SIZE;

    /** Time between two trims: memory that was idle for one to two of them is unmapped. */
    private static final Duration IDLE = Duration.ofSeconds(10);

    /** Number of threads that copy at a time, for a pool whose owner does not say. */
    private static final int USUAL_THREADS = 16;

    private static final PieceFailures PATIENT = (piece, cause) -> {
    };

    private final Posix posix;
    private final Pinning pinning;
    private final StreamWaits waits;
    private final SlabClasses classes;
    private final List<SlabClass> bySize;
    private final List<SlabBlock> blocks = new ArrayList<>();
    private final ReentrantLock lock = new ReentrantLock();
    private final WaitingLine line = new WaitingLine("a bounce buffer", lock);
    private final Condition closing = lock.newCondition();
    private final Condition pinningOver = lock.newCondition();

    /** Slabs of a class that GPUs' requests need: what a thread fills and what is copied meanwhile, for each thread. */
    private final int slabsForGpus;

    /** Number of threads that pin or unpin now. Guarded by the lock. */
    private int pinningNow;

    /** GPUs use the pool, whose size is fixed. Written under the lock. */
    private volatile boolean servesGpus;

    /** Trims idle blocks; runs only while any are mapped. Guarded by the lock. */
    private @Nullable Thread trimmer;

    private boolean closed;

    /** Number of calls of {@link #trim} so far. Written under the lock. */
    private volatile long trims;

    private final AtomicLong peakBytes = new AtomicLong();

    /** Creates a pool without slabs, which stay pageable. */
    public BouncePool(Posix posix, CuFileConfig config) {
        this(posix, Pinning.NONE, config);
    }

    BouncePool(Posix posix, Pinning pinning, CuFileConfig config) {
        this(posix, pinning, config, new StreamWaits(), USUAL_THREADS);
    }

    /**
     * Creates a pool without slabs, which pins them for every context of the process.
     *
     * @param contexts contexts of the CUDA driver, if there is one
     * @param warnings receives the reason why memory could not be pinned
     * @param threads threads that copy to or from GPUs at the same time without waiting for each other's slabs
     */
    public BouncePool(
            Posix posix, Optional<CudaContexts> contexts, Consumer<String> warnings, CuFileConfig config, int threads) {
        this(posix, contexts.<Pinning>map(known -> new GpuPinning(known, warnings)).orElse(Pinning.NONE), config,
                contexts.map(StreamWaits::of).orElseGet(StreamWaits::new), threads);
    }

    /**
     * Creates a pool without slabs.
     *
     * @param waits streams that wait for this process: nothing is pinned while there are any
     * @param threads threads that copy to or from GPUs at the same time without waiting for each other's slabs
     */
    BouncePool(Posix posix, Pinning pinning, CuFileConfig config, StreamWaits waits, int threads) {
        this.slabsForGpus = threads * CopyLane.EVENTS;
        this.posix = posix;
        this.pinning = pinning;
        this.waits = waits;
        this.classes = new SlabClasses(config);
        this.bySize = classes.bySize();
    }

    /** Returns the bytes of the largest slab, rounded down to a power of two. */
    public long pieceSize() {
        return Long.highestOneBit(classes.largest());
    }

    /** Returns the largest number of slabs of all sizes. */
    long slabs() {
        return classes.slabs();
    }

    /** Returns the bytes in use now. */
    public long bytesInUse() {
        // Under the lock: trimming takes all free slabs for a moment, and they would count as used.
        lock.lock();
        try {
            return classes.bytesInUse();
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
        return Objects.requireNonNull(acquire(bytes, pinned, PATIENT), "a request that is never over");
    }

    /**
     * As {@link #acquire(long, boolean)}, for a request that may end meanwhile.
     *
     * @return null if the request is over
     */
    @Nullable
    Slab acquire(long bytes, boolean pinned, PieceFailures request) {
        if (pinned) {
            serveGpus();
        }
        Slab slab = take(bytes);
        if (slab == null) {
            slab = line.await(() -> takeOrMake(bytes), request::isOver);
        }
        return slab == null ? null : count(slab);
    }

    /** Takes a slab, or makes one that GPUs' requests need anyway. Guarded by the lock, which this lets go while it pins. */
    private @Nullable Slab takeOrMake(long bytes) {
        Slab slab = takeOrMap(bytes);
        boolean wantsMore = servesGpus && classes.mayGrow(bytes);
        boolean mayNotPin = wantsMore && waits.any();
        boolean makes = wantsMore && !mayNotPin;
        while (slab == null && makes) {
            lock.unlock();
            try {
                makes = pinNext();
            } finally {
                lock.lock();
            }
            slab = takeOrMap(bytes);
        }
        if (slab == null) {
            classes.noteLack(bytes);
            if (!classes.hasAny(bytes) && !mayNotPin && pinningNow == 0) {
                throw CuFileException.builder("bounce buffer")
                        .error(CuFileError.NOMEM_ERROR)
                        .errno(Errno.ENOMEM)
                        .detail("no memory for a bounce buffer of " + bytes + " bytes")
                        .build();
            }
        }
        return slab;
    }

    /** Takes a slab of at least {@code bytes} without waiting; null if none is free and none can be made. */
    @Nullable
    Slab tryAcquire(long bytes) {
        Slab slab = take(bytes);
        if (slab == null && line.isEmpty()) {
            lock.lock();
            try {
                slab = takeOrMap(bytes);
                if (slab == null) {
                    classes.noteLack(bytes);
                }
            } finally {
                lock.unlock();
            }
        }
        return slab == null ? null : count(slab);
    }

    public void release(Slab slab) {
        slab.home().give(slab);
        line.changed();
    }

    /** Withdraws a slab from use: a copy whose end is unknown may still use it. */
    void abandon(Slab slab) {
        slab.home().abandon();
        line.changed();
    }

    private Slab count(Slab slab) {
        long outside = 0;
        for (int i = 0; i < bySize.size(); i++) {
            outside += bySize.get(i).outside() * bySize.get(i).size();
        }
        if (outside > peakBytes.get()) {
            peakBytes.accumulateAndGet(outside, Math::max);
        }
        return slab;
    }

    /** Returns whether a GPU is used. */
    boolean servesGpus() {
        return servesGpus;
    }

    /** Fixes the size of the pool, because a GPU is used: {@link #pinNext} makes what its requests need, and no request makes more. */
    void serveGpus() {
        if (servesGpus) {
            return;
        }
        lock.lock();
        try {
            if (!servesGpus) {
                classes.reserve(slabsForGpus);
                servesGpus = true;
                closing.signalAll(); // the trimmer
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Makes or pins one of the blocks that requests of GPUs need. Several threads may do so at a time: each has the kernel clear pages on its
     * own processor. Waits until no stream waits.
     *
     * @return false if none is left
     */
    boolean pinNext() {
        SlabClass home = null;
        SlabBlock block = null;
        lock.lock();
        try {
            if (closed) {
                return false;
            }
            block = blocks.stream().filter(SlabBlock::claimPinning).findFirst().orElse(null);
            for (SlabClass slabs : block == null ? classes.growing() : List.<SlabClass>of()) {
                block = map(slabs);
                if (block != null) {
                    block.claimPinning();
                    home = slabs;
                    break;
                }
            }
            if (block == null) {
                return false;
            }
            pinningNow++;
        } finally {
            lock.unlock();
        }
        SlabBlock claimed = block;
        try {
            claimed.populate(posix);
            waits.whileNone(() -> pin(claimed));
        } finally {
            lock.lock();
            try {
                if (home != null) {
                    home.add(claimed);
                }
                pinningNow--;
                pinningOver.signalAll();
            } finally {
                lock.unlock();
            }
            line.changed();
        }
        return claimed.isPinningSettled();
    }

    /** Makes and pins what requests of GPUs need; returns once all is made, by this thread or another. */
    void prepare() {
        prepare(trims);
    }

    /**
     * As {@link #prepare()}, unless the pool is trimmed meanwhile.
     *
     * @param since number of trims when this was asked for: after a further one this makes no more
     */
    void prepare(long since) {
        serveGpus();
        pinAll(since);
        lock.lock();
        try {
            awaitPinning();
        } finally {
            lock.unlock();
        }
    }

    /** Makes and pins what no other thread does, unless the pool is trimmed meanwhile. */
    void pinAll(long since) {
        while (trims == since && pinNext()) {
            // the next one
        }
    }

    /**
     * Lets classes of which requests have lacked slabs grow by half, and pins these: the program allocates, which synchronises anyway. Does
     * nothing while a request has a slab: pinning takes a lock of the driver for as long as the request copies a gigabyte.
     */
    public void grow() {
        if (servesGpus) {
            boolean lacked = false;
            lock.lock();
            try {
                lacked = classes.bytesInUse() == 0 && classes.growIfLacking();
            } finally {
                lock.unlock();
            }
            if (lacked) {
                prepare();
            }
        }
    }

    /** Takes a free slab of the smallest class that fits; null if that class can grow or no class has one. */
    private @Nullable Slab take(long bytes) {
        if (!line.isEmpty()) {
            return null;
        }
        for (int i = 0; i < bySize.size(); i++) {
            SlabClass slabs = bySize.get(i);
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

    /** Takes a slab, or maps one that no GPU uses. Guarded by the lock. */
    private @Nullable Slab takeOrMap(long bytes) {
        return classes.takeOrMake(bytes, slabs -> {
            SlabBlock block = servesGpus ? null : map(slabs);
            if (block != null) {
                slabs.add(block);
            }
            return block != null;
        });
    }

    /** Maps a block that its class does not have yet; null if the system refuses. Guarded by the lock. */
    private @Nullable SlabBlock map(SlabClass slabs) {
        long size = slabs.blockSize();
        long address = posix.mmap(
                0,
                size,
                PosixConstants.PROT_READ | PosixConstants.PROT_WRITE,
                PosixConstants.MAP_PRIVATE | PosixConstants.MAP_ANONYMOUS,
                -1,
                0);
        if (address < 0 && address > -Pages.SIZE) {
            return null;
        }
        if (size >= SlabBlock.HUGE_PAGE) {
            posix.madvise(address, size, PosixConstants.MADV_HUGEPAGE);
        }
        SlabBlock block = new SlabBlock(address, size);
        blocks.add(block);
        slabs.promise();
        if (trimmer == null && !closed && !servesGpus) {
            try {
                trimmer = Thread.ofPlatform().daemon().name("gds4j-trim").start(this::trimWhileMapped);
            } catch (OutOfMemoryError e) {
                // the system has no thread left: idle blocks stay until the next one is mapped
            }
        }
        return block;
    }

    private void trimWhileMapped() {
        lock.lock();
        try {
            long left = IDLE.toNanos();
            while (!closed && !servesGpus && !blocks.isEmpty()) {
                try {
                    left = closing.awaitNanos(left);
                } catch (InterruptedException e) {
                    left = 0;
                }
                if (left <= 0 && !closed) {
                    lock.unlock();
                    try {
                        trimUnused();
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

    /** Unmaps blocks that are not in use and were not used since the last call, unless a GPU uses the pool. */
    void trimUnused() {
        List<SlabBlock> unused = new ArrayList<>();
        lock.lock();
        try {
            if (!servesGpus) {
                removeUnused(unused);
            }
        } finally {
            lock.unlock();
        }
        unused.forEach(block -> posix.munmap(block.address(), block.size()));
    }

    private void removeUnused(List<SlabBlock> unused) {
        unused.addAll(classes.removeUnused());
        blocks.removeAll(unused);
    }

    /** Unpins and unmaps all blocks that are not in use. Waits until no stream waits. */
    public void trim() {
        List<SlabBlock> idle = new ArrayList<>();
        lock.lock();
        try {
            awaitPinning(); // an idle block may be the one that a thread pins
            trims = trims + 1;
            removeUnused(idle); // the first call keeps blocks that were used since the last; they are idle now, too
            removeUnused(idle);
            pinningNow++;
        } finally {
            lock.unlock();
        }
        try {
            // Outside the lock: the program's streams may block the driver, and must not block threads that want a slab.
            waits.whileNone(() -> idle.forEach(this::unpin));
            idle.forEach(block -> posix.munmap(block.address(), block.size()));
        } finally {
            lock.lock();
            try {
                pinningNow--;
                pinningOver.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Returns how often {@link #trim} was called: what was prepared before the last call must be prepared again. */
    long trims() {
        return trims;
    }

    private void awaitPinning() {
        while (pinningNow > 0) {
            pinningOver.awaitUninterruptibly();
        }
    }

    /** Returns the streams that wait for this process; nothing is pinned or unpinned while there are any. */
    public StreamWaits waits() {
        return waits;
    }

    private void pin(SlabBlock block) {
        block.settle(switch (pinning.pin(block.address(), block.size())) {
            case PINNED -> SlabBlock.State.PINNED;
            case REFUSED -> SlabBlock.State.REFUSED;
            case NOT_NOW -> SlabBlock.State.PAGEABLE;
        });
    }

    private void unpin(SlabBlock block) {
        if (block.claimUnpinning()) {
            pinning.unpin(block.address());
        }
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
                unpin(block);
                posix.munmap(block.address(), block.size());
            }
            blocks.clear();
        } finally {
            lock.unlock();
        }
    }
}
