package io.gds4j.compat.transfer;

import io.gds4j.compat.file.FileDescriptors;
import io.gds4j.compat.file.PageCache;
import io.gds4j.compat.transfer.TransferPlan.CacheTrace;
import io.gds4j.compat.transfer.TransferPlan.CacheUse;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.spi.DriverLimits;
import java.util.function.LongSupplier;

/** Decides how a request is served: past the page cache or through it, in which pieces, by how many threads. */
public final class TransferPlanner {
    /** Of requests below this size each piece is asked for when it is read. */
    private static final long ASKED_WHOLE = 512 << 10;

    /** Of longer requests past the page cache each piece is looked at when it is read, by all threads side by side. */
    private static final long ASKED_AT_ONCE = 64L << 20;

    /** 64 MiB leave the page cache in some 10 ms. */
    private static final long LARGEST_CACHED_PIECE = 64L << 20;

    /**
     * A file's writes through the page cache take turns at a lock of the kernel: more threads only wait for it. From a GPU even a
     * second one does, since the copy engine fetches the next piece meanwhile.
     */
    private static final int CACHE_WRITERS = 2;

    /** Each costs the GPU's driver a lock that all want. */
    private static final int STAGED_PIECES = 2;

    /** Of writes past the page cache: the disk is busier with many short requests than with a few long ones (3.9 against 3.3 GB/s). */
    private static final long STAGED_WRITE = 512 << 10;

    /** Threads are woken one after the other: those that came first take more. */
    private static final int UNSTAGED_PIECES = 4;

    /** Shorter requests cannot flood the page cache, and their callers do not wait for a look at the machine's memory. */
    private static final long MAY_FLOOD = 64L << 20;

    private final Posix posix;
    private final IoPolicy policy;
    private final DriverLimits limits;
    private final long slabSize;
    private final Parallelism parallelism;
    private final Load load;
    private final PageCache pageCache;
    private final LongSupplier availableMemory;

    /**
     * @param slabSize bytes of the largest slab
     * @param availableMemory bytes that could be allocated now
     */
    public TransferPlanner(
            Posix posix,
            IoPolicy policy,
            DriverLimits limits,
            long slabSize,
            Parallelism parallelism,
            Load load,
            LongSupplier availableMemory) {
        this.posix = posix;
        this.policy = policy;
        this.availableMemory = availableMemory;
        this.limits = limits;
        this.slabSize = slabSize;
        this.parallelism = parallelism;
        this.load = load;
        this.pageCache = new PageCache(posix);
    }

    /** Bytes of a piece at most. */
    public long largestPiece() {
        return Math.min(slabSize, largestRequest());
    }

    /** Bytes of one request to the kernel at most, a power of two. */
    private long largestRequest() {
        return Long.highestOneBit(limits.maxDirectIoKb() << 10);
    }

    /**
     * Plans a request.
     *
     * @return how many threads it may have, its caller included
     */
    public int plan(TransferPlan plan, TransferRequest request) {
        CompatFile file = request.file();
        FileDescriptors descriptors = file.descriptors();
        boolean write = request.isWrite();
        long size = request.size();
        long offset = request.fileOffset();
        boolean direct = file.isDirect() && mayDirect(descriptors, request);
        long alignment = descriptors.traits().alignment();
        if (direct && write && descriptors.traits().network()) {
            // A network file system must not see one page direct and buffered.
            direct = ((offset | size) & (alignment - 1)) == 0;
        }
        boolean chooses = !write && policy == IoPolicy.AUTO;
        boolean exactly = direct ? size <= ASKED_AT_ONCE : file.leavesCacheAlone();
        boolean asks = chooses && (direct || file.leavesCacheAlone() || !isSmall(request));
        boolean seemsCached = asks && isCached(descriptors, offset, size, exactly);
        boolean cached = descriptors.traits().inMemory() || write && !direct || seemsCached && (exactly || !direct);
        boolean spares = chooses && !cached && !file.isDirect() && (file.leavesCacheAlone() || floods(size));
        boolean past = (write || !cached) && (direct || spares && mayDirect(descriptors, request));
        long largest = largestPiece();
        boolean staged = request.memory().kind().isCuda();
        int threads = threads(request, largest, cached || seemsCached);
        boolean takesTurns = write && !past;
        if (takesTurns) {
            threads = staged ? 1 : Math.min(threads, CACHE_WRITERS);
        }
        boolean whole = !staged && (threads == 1 || past && !seemsCached);
        long pieceSize = whole
                ? unstagedPiece(cached && !past)
                : parallelism.pieceSize(
                        size, threads, staged ? STAGED_PIECES : UNSTAGED_PIECES,
                        staged && write && past ? Math.min(STAGED_WRITE, largest) : largest);
        if (past) {
            long limit = write ? Long.MAX_VALUE : TransferPlan.roundDown(Math.max(0, descriptors.size()), alignment);
            plan.direct(offset, size, pieceSize, alignment, limit);
        } else {
            plan.buffered(offset, size, pieceSize);
        }
        if (write) {
            plan.write();
        }
        if (takesTurns) {
            plan.keepThreads();
        }
        if (past && chooses) {
            plan.cache(CacheUse.ASKED);
            if (!seemsCached && !exactly && pageCache.isOnlyTheBeginningCached(descriptors, offset, size)) {
                plan.takeFromBothEnds();
            }
        } else if (direct && !past) {
            plan.cache(CacheUse.HIT);
        } else if (asks && !spares && !seemsCached && size > ASKED_WHOLE && descriptors.canQueryPageCache()) {
            plan.cache(CacheUse.READ_AHEAD);
        }
        if (spares) {
            boolean cold = !past && pageCache.isWhollyCold(descriptors, offset, size);
            plan.leave(cold ? CacheTrace.DROPPED : CacheTrace.SPARED);
        }
        return threads;
    }

