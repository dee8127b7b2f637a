package io.gds4j.compat;

import io.gds4j.ffi.posix.Posix;
import io.gds4j.memory.MemoryRange;

/** Decides how a request is served: past the page cache or through it, in which pieces, by how many threads. */
final class RequestPlanner {
    /** Of requests below this size each piece is asked for when it is read. */
    private static final long ASKED_WHOLE = 512 << 10;

    private final boolean forceDirect;
    private final DriverLimits limits;
    private final long slabSize;
    private final TransferEngine engine;
    private final Residency residency;

    RequestPlanner(Posix posix, boolean forceDirect, DriverLimits limits, long slabSize, TransferEngine engine) {
        this.forceDirect = forceDirect;
        this.limits = limits;
        this.slabSize = slabSize;
        this.engine = engine;
        this.residency = new Residency(posix);
    }

    /** Bytes of a piece at most. */
    long largestPiece() {
        return Math.min(slabSize, limits.largestPiece());
    }

    /**
     * Plans a request.
     *
     * @return how many threads it may have, its caller included
     */
    int plan(
            RequestPlan plan,
            CompatFile file,
            MemoryRange memory,
            long size,
            long fileOffset,
            long bufferOffset,
            boolean write) {
        FilePair pair = file.pair();
        long largest = largestPiece();
        boolean direct = file.isDirect() && pair.directWorks() && isAligned(pair, memory, fileOffset, bufferOffset);
        long alignment = pair.traits().alignment();
        if (direct && write && pair.traits().network()) {
            // A network file system must not see one page direct and buffered.
            direct = ((fileOffset | size) & (alignment - 1)) == 0;
        }
        boolean asks = direct && !write && !forceDirect;
        boolean cached = pair.traits().inMemory() || write && !direct;
        if (!cached && !write && !(direct && forceDirect) && size > ASKED_WHOLE && pair.tellsResidency()) {
            cached = residency.isWhollyCached(pair, fileOffset, size);
            direct &= !cached;
        }
        int threads = engine.threads(size, largest, cached);
        long pieceSize = engine.pieceSize(size, threads, largest, memory.kind().isCuda());
        if (!direct) {
            plan.buffered(fileOffset, size, pieceSize);
            if (asks) {
                plan.takenFromCache();
            }
            return threads;
        }
        long limit = write ? Long.MAX_VALUE : RequestPlan.roundDown(Math.max(0, pair.size()), alignment);
        plan.direct(fileOffset, size, pieceSize, alignment, limit);
        if (asks) {
            plan.preferCached();
        }
        return threads;
    }

    /** True if a plan prefers the page cache and everything is there. */
    boolean isCached(RequestPlan plan, FilePair pair) {
        return plan.asksResidency()
                && pair.tellsResidency()
                && residency.isWhollyCached(pair, plan.offset(), plan.size());
    }

    /** Host memory of direct requests is aligned as the device asks; a GPU's goes through slabs, which always are. */
    private static boolean isAligned(FilePair pair, MemoryRange memory, long fileOffset, long bufferOffset) {
        long difference = memory.address() + bufferOffset - fileOffset;
        return memory.kind().isCuda() || (difference & (pair.traits().memoryAlignment() - 1)) == 0;
    }
}
