package io.gds4j.compat.batch;

import io.gds4j.compat.transfer.CompatFile;
import io.gds4j.compat.transfer.RequestExecutor;
import io.gds4j.compat.transfer.ThreadContext;
import io.gds4j.compat.transfer.TransferPlan;
import io.gds4j.compat.transfer.TransferPlanner;
import io.gds4j.compat.transfer.TransferRequest;
import io.gds4j.engine.staging.CopyPipeline;
import io.gds4j.engine.staging.GpuContext;
import io.gds4j.engine.staging.GpuContextCache;
import io.gds4j.engine.staging.Slab;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.posix.IoUring;
import io.gds4j.spi.BatchRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Small reads into GPU memory, done together: one slab for all, a read for each stretch of the file, a copy for each stretch of
 * memory, and one wait for all copies. Where io_uring serves, all reads past the page cache are at work at a time. Entries that
 * fail here stay undone: they are retried individually, and each has an error of its own. Used by one thread.
 */
public final class CoalescedDeviceReads {
    private static final String FUNCTION = "cuFileRead";
    private static final long PAGE = 4096;

    private final ThreadContext thread;
    private final RequestExecutor executor;
    private final TransferPlanner planner;
    private final UringTransfers uringTransfers;
    private final TransferRequest request = new TransferRequest();
    private final TransferPlan plan = new TransferPlan();
    private final List<Stretch> queued = new ArrayList<>();

    /**
     * Entries that follow each other in one file.
     *
     * @param host where in the slab their first byte comes
     * @param offset place of the first one's result
     */
    private record Stretch(List<BatchRequest> entries, long host, int offset) {
        long start() {
            return entries.getFirst().fileOffset();
        }

        long size() {
            return CoalescedDeviceReads.end(entries.getLast()) - start();
        }
    }

    public CoalescedDeviceReads(ThreadContext thread, RequestExecutor executor, UringTransfers uringTransfers) {
        this.thread = thread;
        this.executor = executor;
        this.planner = executor.planner();
        this.uringTransfers = uringTransfers;
    }

    /**
     * Does what can be done uring.
     *
     * @param results for each entry {@link EntryRunner#UNDONE}, replaced by the bytes it read
     */
    void read(List<BatchRequest> entries, long[] results) {
        long most = planner.largestPiece();
        int from = 0;
        while (from < entries.size()) {
            GpuContext context = context(entries.get(from));
            long bytes = room(entries.get(from));
            int to = from + 1;
            while (context != null
                    && to < entries.size()
                    && bytes + room(entries.get(to)) <= most
                    && context.equals(context(entries.get(to)))) {
                bytes += room(entries.get(to));
                to++;
            }
            if (context != null && to - from > 1) {
                together(context, entries.subList(from, to), bytes, results, from);
            }
            from = to;
        }
    }

    /** What an entry takes of a slab: it begins there as it does within a page of the file, as direct I/O wants. */
    private static long room(BatchRequest entry) {
        return TransferPlan.roundUp(CopyPipeline.skew(entry.fileOffset()) + entry.size(), PAGE);
    }

    /** The context of an entry that may be done here, else null. */
    private @Nullable GpuContext context(BatchRequest entry) {
        GpuContextCache contexts = thread.contextCache();
        if (contexts == null || entry.write() || entry.size() < 1 || !entry.memory().kind().isCuda()) {
            return null;
        }
        try {
            executor.check(entry, FUNCTION);
            return contexts.of(entry.memory());
        } catch (CuFileException e) {
            // It fails by itself, and says why.
            return null;
        }
    }

    private void together(
            GpuContext context, List<BatchRequest> entries, long bytes, long[] results, int offset) {
        CopyPipeline pipeline = thread.pipeline(context);
        Slab slab;
        try {
            slab = pipeline.beginGroup(bytes);
        } catch (CuFileException e) {
            return;
        }
        IoUring uring = uringTransfers.uring();
        boolean succeeded = false;
        try {
            long place = slab.address();
            int from = 0;
            while (from < entries.size()) {
                int to = end(entries, from);
                List<BatchRequest> some = entries.subList(from, to);
                Stretch stretch =
                        new Stretch(some, place + CopyPipeline.skew(some.getFirst().fileOffset()), offset + from);
                if (uring == null || !queue(uring, stretch)) {
                    read(pipeline, stretch, results);
                } else if (queued.size() == uring.capacity()) {
                    run(uring, pipeline, results);
                }
                place = TransferPlan.roundUp(stretch.host() + stretch.size(), PAGE);
                from = to;
            }
            succeeded = true;
        } catch (CuFileException e) {
            // A file that was closed, for instance: each entry meets that again by itself.
        } finally {
            if (uring != null) {
                run(uring, pipeline, results);
            }
            succeeded &= pipeline.endGroup(slab) == Cuda.SUCCESS;
            if (!succeeded) {
                Arrays.fill(results, offset, offset + entries.size(), EntryRunner.UNDONE);
            }
        }
    }