    /** Threads that a request may have, as far as the load allows: those served from memory keep processors busy. */
    private int threads(TransferRequest request, long largest, boolean fromMemory) {
        if (!parallelism.mayShare(request.size(), largest) || isSmall(request)) {
            return 1;
        }
        if (!fromMemory) {
            return parallelism.perRequest();
        }
        return Math.min(
                parallelism.share(load.requests(request.memory()), load.gpus()),
                Parallelism.worthwhile(request.total()));
    }

    private boolean isSmall(TransferRequest request) {
        return parallelism.isSmall(request.size()) && request.memory().kind().isHost();
    }

    /**
     * A thread alone that stages nothing gains nothing from pieces; only an interrupt waits for the end of one. Nor do threads
     * that wait for a disk: the kernel gives it all of a long piece at once.
     */
    private long unstagedPiece(boolean fromMemory) {
        return fromMemory ? Math.max(LARGEST_CACHED_PIECE, largestRequest()) : largestRequest();
    }

    /** True if a request is likely to sleep until a disk answers, so that others had better be at work beside it. */
    boolean waitsForDisk(CompatFile file, long fileOffset, long size, boolean write) {
        FileDescriptors descriptors = file.descriptors();
        if (descriptors.traits().inMemory()) {
            return false;
        }
        if (write || policy != IoPolicy.AUTO) {
            return file.isDirect();
        }
        return descriptors.canQueryPageCache() && !pageCache.isWhollyCached(descriptors, fileOffset, Math.max(1, size));
    }

    /**
     * @param exactly every byte counts, because no piece asks again before the others go through the page cache; else the answer
     *        only tells how many threads serve best, and some parts stand for all: asking for 4 GiB in small folios takes 25 ms
     */
    private boolean isCached(FileDescriptors descriptors, long offset, long size, boolean exactly) {
        if (size <= ASKED_WHOLE || !descriptors.canQueryPageCache()) {
            return false;
        }
        return exactly ? pageCache.isWhollyCached(descriptors, offset, size) : pageCache.seemsCached(descriptors, offset, size);
    }

    /** Larger than half of what the machine could still hold: it would evict other pages from the page cache. */
    private boolean floods(long size) {
        return size >= MAY_FLOOD && size > availableMemory.getAsLong() / 2;
    }

    /** Drops what a read has left in the page cache and should not have. */
    void tidy(TransferPlan plan, FileDescriptors descriptors) {
        if (plan.cacheTrace() == CacheTrace.DROPPED && !descriptors.dropsBehind()) {
            posix.fadvise(
                    descriptors.bufferedDescriptor(), plan.offset(), plan.size(), PosixConstants.POSIX_FADV_DONTNEED);
        }
    }

    /** True if a plan prefers the page cache and everything is there. */
    public boolean isCached(TransferPlan plan, FileDescriptors descriptors) {
        return plan.cacheUse() == CacheUse.ASKED
                && descriptors.canQueryPageCache()
                && pageCache.isWhollyCached(descriptors, plan.offset(), plan.size());
    }

    /** Host memory of direct requests is aligned as the device asks; a GPU's goes through slabs, which always are. */
    private static boolean mayDirect(FileDescriptors descriptors, TransferRequest request) {
        long difference = request.address() - request.fileOffset();
        return descriptors.directWorks()
                && (request.memory().kind().isCuda() || (difference & (descriptors.traits().memoryAlignment() - 1)) == 0);
    }
}
