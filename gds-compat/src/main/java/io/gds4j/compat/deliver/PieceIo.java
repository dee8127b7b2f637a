package io.gds4j.compat.deliver;

import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.FileDescriptors;
import io.gds4j.compat.file.PageCache;
import io.gds4j.compat.file.SourceIo;
import io.gds4j.compat.plan.TransferPlan;
import io.gds4j.compat.plan.TransferPlan.CacheTrace;
import io.gds4j.compat.plan.TransferPlan.CacheUse;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.Errno;
import io.gds4j.ffi.NativeSegments;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.internal.trace.FlightEvents;
import io.gds4j.internal.trace.FlightEvents.PieceRead;
import io.gds4j.source.Cancellation;
import io.gds4j.spi.Operation;
import io.gds4j.spi.ResultSink;
import io.gds4j.statistics.IoPath;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Moves a piece of a request between a file and host memory: the direct part through the direct descriptor, the rest through the
 * buffered one, or all of it by a source. Repeats until all bytes are moved, the file ends or the kernel refuses. Used by one
 * thread at a time.
 */
public final class PieceIo {
    /** Never started. A segment that it may not access is confined to a thread, but a source may use others. */
    private static final Thread ANOTHER = Thread.ofPlatform().unstarted(() -> {
    });

    private final Posix posix;
    private final PathCounters counters;
    private final PageCache pageCache;
    private int errno;

    PieceIo(Posix posix, PathCounters counters) {
        this.posix = posix;
        this.counters = counters;
        this.pageCache = new PageCache(posix);
    }

    /** Returns why the last piece moved less than asked; 0 at the end of the file. */
    public int errno() {
        return errno;
    }

    /**
     * Moves {@code [start, end)} between the file and a slab.
     *
     * @param cancellation tells a source when the piece is no longer needed
     */
    public long move(
            CompatFile file, TransferPlan plan, long start, long end, long address, Cancellation cancellation) {
        return move(file, plan, start, end, address, null, 0, cancellation);
    }

    /**
     * Moves {@code [start, end)} of the file.
     *
     * @param address address of {@code start} in host memory
     * @param segment the segment to use in place of the address, or null
     * @param segmentOffset offset of {@code start} in the segment
     * @param cancellation tells a source when the piece is no longer needed
     * @return bytes moved; fewer at the end of the file, or because of {@link #errno}
     */
    public long move(
            CompatFile file,
            TransferPlan plan,
            long start,
            long end,
            long address,
            @Nullable MemorySegment segment,
            long segmentOffset,
            Cancellation cancellation) {
        errno = 0;
        PieceRead event = FlightEvents.pieceRead();
        SourceIo source = file.source();
        long moved = source == null
                ? move(file.descriptors(), plan, start, end, address, segment, segmentOffset)
                : move(source, plan, start, end, address, segment, segmentOffset, cancellation);
        if (event != null) {
            event.record(file.path(), plan.isWrite() ? Operation.WRITE : Operation.READ, start, moved);
        }
        return moved;
    }

    private long move(
            SourceIo source,
            TransferPlan plan,
            long start,
            long end,
            long address,
            @Nullable MemorySegment segment,
            long segmentOffset,
            Cancellation cancellation) {
        if (segment != null && segment.isAccessibleBy(ANOTHER)) {
            return move(source, plan, start, segment.asSlice(segmentOffset, end - start), cancellation);
        }
        // The arena keeps a source from using the memory after its call, when it serves another request or is freed.
        try (Arena lifetime = Arena.ofShared()) {
            return move(source, plan, start, NativeSegments.of(address, end - start, lifetime), cancellation);
        }
    }

    private long move(
            SourceIo source, TransferPlan plan, long start, MemorySegment memory, Cancellation cancellation) {
        long done = 0;
        while (done < memory.byteSize()) {
            MemorySegment rest = done == 0 ? memory : memory.asSlice(done);
            long moved = plan.isWrite()
                    ? source.write(start + done, rest, cancellation)
                    : source.read(start + done, rest, cancellation);
            if (moved == 0) {
                break;
            }
            count(plan, IoPath.USER_SOURCE, start + done, moved);
            done += moved;
        }
        return done;
    }