    /** Reads through io_uring what goes past the page cache as a whole; false for what does not. */
    private boolean queue(IoUring uring, Stretch stretch) {
        BatchRequest first = stretch.entries().getFirst();
        CompatFile file = executor.check(first, FUNCTION);
        long size = stretch.size();
        plan(file, stretch);
        boolean past = plan.directFrom() == plan.offset() && plan.directTo() == plan.end();
        if (!uring.works() || !past || planner.isCached(plan, file.descriptors())) {
            return false;
        }
        uring.read(
                file.descriptors().directDescriptor(), stretch.host(), Math.toIntExact(size), stretch.start(), queued.size());
        queued.add(stretch);
        return true;
    }

    /** Waits for what is queued, and begins to copy each stretch that came whole; the others stay undone. */
    private void run(IoUring uring, CopyPipeline pipeline, long[] results) {
        if (queued.isEmpty()) {
            return;
        }
        uring.run((index, bytes) -> {
            Stretch stretch = queued.get((int) index);
            if (bytes == stretch.size()) {
                uringTransfers.count(bytes);
                copy(pipeline, stretch, bytes, false, results);
            }
        });
        queued.clear();
    }

    /** End of the entries that follow each other in one file. */
    private static int end(List<BatchRequest> entries, int from) {
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

    private void plan(CompatFile file, Stretch stretch) {
        BatchRequest first = stretch.entries().getFirst();
        request.set(file, first.memory(), false, stretch.size(), stretch.start(), first.bufferOffset());
        planner.plan(plan, request);
        request.clear();
    }

    /** Reads a stretch and begins to copy it. */
    private void read(CopyPipeline pipeline, Stretch stretch, long[] results) {
        BatchRequest first = stretch.entries().getFirst();
        CompatFile file = executor.check(first, FUNCTION);
        long start = stretch.start();
        long size = stretch.size();
        plan(file, stretch);
        long read = thread.io().move(file.descriptors(), plan, start, start + size, stretch.host());
        copy(pipeline, stretch, read, thread.io().errno() != 0, results);
    }

    /** Begins to copy what came of a stretch, by one copy for each stretch of memory. */
    private void copy(CopyPipeline pipeline, Stretch stretch, long read, boolean failed, long[] results) {
        List<BatchRequest> entries = stretch.entries();
        int from = 0;
        while (from < entries.size()) {
            int to = from + 1;
            while (to < entries.size() && isNext(entries.get(to - 1), entries.get(to))) {
                to++;
            }
            pipeline.copyByProcessor(executor.copiesByProcessor(entries.get(from).memory()));
            copy(pipeline, entries.subList(from, to), stretch, read, failed, results, stretch.offset() + from);
            from = to;
        }
    }

    /** Of one range, since two allocations that happen to be neighbours do not take one copy. */
    private static boolean isNext(BatchRequest entry, BatchRequest next) {
        return next.memory().equals(entry.memory()) && next.bufferOffset() == entry.bufferOffset() + entry.size();
    }

    /** Begins to copy entries that follow each other in file and memory. */
    private static void copy(
            CopyPipeline pipeline,
            List<BatchRequest> entries,
            Stretch stretch,
            long read,
            boolean failed,
            long[] results,
            int offset) {
        BatchRequest first = entries.getFirst();
        long bytes = 0;
        int done = 0;
        for (BatchRequest entry : entries) {
            long got = Math.clamp(read - (entry.fileOffset() - stretch.start()), 0, entry.size());
            if (failed && got < entry.size()) {
                break;
            }
            results[offset + done] = got;
            bytes += got;
            done++;
        }
        long from = stretch.host() + (first.fileOffset() - stretch.start());
        long to = first.memory().address() + first.bufferOffset();
        if (bytes > 0 && pipeline.copyInGroup(from, to, bytes) != Cuda.SUCCESS) {
            Arrays.fill(results, offset, offset + done, EntryRunner.UNDONE);
        }
    }
}
