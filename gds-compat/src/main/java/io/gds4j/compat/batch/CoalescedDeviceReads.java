package io.gds4j.compat.batch;

import io.gds4j.compat.deliver.ThreadContext;
import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.plan.TransferPlan;
import io.gds4j.compat.plan.TransferPlanner;
import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.compat.transfer.RequestExecutor;
import io.gds4j.engine.staging.CopySlots;
import io.gds4j.engine.staging.CopySlots.CopyBy;
import io.gds4j.engine.staging.OneContext;
import io.gds4j.engine.staging.PieceFailures;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.posix.IoUring;
import io.gds4j.internal.file.Pages;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.source.Cancellation;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.spi.ResultSink;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Groups reads into GPU memory: one slab for all, a read for each stretch of the file, a copy for each stretch of memory, and one wait
 * for all copies. While a group is copied, the next one is read. With io_uring, all direct reads of a group are in flight at the same
 * time. Entries that fail in a group stay undone: they are retried individually, so that each gets its own error. Used by one thread.
 */
final class CoalescedDeviceReads implements PieceFailures {
    private static final String FUNCTION = "cuFileRead";

    /** Numbers of pieces: one who copies waits at once for the copies of a single one. */
    private static final long ONE = 1;
    private static final long MANY = Long.MAX_VALUE;

    private final ThreadContext thread;
    private final RequestExecutor executor;
    private final TransferPlanner planner;
    private final UringTransfers uringTransfers;
    private final TransferRequest request = new TransferRequest();
    private final TransferPlan plan = new TransferPlan();
    private final List<Stretch> queued = new ArrayList<>();

    /** Groups whose copies may go on, in their order. */
    private final Deque<Group> open = new ArrayDeque<>();

    /** What copies for the open groups, and the bytes of its slabs. */
    private @Nullable OneContext copies;
    private long slabBytes;
    private long pieces = MANY;

    private long begun;

    /** What groups are read for, within {@link #begin}. */
    private @Nullable Submission submission;

    private final NextCopy copy = new NextCopy();

    /** Entries {@code [from, to)} of a claim, which share a slab. */
    private record Group(long number, long[] results, int from, int to) {
        void undo() {
            Arrays.fill(results, from, to, EntryRunner.BEGUN);
        }
    }

    /** A copy that has not begun, because the next entries may follow it in slab and memory. */
    private final class NextCopy {
        private @Nullable MemoryRange memory;
        private long from;
        private long to;
        private long bytes;
        private long[] results = {};
        private int first;
        private int last;

        /** Adds what was read of an entry. One copy must not cross two allocations. */
        void add(OneContext into, BatchRequest entry, long host, long read, long[] ofResults, int index) {
            long device = entry.memory().address() + entry.bufferOffset();
            boolean follows = bytes > 0
                    && host == from + bytes
                    && device == to + bytes
                    && entry.memory().equals(memory);
            if (!follows) {
                start(into);
                memory = entry.memory();
                from = host;
                to = device;
                results = ofResults;
                first = index;
            }
            last = index;
            bytes += read;
        }

        void start(OneContext into) {
            MemoryRange target = memory;
            if (bytes > 0 && target != null) {
                if (into.copyPart(from, to, bytes, by(target)) != Cuda.SUCCESS) {
                    Arrays.fill(results, first, last + 1, EntryRunner.BEGUN);
                }
            }
            bytes = 0;
            memory = null;
        }

        private CopyBy by(MemoryRange target) {
            if (executor.copiesByProcessor(target)) {
                return CopyBy.PROCESSOR;
            }
            return target.kind() == MemoryKind.CUDA_MANAGED ? CopyBy.ENGINE : CopyBy.KERNEL;
        }
    }

    /**
     * Entries that are adjacent in one file.
     *
     * @param host address in the slab of their first byte
     * @param offset index of the first entry's result
     */
    private record Stretch(List<BatchRequest> entries, long host, int offset) {
        long start() {
            return entries.getFirst().fileOffset();
        }

        long size() {
            return CoalescedDeviceReads.end(entries.getLast()) - start();
        }
    }