    private long move(
            FileDescriptors descriptors,
            TransferPlan plan,
            long start,
            long end,
            long address,
            @Nullable MemorySegment segment,
            long segmentOffset) {
        boolean write = plan.isWrite();
        boolean asks = plan.cacheUse() == CacheUse.ASKED;
        boolean tryDirect = plan.hasDirect();
        long position = start;
        while (position < end) {
            boolean direct = tryDirect && plan.isDirect(position) && descriptors.directWorks();
            boolean hot = plan.cacheUse() == CacheUse.HIT;
            long count = tryDirect ? Math.min(end, plan.runEnd(position)) - position : end - position;
            if (direct && asks && descriptors.canQueryPageCache()) {
                long run = pageCache.run(descriptors, position, count);
                if (run == 0) {
                    descriptors.disablePageCacheQueries();
                } else {
                    hot = run > 0;
                    direct = !hot;
                    count = Math.abs(run);
                }
            }
            count = Math.min(count, PosixConstants.MAX_RW_COUNT);
            long at = position - start;
            if (direct && asks && segment == null && descriptors.triesCache(position)) {
                long found = withoutWaiting(descriptors, plan, address + at, count, position);
                position += found;
                tryDirect = (position & (descriptors.traits().alignment() - 1)) == 0;
                if (found > 0) {
                    continue;
                }
            }
            int fd = direct ? descriptors.directDescriptor() : descriptors.bufferedDescriptor();
            if (!direct && plan.cacheUse() == CacheUse.READ_AHEAD) {
                count = pageCache.fetch(descriptors, position, count, plan.size());
            }
            long moved;
            if (!direct && !hot && plan.cacheTrace() != CacheTrace.KEPT) {
                moved = passing(descriptors, address + at, segment, segmentOffset + at, count, position);
            } else if (segment == null) {
                moved = write
                        ? posix.pwrite(fd, address + at, count, position)
                        : posix.pread(fd, address + at, count, position);
            } else {
                moved = write
                        ? posix.pwrite(fd, segment, segmentOffset + at, count, position)
                        : posix.pread(fd, segment, segmentOffset + at, count, position);
            }
            if (moved > 0) {
                count(plan, path(descriptors, direct, hot), position, moved);
                position += moved;
                // After a short direct request the rest is no longer aligned.
                tryDirect &= moved == count;
            } else if (moved == 0) {
                errno = write ? Errno.EIO : 0;
                break;
            } else if (moved == -Errno.EINVAL && direct) {
                descriptors.refuseDirect();
                counters.retry();
            } else if (moved == -Errno.EIO && direct && !write && !descriptors.traits().network()) {
                // Linux answers so where a program has just written a hole through a mapping. A disk that fails does it again.
                tryDirect = false;
                counters.retry();
            } else if (moved != -Errno.EINTR) {
                errno = (int) -moved;
                break;
            } else {
                counters.retry();
            }
        }
        return position - start;
    }

    /** Reads what is in the page cache from {@code position} on, and returns the number of bytes. */
    private long withoutWaiting(
            FileDescriptors descriptors, TransferPlan plan, long address, long count, long position) {
        long found =
                posix.preadv2(descriptors.bufferedDescriptor(), address, count, position, PosixConstants.RWF_NOWAIT);
        if (found > 0) {
            count(plan, IoPath.COMPAT_CACHED, position, found);
            return found;
        }
        descriptors.missed(position, found);
        return 0;
    }

    /** Reads through the page cache. Where the kernel can, it keeps nothing of that in the page cache. */
    private long passing(
            FileDescriptors descriptors, long address, @Nullable MemorySegment segment, long segmentOffset, long count,
            long position) {
        int fd = descriptors.bufferedDescriptor();
        if (segment == null && descriptors.dropsBehind()) {
            long moved = posix.preadv2(fd, address, count, position, PosixConstants.RWF_DONTCACHE);
            if (moved != -Errno.EOPNOTSUPP && moved != -Errno.EINVAL && moved != -Errno.ENOSYS) {
                return moved;
            }
            descriptors.refuseDropBehind();
        }
        return segment == null
                ? posix.pread(fd, address, count, position)
                : posix.pread(fd, segment, segmentOffset, count, position);
    }

    private void count(TransferPlan plan, IoPath path, long position, long moved) {
        counters.add(path, moved);
        if (plan.isWrite()) {
            counters.written().add(moved);
        }
        ResultSink sink = plan.sink();
        if (sink != ResultSink.NONE) {
            sink.moved(path, position, moved);
        }
    }

    private static IoPath path(FileDescriptors descriptors, boolean direct, boolean hot) {
        if (direct) {
            return IoPath.COMPAT_DIRECT;
        }
        return hot ? IoPath.COMPAT_CACHED : descriptors.bufferedPath();
    }
}
