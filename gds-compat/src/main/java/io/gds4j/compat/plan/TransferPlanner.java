package io.gds4j.compat.plan;

import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.FileDescriptors;
import io.gds4j.compat.file.IoPolicy;
import io.gds4j.compat.file.PageCache;
import io.gds4j.compat.file.SourceIo;
import io.gds4j.compat.plan.Route.Access;
import io.gds4j.compat.plan.TransferPlan.CacheTrace;
import io.gds4j.compat.plan.TransferPlan.CacheUse;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.internal.file.Pages;
import io.gds4j.spi.DriverLimits;
import io.gds4j.spi.Operation;
import java.util.function.LongSupplier;

/** Decides whether a request bypasses the page cache, and plans it as {@link TransferCourse} says. */
public final class TransferPlanner {
    /**
     * Size in bytes up to which a request that no kernel may copy is not checked as a whole: each piece checks the page cache when it is
     * read.
     */
    private static final long ASKED_WHOLE = TransferCosts.MEASURED.sharedBytes();

    /** Largest number of bytes that a source is asked for at once where no slab limits them. */
    private static final long MAX_SOURCE_PIECE = 1L << 30;

    private final Posix posix;
    private final IoPolicy policy;
    private final DriverLimits limits;
    private final long slabSize;
    private final Parallelism parallelism;
    private final Workload load;
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
            Workload load,
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
        Decision decision = decide(file, request);
        TransferCourse course = course(request, decision);
        set(plan, request, decision, course);
        return course.threads();
    }

    /** Decides by which way the bytes go. */
    private Decision decide(CompatFile file, TransferRequest request) {
        FileDescriptors descriptors = file.descriptors();
        long size = request.size();
        Access access = Access.BUFFERED;
        if (file.isDirect()) {
            access = isBarred(descriptors, request) ? Access.DIRECT_BARRED : Access.DIRECT;
        }
        CacheVerdict verdict = request.isWrite() ? CacheVerdict.UNKNOWN : verdict(file, request, access);
        boolean maySpare = access == Access.BUFFERED && chooses(request) && !verdict.isCached();
        if (maySpare && (file.leavesCacheAlone() || floods(size))) {
            access = isBarred(descriptors, request) ? Access.SPARING_BARRED : Access.SPARING;
        }
        if (verdict == CacheVerdict.COLD && access.mayPass() && !isAskedExactly(file, access, size)
                && pageCache.isOnlyTheBeginningCached(descriptors, request.fileOffset(), size)) {
            verdict = CacheVerdict.HEAD_CACHED;
        }
        return Decision.of(verdict, access);
    }

    /** Returns whether a request takes what is cached from the page cache, whatever its handle was opened for. */
    private boolean chooses(TransferRequest request) {
        return !request.isWrite() && policy == IoPolicy.AUTO;
    }

    private void set(TransferPlan plan, TransferRequest request, Decision decision, TransferCourse course) {
        FileDescriptors descriptors = request.file().descriptors();
        boolean write = request.isWrite();
        long offset = request.fileOffset();
        long size = request.size();
        if (decision.passes()) {
            long alignment = descriptors.traits().alignment();
            long limit = write ? Long.MAX_VALUE : Pages.down(Math.max(0, descriptors.size()), alignment);
            plan.direct(offset, size, course.pieceSize(), alignment, limit);
        } else {
            plan.buffered(offset, size, course.pieceSize());
        }
        if (write) {
            plan.write();
        }
        plan.joinable(course.joinable());
        plan.gathered(course.gathered() ? course.threads() : 0);
        plan.cache(cacheUse(request, decision));
        if (decision.verdict() == CacheVerdict.HEAD_CACHED) {
            plan.takeFromBothEnds();
        }
        if (decision.route() == Route.BYPASS_CACHE) {
            boolean cold = !decision.passes() && pageCache.isWhollyCold(descriptors, offset, size);
            plan.leave(cold ? CacheTrace.DROPPED : CacheTrace.SPARED);
        }
    }

    private CacheUse cacheUse(TransferRequest request, Decision decision) {
        if (decision.passes()) {
            return chooses(request) ? CacheUse.ASKED : CacheUse.UNKNOWN;
        }
        if (decision.access() == Access.DIRECT) {
            return CacheUse.HIT;
        }
        boolean lacks = decision.route() == Route.BUFFERED && decision.verdict() == CacheVerdict.COLD;
        return lacks && request.size() > ASKED_WHOLE ? CacheUse.READ_AHEAD : CacheUse.UNKNOWN;
    }

    private TransferCourse course(TransferRequest request, Decision decision) {
        boolean past = decision.passes();
        boolean cached = decision.verdict().isCached() || request.file().descriptors().traits().inMemory()
                || request.isWrite() && !past;
        // A small request does not count, and must not make the workers of a GPU.
        long largest = largestPiece();
        boolean counts = TransferCourse.mayShare(parallelism, request.size(), largest);
        long slab = cached && request.isSpread() ? Math.min(largest, TransferCosts.SPREAD_PIECE) : largest;
        return request.circumstances()
                .machine(parallelism, slab, largestRequest())
                .request(request.size(), request.total(), request.isWrite(), request.isStaged(), request.mayGather())
                .route(cached, past)
                .beside(counts ? load.requests(request.memory()) : 1, counts ? load.gpus() : 1)
                .course();
    }

    /** Returns what the page cache holds of a read, as far as that matters to its course. */
    private CacheVerdict verdict(CompatFile file, TransferRequest request, Access access) {
        FileDescriptors descriptors = file.descriptors();
        long size = request.size();
        if (descriptors.traits().inMemory()) {
            return CacheVerdict.ALL_CACHED;
        }
        boolean small = !request.isStaged() && TransferCourse.isSmall(parallelism, size);
        boolean asks = access == Access.DIRECT || file.leavesCacheAlone() || !small;
        boolean matters = size > ASKED_WHOLE || request.mayGather();
        if (policy != IoPolicy.AUTO || !asks || !matters || !descriptors.canQueryPageCache()) {
            return CacheVerdict.UNKNOWN;
        }
        if (isAskedExactly(file, access, size)) {
            if (pageCache.isWhollyCached(descriptors, request.fileOffset(), size)) {
                return CacheVerdict.ALL_CACHED;
            }
        } else if (pageCache.seemsCached(descriptors, request.fileOffset(), size)) {
            return CacheVerdict.SEEMS_CACHED;
        }
        return descriptors.canQueryPageCache() ? CacheVerdict.COLD : CacheVerdict.UNKNOWN;
    }

    /**
     * Returns whether every byte of a read counts, because no piece asks again. Else samples suffice, since the answer only decides the
     * number of threads: checking 4 GiB in small folios takes 25 ms.
     */
    private static boolean isAskedExactly(CompatFile file, Access access, long size) {
        return access == Access.DIRECT ? size <= TransferCosts.ASKED_AT_ONCE : file.leavesCacheAlone();
    }

    /** Plans a request of a source, which knows best in which sizes and by how many threads to ask it. */
    private int plan(TransferPlan plan, TransferRequest request, SourceIo source) {
        long pieceSize = source.pieceSize(request.isStaged() ? largestPiece() : MAX_SOURCE_PIECE);
        plan.buffered(request.fileOffset(), request.size(), pieceSize);
        if (request.isWrite()) {
            plan.write();
        }
        return request.size() > pieceSize ? source.threads(parallelism.perRequest()) : 1;
    }

    /** Returns whether a request is likely to sleep until a disk answers, so that other threads should work meanwhile. */
    public boolean waitsForDisk(CompatFile file, long fileOffset, long size, Operation operation) {
        if (file.source() != null) {
            return true;
        }
        FileDescriptors descriptors = file.descriptors();
        if (descriptors.traits().inMemory()) {
            return false;
        }
        if (operation.isWrite() || policy != IoPolicy.AUTO) {
            return file.isDirect();
        }
        return descriptors.canQueryPageCache() && !pageCache.isWhollyCached(descriptors, fileOffset, Math.max(1, size));
    }

    /** Returns whether a request exceeds half of the free memory, so that it would evict other pages from the page cache. */
    private boolean floods(long size) {
        return size >= TransferCosts.MAY_FLOOD && size > availableMemory.getAsLong() / 2;
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

    /**
     * Returns whether no byte of a request can go direct. Its host memory must be aligned as the device requires; slabs always are. A network
     * file system must not see one page direct and buffered.
     */
    private static boolean isBarred(FileDescriptors descriptors, TransferRequest request) {
        long difference = request.address() - request.fileOffset();
        boolean aligned = descriptors.directWorks()
                && (request.isStaged()
                        || !request.isStraight()
                                && (difference & (descriptors.traits().memoryAlignment() - 1)) == 0);
        return !aligned || request.isWrite() && descriptors.traits().network()
                && ((request.fileOffset() | request.size()) & (descriptors.traits().alignment() - 1)) != 0;
    }
}