    CoalescedDeviceReads(ThreadContext thread, RequestExecutor executor, UringTransfers uringTransfers) {
        this.thread = thread;
        this.executor = executor;
        this.planner = executor.planner();
        this.uringTransfers = uringTransfers;
    }

    /**
     * Reads the entries that can be grouped, and begins to copy them. Waits for the copies of earlier groups if it needs their slabs.
     *
     * If the submission is grouped, more groups follow, which are read while this one is copied; else this waits for the copies.
     *
     * @param claim its results are replaced by the bytes that each entry read, which count once the group is {@link #complete}
     */
    void begin(Claim claim) {
        List<BatchRequest> entries = claim.entries();
        boolean overlaps = claim.submission().kind() == Submission.Kind.GROUPED;
        submission = claim.submission();
        pieces = overlaps ? MANY : ONE;
        long most = planner.largestPiece();
        int from = 0;
        while (from < entries.size()) {
            PreparedGpu gpu = gpu(entries.get(from));
            long bytes = room(entries.get(from));
            int to = from + 1;
            while (gpu != null
                    && to < entries.size()
                    && bytes + room(entries.get(to)) <= most
                    && gpu == gpu(entries.get(to))) {
                bytes += room(entries.get(to));
                to++;
            }
            if (gpu != null && bytes <= most && (overlaps || to - from > 1)) {
                read(gpu, entries.subList(from, to), bytes, claim, from);
            }
            from = to;
        }
        submission = null;
    }

    /** Returns the number of groups that have begun. */
    long begun() {
        return begun;
    }

    /** Returns how many groups are complete, counted from the first. */
    long complete() {
        return open.isEmpty() ? begun : open.getFirst().number();
    }

    /** Waits for all copies, and gives the slabs back. */
    void settle() {
        if (copies != null) {
            copies = null;
            thread.slots().leave();
            open.clear();
        }
    }

    /** Returns whether the batch was cancelled. */
    @Override
    public boolean isOver() {
        Submission entered = submission;
        return entered != null && entered.isCancelled();
    }

    /** Called if the copies of a group failed. */
    @Override
    public void failed(long piece, RuntimeException cause) {
        for (Group group : open) {
            if (group.number() == piece) {
                group.undo();
            }
        }
    }

    /**
     * Returns what copies to a context, or null if the batch was cancelled while it waited. Its slabs have at least {@code bytes},
     * and new ones {@code wanted}.
     */
    private @Nullable OneContext copies(PreparedGpu gpu, long bytes, long wanted) {
        OneContext entered = copies;
        if (entered == null || entered.gpu() != gpu || bytes > slabBytes) {
            settle();
            entered = thread.one();
            slabBytes = Math.max(bytes, Math.min(wanted, planner.largestPiece()));
            copies = entered.enter(this, gpu, slabBytes, pieces, CopyBy.KERNEL) ? entered : null;
            return copies;
        }
        return entered;
    }

    /** Returns the bytes that an entry needs in a slab. It has the same offset in a page as in the file, as direct I/O requires. */
    private static long room(BatchRequest entry) {
        return Pages.up(CopySlots.skew(entry.fileOffset()) + entry.size());
    }

    /** Returns the context of an entry that can be grouped; null for others. */
    private @Nullable PreparedGpu gpu(BatchRequest entry) {
        if (entry.write() || entry.size() < 1 || !entry.memory().kind().isCuda()) {
            return null;
        }
        try {
            executor.check(entry, FUNCTION);
            return executor.gpuOf(entry.memory(), FUNCTION);
        } catch (CuFileException e) {
            // The entry fails again on its own, and gets its error.
            return null;
        }
    }

