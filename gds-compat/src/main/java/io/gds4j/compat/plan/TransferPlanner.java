package io.gds4j.compat.plan;

import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.FileDescriptors;
import io.gds4j.compat.file.IoPolicy;
import io.gds4j.compat.file.PageCache;
import io.gds4j.compat.file.SourceIo;
import io.gds4j.compat.plan.TransferPlan.CacheTrace;
import io.gds4j.compat.plan.TransferPlan.CacheUse;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.spi.DriverLimits;
import java.util.function.LongSupplier;

/** Decides whether a request bypasses the page cache, and plans it as {@link TransferCourse} says. */
public final class TransferPlanner {
    /**
     * Size in bytes up to which a request that no kernel may copy is not checked as a whole: each piece checks the page cache when it is
     * read.
     */
    private static final long ASKED_WHOLE = TransferCosts.MEASURED.sharedBytes();

    /** Largest direct request in bytes that is checked exactly. For longer ones, all threads check their pieces in parallel. */
    private static final long ASKED_AT_ONCE = 64L << 20;

    /** Smallest request in bytes that may flood the page cache. Shorter ones do not pay for reading the machine's free memory. */
    private static final long MAY_FLOOD = 64L << 20;

    /** Largest number of bytes that a source is asked for at once where no slab limits them. */
    private static final long LONGEST_SOURCE_PIECE = 1L << 30;

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
     * @param availableMemory returns the bytes that could be allocated now
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

    /** Returns the largest size of a piece in bytes. */
    public long largestPiece() {
        return Math.min(slabSize, largestRequest());
    }

    /** Returns the largest size of a request to the kernel in bytes, a power of two. */
    private long largestRequest() {
        return Long.highestOneBit(limits.maxDirectIoKb() << 10);
    }

    /**
     * Plans a request.
     *
     * @return largest number of threads, including the caller
     */
    public int plan(TransferPlan plan, TransferRequest request) {
        CompatFile file = request.file();
        SourceIo source = file.source();
        if (source != null) {
            return plan(plan, request, source);
        }
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
        boolean small = !request.isStaged() && TransferCourse.isSmall(parallelism, size);
        boolean asks = chooses && (direct || file.leavesCacheAlone() || !small);
        boolean matters = size > ASKED_WHOLE || request.mayGather();
        boolean seemsCached = asks && matters && isCached(descriptors, offset, size, exactly);
        boolean cached = descriptors.traits().inMemory() || write && !direct || seemsCached && (exactly || !direct);
        boolean spares = chooses && !cached && !file.isDirect() && (file.leavesCacheAlone() || floods(size));
        boolean past = (write || !cached) && (direct || spares && mayDirect(descriptors, request));
        // A small request does not count, and must not make the workers of a GPU.
        boolean counts = TransferCourse.mayShare(parallelism, size, largestPiece());
        TransferCourse course = request.lastCourse().of(
                parallelism, size, request.total(), write, request.isStaged(), request.mayGather(),
                cached || seemsCached, past,
                counts ? load.requests(request.memory()) : 1, counts ? load.gpus() : 1, largestPiece(),
                largestRequest());
        long pieceSize = course.pieceSize();
        if (past) {
            long limit = write ? Long.MAX_VALUE : TransferPlan.roundDown(Math.max(0, descriptors.size()), alignment);
            plan.direct(offset, size, pieceSize, alignment, limit);
        } else {
            plan.buffered(offset, size, pieceSize);
        }
        if (write) {
            plan.write();
        }
        plan.joinable(course.joinable());
        plan.gathered(course.gathered());
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
        return course.threads();
    }

    /** Plans a request of a source, which knows best in which sizes and by how many threads to ask it. */
    private int plan(TransferPlan plan, TransferRequest request, SourceIo source) {
        long pieceSize = source.pieceSize(request.isStaged() ? largestPiece() : LONGEST_SOURCE_PIECE);
        plan.buffered(request.fileOffset(), request.size(), pieceSize);
        if (request.isWrite()) {
            plan.write();
        }
        return request.size() > pieceSize ? source.threads(parallelism.perRequest()) : 1;
    }

    /** Returns whether a request is likely to sleep until a disk answers, so that other threads should work meanwhile. */
    public boolean waitsForDisk(CompatFile file, long fileOffset, long size, boolean write) {
        if (file.source() != null) {
            return true;
        }
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
     * Returns whether the range is in the page cache.
     *
     * @param exactly true if every byte counts, because no piece checks again. Else samples suffice, since the answer only
     *        decides the number of threads: checking 4 GiB in small folios takes 25 ms.
     */
    private boolean isCached(FileDescriptors descriptors, long offset, long size, boolean exactly) {
        if (!descriptors.canQueryPageCache()) {
            return false;
        }
        return exactly ? pageCache.isWhollyCached(descriptors, offset, size)
                : pageCache.seemsCached(descriptors, offset, size);
    }

    /** Returns whether a request exceeds half of the free memory, so that it would evict other pages from the page cache. */
    private boolean floods(long size) {
        return size >= MAY_FLOOD && size > availableMemory.getAsLong() / 2;
    }

    /** Drops what a read should not leave in the page cache. */
    public void tidy(TransferPlan plan, FileDescriptors descriptors) {
        if (plan.cacheTrace() == CacheTrace.DROPPED && !descriptors.dropsBehind()) {
            posix.fadvise(
                    descriptors.bufferedDescriptor(), plan.offset(), plan.size(), PosixConstants.POSIX_FADV_DONTNEED);
        }
    }

    /** Returns whether a plan prefers the page cache and everything is there. */
    public boolean isCached(TransferPlan plan, FileDescriptors descriptors) {
        return plan.cacheUse() == CacheUse.ASKED
                && descriptors.canQueryPageCache()
                && pageCache.isWhollyCached(descriptors, plan.offset(), plan.size());
    }

    /** Returns whether a request can go direct: its host memory must be aligned as the device requires. Slabs always are. */
    private static boolean mayDirect(FileDescriptors descriptors, TransferRequest request) {
        long difference = request.address() - request.fileOffset();
        return descriptors.directWorks()
                && (request.isStaged()
                        || (difference & (descriptors.traits().memoryAlignment() - 1)) == 0);
    }
}
