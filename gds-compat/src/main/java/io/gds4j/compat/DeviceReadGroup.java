package io.gds4j.compat;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.spi.BatchRequest;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Small reads into GPU memory, done together: one slab for all, a read for each stretch of the file, a copy for each stretch of
 * memory, and one wait for all copies. The fast way alone: whatever does not go well here is left undone, so that it is done
 * again by itself and has an error of its own.
 *
 * <p>
 * Belongs to a {@link Lane}, used by one thread at a time.
 */
final class DeviceReadGroup {
    /** The result of what was not done here. */
    static final long UNDONE = Long.MIN_VALUE;

    private static final String FUNCTION = "cuFileRead";
    private static final long PAGE = 4096;

    private final PieceIo io;
    private final RequestPlan plan = new RequestPlan();

    DeviceReadGroup(PieceIo io) {
        this.io = io;
    }

    /**
     * Does what can be done together.
     *
     * @param most bytes of the largest slab
     * @return for each entry the bytes it read, or {@link #UNDONE}
     */
    long[] read(CompatSession session, Lane lane, List<BatchRequest> entries, long most) {
        long[] results = new long[entries.size()];
        Arrays.fill(results, UNDONE);
        int from = 0;
        while (from < entries.size()) {
            GpuContext context = context(session, lane, entries.get(from));
            long bytes = room(entries.get(from));
            int to = from + 1;
            while (context != null
                    && to < entries.size()
                    && bytes + room(entries.get(to)) <= most
                    && context.equals(context(session, lane, entries.get(to)))) {
                bytes += room(entries.get(to));
                to++;
            }
            if (context != null && to - from > 1) {
                together(session, lane, context, entries.subList(from, to), bytes, results, from);
            }
            from = to;
        }
        return results;
    }

    /** What an entry takes of a slab: it begins there as it does within a page of the file, as direct I/O wants. */
    private static long room(BatchRequest entry) {
        return RequestPlan.roundUp(GpuRing.skew(entry.fileOffset()) + entry.size(), PAGE);
    }

    /** The context of an entry that may be done here, else null. */
    private static @Nullable GpuContext context(CompatSession session, Lane lane, BatchRequest entry) {
        GpuContextCache contexts = lane.contextCache();
        if (contexts == null || entry.write() || entry.size() < 1 || !entry.memory().kind().isCuda()) {
            return null;
        }
        try {
            RequestArguments.check(
                    FUNCTION,
                    CompatFile.own(session, entry.file(), FUNCTION),
                    entry.memory(),
                    entry.size(),
                    entry.fileOffset(),
                    entry.bufferOffset(),
                    false);
            return contexts.of(entry.memory());
        } catch (CuFileException e) {
            // It fails by itself, and says why.
            return null;
        }
    }

    private void together(
            CompatSession session,
            Lane lane,
            GpuContext context,
            List<BatchRequest> entries,
            long bytes,
            long[] results,
            int offset) {
        GpuRing ring = lane.ring(context);
        Slab slab;
        try {
            slab = ring.beginGroup(bytes);
        } catch (CuFileException e) {
            return;
        }
        boolean well = false;
        try {
            long place = slab.address();
            int from = 0;
            while (from < entries.size()) {
                int to = stretch(entries, from);
                place = read(session, lane, ring, entries.subList(from, to), place, results, offset + from);
                from = to;
            }
            well = true;
        } catch (CuFileException e) {
            // A file that is gone, for instance: its entries meet it again, each by itself.
        } finally {
            well &= ring.endGroup(slab) == Cuda.SUCCESS;
            if (!well) {
                Arrays.fill(results, offset, offset + entries.size(), UNDONE);
            }
        }
    }

    /** End of the entries that follow each other in one file. */
    private static int stretch(List<BatchRequest> entries, int from) {
        int to = from + 1;
        while (to < entries.size()
                && entries.get(to).file() == entries.get(from).file()
                && entries.get(to).fileOffset() == end(entries.get(to - 1))) {
            to++;
        }
        return to;
    }

    private static long end(BatchRequest entry) {
        return entry.fileOffset() + entry.size();
    }

    /** Reads a stretch of a file and begins to copy it; the first free byte of the slab after it. */
    private long read(
            CompatSession session,
            Lane lane,
            GpuRing ring,
            List<BatchRequest> entries,
            long place,
            long[] results,
            int offset) {
        BatchRequest first = entries.getFirst();
        CompatFile file = CompatFile.own(session, first.file(), FUNCTION);
        long start = first.fileOffset();
        long end = end(entries.getLast());
        long host = place + GpuRing.skew(start);
        session.planner().plan(plan, file, first.memory(), end - start, start, first.bufferOffset(), false);
        long read = io.move(file.pair(), plan, start, end, host, lane.outcome(), false);
        boolean failed = lane.outcome().errno() != 0;
        int from = 0;
        while (from < entries.size()) {
            int to = from + 1;
            while (to < entries.size() && isNext(entries.get(to - 1), entries.get(to))) {
                to++;
            }
            copy(
                    ring, session.copiesByProcessor(entries.get(from).memory()), entries.subList(from, to), start, host,
                    read, failed, results, offset + from);
            from = to;
        }
        return RequestPlan.roundUp(host + (end - start), PAGE);
    }

    /** Of one range, since two allocations that happen to be neighbours do not take one copy. */
    private static boolean isNext(BatchRequest entry, BatchRequest next) {
        return next.memory().equals(entry.memory()) && next.bufferOffset() == entry.bufferOffset() + entry.size();
    }

    /** Begins to copy entries that follow each other in file and memory. */
    private static void copy(
            GpuRing ring,
            boolean byProcessor,
            List<BatchRequest> entries,
            long start,
            long host,
            long read,
            boolean failed,
            long[] results,
            int offset) {
        BatchRequest first = entries.getFirst();
        long bytes = 0;
        int done = 0;
        for (BatchRequest entry : entries) {
            long got = Math.clamp(read - (entry.fileOffset() - start), 0, entry.size());
            if (failed && got < entry.size()) {
                break;
            }
            results[offset + done] = got;
            bytes += got;
            done++;
        }
        long from = host + (first.fileOffset() - start);
        long to = first.memory().address() + first.bufferOffset();
        ring.copyByProcessor(byProcessor);
        if (bytes > 0 && ring.copyInGroup(from, to, bytes) != Cuda.SUCCESS) {
            Arrays.fill(results, offset, offset + done, UNDONE);
        }
    }
}