    private void read(PreparedGpu gpu, List<BatchRequest> entries, long bytes, Claim claim, int offset) {
        long[] results = claim.results();
        OneContext into;
        CopySlots.Slot slot;
        try {
            into = copies(gpu, bytes, claim.slabBytes());
            if (into == null) {
                return;
            }
            slot = thread.slots().next(slabBytes);
        } catch (CuFileException e) {
            return;
        }
        while (!open.isEmpty() && open.getFirst().number() <= thread.slots().passed()) {
            open.removeFirst();
        }
        Group group = new Group(begun++, results, offset, offset + entries.size());
        open.add(group);
        IoUring uring = uringTransfers.uring();
        boolean succeeded = false;
        try {
            long place = slot.address();
            int from = 0;
            while (from < entries.size()) {
                int to = end(entries, from);
                List<BatchRequest> some = entries.subList(from, to);
                Stretch stretch =
                        new Stretch(some, place + CopySlots.skew(some.getFirst().fileOffset()), offset + from);
                if (uring == null || !queue(uring, stretch)) {
                    read(into, stretch, results);
                } else if (queued.size() == uring.capacity()) {
                    run(uring, into, results);
                }
                place = Pages.up(stretch.host() + stretch.size());
                from = to;
            }
            succeeded = true;
        } catch (CuFileException e) {
            // For example, a file was closed: each entry fails again on its own.
        } finally {
            if (uring != null) {
                run(uring, into, results);
            }
            copy.start(into);
            if (!succeeded) {
                group.undo();
            }
            into.endOfParts(slot, bytes, group.number());
        }
    }

    /** Queues a stretch for io_uring if all of it goes direct; returns false if not. */
    private boolean queue(IoUring uring, Stretch stretch) {
        BatchRequest first = stretch.entries().getFirst();
        CompatFile file = executor.check(first, FUNCTION);
        long size = stretch.size();
        plan(file, stretch);
        boolean direct = plan.directFrom() == plan.offset() && plan.directTo() == plan.end();
        if (!uring.works() || !direct || planner.isCached(plan, file.descriptors())) {
            return false;
        }
        uring.read(
                file.descriptors().directDescriptor(), stretch.host(), Math.toIntExact(size), stretch.start(),
                queued.size());
        queued.add(stretch);
        return true;
    }

    /** Waits for the queued reads, and starts to copy each stretch that was read whole. The others stay undone. */
    private void run(IoUring uring, OneContext into, long[] results) {
        if (queued.isEmpty()) {
            return;
        }
        uring.run((index, bytes) -> {
            Stretch stretch = queued.get((int) index);
            if (bytes == stretch.size()) {
                uringTransfers.count(sink(stretch), stretch.start(), bytes);
                copy(into, stretch, bytes, false, results);
            }
        });
        queued.clear();
    }

    /** Returns the end of the entries that are adjacent in one file. */
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
        request.set(file, first.memory(), Operation.READ, stretch.size(), stretch.start(), first.bufferOffset());
        planner.plan(plan, request);
        request.clear();
    }

    /** Reads a stretch and starts to copy it. */
    private void read(OneContext into, Stretch stretch, long[] results) {
        BatchRequest first = stretch.entries().getFirst();
        CompatFile file = executor.check(first, FUNCTION);
        long start = stretch.start();
        long size = stretch.size();
        plan(file, stretch);
        plan.reportTo(sink(stretch));
        long read = thread.io().move(file, plan, start, start + size, stretch.host(), Cancellation.NEVER);
        plan.reportTo(ResultSink.NONE);
        copy(into, stretch, read, thread.io().errno() != 0, results);
    }

    private ResultSink sink(Stretch stretch) {
        Submission entered = submission;
        return entered == null ? ResultSink.NONE : entered.sinkOf(stretch.entries());
    }

    /** Starts to copy what was read of a stretch, with one copy for each stretch of memory. */
    private void copy(OneContext into, Stretch stretch, long read, boolean failed, long[] results) {
        List<BatchRequest> entries = stretch.entries();
        for (int i = 0; i < entries.size(); i++) {
            BatchRequest entry = entries.get(i);
            long at = entry.fileOffset() - stretch.start();
            long got = Math.clamp(read - at, 0, entry.size());
            if (failed && got < entry.size()) {
                break;
            }
            results[stretch.offset() + i] = got;
            if (got > 0) {
                copy.add(into, entry, stretch.host() + at, got, results, stretch.offset() + i);
            }
        }
    }
}
