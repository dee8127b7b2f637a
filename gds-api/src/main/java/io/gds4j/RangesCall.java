package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.spi.ResultSink;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One call of {@link CuFileDriver#readRanges(List, IoResults)}, or of {@link CuFileDriver#readRangesAsync}: merges ranges that are neighbours
 * in their file, and reads them on this thread and others of the session, or on others only.
 */
final class RangesCall {
    private static final String FUNCTION = "cuFileRead";

    /** Most threads beside the caller. The backend has threads of its own for large requests. */
    private static final int HELPERS = 15;

    /** Largest number of bytes of merged ranges: a larger request only keeps the next one waiting. */
    private static final long MAX_BYTES = 16L << 20;

    /** Largest number of fragments of merged ranges: one kernel copies as many. */
    private static final int MAX_FRAGMENTS = 512;

    private final SessionUse use;
    private final Session session;
    private final List<RangeRead> ranges;
    private final IoResults results;
    private final List<RequestCheck> checks = new ArrayList<>();
    private final List<Group> groups = new ArrayList<>();
    private final AtomicInteger next = new AtomicInteger();
    private volatile boolean stopped;

    /** Number of the first range that an interrupt ended. */
    private final AtomicInteger interrupted = new AtomicInteger(Integer.MAX_VALUE);

    /** Files that gave no answer, and their failures. Each further read would wait as long. */
    private final Map<CuFileHandle, CuFileException> dead = new ConcurrentHashMap<>();

    /** What a backend threw that is no failure of a request. */
    private volatile @Nullable Throwable defect;

    RangesCall(SessionUse use, List<RangeRead> ranges, IoResults results) {
        this.use = use;
        this.session = use.session();
        this.ranges = List.copyOf(ranges);
        this.results = results;
    }

    /** Reads all ranges, or throws the first failure once no range is read any more. */
    void run() {
        results.begin(ranges);
        try {
            checkAndRead();
            throwFailure();
        } finally {
            results.over();
        }
    }

    /** Starts to read all ranges on threads of the driver, and returns a future of each. */
    List<CompletableFuture<Long>> start() {
        results.begin(ranges);
        checkAndGroup();
        // All is allocated before the call holds anything: the heap may be exhausted.
        AsyncCalls threads = session.asyncCalls();
        List<AsyncCalls.Call> calls = new ArrayList<>();
        List<CompletableFuture<Long>> futures = new ArrayList<>();
        ranges.forEach(_ -> futures.add(CompletableFuture.completedFuture(0L)));
        for (Group group : groups) {
            AsyncCalls.Call call = threads.call(group::letGo, group::readAlone);
            calls.add(call);
            group.members.forEach(member -> futures.set(
                    member, call.handle((_, failure) -> moved(member, failure))));
        }
        holdAll();
        for (int i = 0; i < calls.size(); i++) {
            try {
                threads.start(calls.get(i), FUNCTION);
            } catch (RuntimeException | Error e) {
                groups.get(i).letGo();
                calls.get(i).completeExceptionally(e);
            }
        }
        return Collections.unmodifiableList(futures);
    }

    private long moved(int range, @Nullable Throwable failure) {
        IoResult result = results.get(range);
        Throwable thrown = failure != null ? failure : result.error().orElse(null);
        if (thrown != null) {
            throw new CompletionException(thrown);
        }
        return result.moved();
    }

    /** Holds files and fragments of all ranges, which each group lets go. */
    private void holdAll() {
        int held = 0;
        try {
            for (; held < ranges.size(); held++) {
                ranges.get(held).handle().hold(checks.get(held), ranges.get(held).fragments());
            }
        } finally {
            for (int i = 0; i < held; i++) {
                if (held < ranges.size() || ranges.get(i).size() == 0) {
                    ranges.get(i).handle().letGo(ranges.get(i).fragments());
                }
            }
        }
    }

    private void checkAndGroup() {
        use.checkOpen(FUNCTION);
        for (int i = 0; i < ranges.size(); i++) {
            checks.add(ranges.get(i).check(session, i));
        }
        RangeTargets.checkDisjoint(ranges, checks);
        group();
    }

    private void checkAndRead() {
        try {
            checkAndGroup();
            enterAndRead(ThreadState.current());
        } catch (RuntimeException | Error e) {
            // A report without an error would tell of the end of a file.
            for (int i = 0; i < ranges.size(); i++) {
                failRange(i, e);
            }
            throw e;
        }
    }

    /** Tells a range, unless it has been read or has failed, of what ends the call. */
    private void failRange(int range, Throwable thrown) {
        IoResult result = results.get(range);
        if (!result.hasFailed() && (thrown instanceof CuFileException || !result.isComplete())) {
            result.fail(ranges.get(range).request(), thrown);
        }
    }

    /** Enters all ranges, and reads them. */
    private void enterAndRead(ThreadState here) {
        int[] entered = new int[ranges.size()];
        int last = 0;
        try {
            for (; last < ranges.size(); last++) {
                enter(last, here, entered);
            }
            readAll();
        } finally {
            // A thread leaves what it entered in the opposite order.
            for (int i = Math.min(last, ranges.size() - 1); i >= 0; i--) {
                exit(i, here, entered[i]);
            }
            Reference.reachabilityFence(ranges);
        }
    }

    /** Enters handle and fragments of a range, and counts them. */
    private void enter(int range, ThreadState here, int[] entered) {
        CuFileHandle handle = ranges.get(range).handle();
        handle.enter(checks.get(range), here);
        entered[range]++;
        handle.checkRights(checks.get(range));
        for (IoMemory fragment : ranges.get(range).fragments()) {
            handle.enterMemory(checks.get(range), fragment, here);
            entered[range]++;
        }
    }

    private void exit(int range, ThreadState here, int entered) {
        for (int i = entered - 2; i >= 0; i--) {
            MemoryUse.exit(ranges.get(range).fragments().get(i), here);
        }
        if (entered > 0) {
            ranges.get(range).handle().exit(here);
        }
    }

    /** Makes groups of ranges that touch each other in one file. */
    private void group() {
        Map<CuFileHandle, Integer> files = new IdentityHashMap<>();
        ranges.forEach(range -> files.putIfAbsent(range.handle(), files.size()));
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < ranges.size(); i++) {
            if (ranges.get(i).size() > 0) {
                order.add(i);
            }
        }
        order.sort(Comparator.<Integer>comparingInt(i -> files.get(ranges.get(i).handle()))
                .thenComparingLong(i -> ranges.get(i).fileOffset()));
        for (int i : order) {
            if (groups.isEmpty() || !groups.getLast().add(i)) {
                groups.add(new Group(i));
            }
        }
    }

    private void readAll() {
        AsyncCalls calls = session.asyncCalls();
        List<AsyncCalls.Call> helpers = new ArrayList<>();
        try {
            for (int i = 1; i < Math.min(groups.size(), HELPERS + 1) && next.get() < groups.size(); i++) {
                AsyncCalls.Call helper = calls.call(() -> {
                }, this::drain);
                if (!started(calls, helper)) {
                    break;
                }
                helpers.add(helper);
            }
            drain();
        } finally {
            helpers.forEach(calls::withdraw);
            awaitAll(helpers);
        }
        for (int i = next.get(); stopped && i < groups.size(); i++) {
            groups.get(i).skip();
        }
    }

    /** Returns false if the driver is being closed. It waits for this call, whose thread reads all ranges then. */
    private static boolean started(AsyncCalls calls, AsyncCalls.Call helper) {
        try {
            calls.start(helper, FUNCTION);
            return true;
        } catch (CuFileException e) {
            return false;
        }
    }

    /** Waits for the other threads. An interrupt ends their requests. */
    private void awaitAll(List<AsyncCalls.Call> helpers) {
        boolean interrupted = false;
        for (int i = 0; i < helpers.size();) {
            if (stopped) {
                helpers.forEach(helper -> helper.cancel(true));
            }
            try {
                helpers.get(i).await();
                i++;
            } catch (InterruptedException e) {
                interrupted = true;
                stopped = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private long drain() {
        int group = 0;
        while (!stopped && (group = next.getAndIncrement()) < groups.size()) {
            try {
                groups.get(group).read();
            } catch (Throwable e) {
                defect = e;
                stopped = true;
                groups.get(group).members.forEach(member -> failRange(member, e));
            }
        }
        return group;
    }

    private void throwFailure() {
        Throwable known = defect;
        if (known instanceof Error error) {
            throw error;
        }
        if (known != null) {
            throw known instanceof RuntimeException exception ? exception : new IllegalStateException(known);
        }
        if (interrupted.get() < results.size()) {
            throw results.get(interrupted.get()).error().orElseThrow();
        }
        for (IoResult result : results) {
            if (result.hasFailed()) {
                throw result.error().orElseThrow();
            }
        }
    }

    /** Returns whether a file gave no answer, so that other ranges of it would wait in vain. */
    private static boolean isUnanswered(CuFileException e) {
        for (Throwable each = e; each != null; each = each.getCause()) {
            if (each instanceof SocketException || each instanceof SocketTimeoutException
                    || each instanceof UnknownHostException) {
                return true;
            }
        }
        return e.errno().orElse(0) == Errno.ETIMEDOUT;
    }

    /** Ranges that one request reads. */
    private final class Group {
        private final List<Integer> members = new ArrayList<>();
        private final long start;
        private long end;
        private int fragments;

        Group(int range) {
            start = ranges.get(range).fileOffset();
            take(range);
        }

        private void take(int range) {
            members.add(range);
            end = Math.max(end, ranges.get(range).fileOffset() + ranges.get(range).size());
            fragments += ranges.get(range).fragments().size();
        }

        private CuFileHandle handle() {
            return ranges.get(members.getFirst()).handle();
        }

        /** Takes a range if it is in the same file and touches this group. */
        boolean add(int range) {
            RangeRead candidate = ranges.get(range);
            boolean fits = candidate.handle() == handle()
                    && candidate.heap() == null
                    && ranges.get(members.getFirst()).heap() == null
                    && candidate.fileOffset() <= end
                    && Math.max(end, candidate.fileOffset() + candidate.size()) - start <= MAX_BYTES
                    && fragments + candidate.fragments().size() <= MAX_FRAGMENTS;
            if (fits) {
                take(range);
            }
            return fits;
        }

        long readAlone() {
            read();
            return end - start;
        }

        void letGo() {
            members.forEach(member -> ranges.get(member).handle().letGo(ranges.get(member).fragments()));
        }

        void read() {
            CuFileException unanswered = dead.get(handle());
            if (unanswered != null) {
                fail(0, unanswered, false);
                return;
            }
            try {
                MemorySegment heap = ranges.get(members.getFirst()).heap();
                end(heap == null
                        ? RequestCall.move(handle(), request().reportTo(sink()))
                        : HeapCopies.borrowedPieces(handle(), Operation.READ, heap, start, sink()));
            } catch (CuFileException e) {
                if (isUnanswered(e)) {
                    dead.putIfAbsent(handle(), e);
                }
                if (e instanceof CuFileInterruptedException) {
                    stopped = true; // no |=, which could undo what another thread has set since
                }
                if (members.size() > 1 && !stopped && !dead.containsKey(handle())) {
                    readOneByOne();
                } else {
                    fail(e.bytesTransferred(), e, members.size() == 1);
                }
            }
        }

        /** Reads each range on its own, so that each has its own count and error. */
        private void readOneByOne() {
            for (int member : members) {
                results.get(member).clear(ranges.get(member).size());
            }
            for (int i = 0; i < members.size(); i++) {
                Group alone = new Group(members.get(i));
                if (stopped) {
                    alone.skip();
                } else {
                    alone.read();
                }
            }
        }

        private BatchRequest request() {
            RangeRead only = ranges.get(members.getFirst());
            if (fragments == 1) {
                IoMemory memory = only.fragments().getFirst();
                return new BatchRequest(
                        handle().file(), Operation.READ, MemoryUse.base(memory), only.size(), start,
                        MemoryUse.start(memory) + only.bufferOffset(), 0);
            }
            List<ScatterCopy> copies = new ArrayList<>(fragments);
            for (int member : members) {
                RangeRead range = ranges.get(member);
                long at = range.fileOffset() - start;
                for (int i = 0; i < range.fragments().size(); i++) {
                    IoMemory memory = range.fragments().get(i);
                    MemoryRange base = MemoryUse.base(memory);
                    if (range.taken(i) > 0) {
                        copies.add(new ScatterCopy(
                                at, range.taken(i), base, MemoryUse.start(memory) + range.bufferOffset()));
                    }
                    at += range.taken(i);
                }
            }
            return BatchRequest.scattered(handle().file(), Operation.READ, start, end - start, copies);
        }

        /** Returns what counts the bytes of each range. */
        private ResultSink sink() {
            if (members.size() == 1) {
                return results.get(members.getFirst()).sink();
            }
            return (path, offset, bytes) -> {
                for (int member : members) {
                    RangeRead range = ranges.get(member);
                    long from = Math.max(offset, range.fileOffset());
                    long to = Math.min(offset + bytes, range.fileOffset() + range.size());
                    if (to > from) {
                        results.get(member).sink().moved(path, from, to - from);
                    }
                }
            };
        }

        /** Tells each range what it has of the bytes that were read without a gap. */
        private void end(long moved) {
            for (int member : members) {
                RangeRead range = ranges.get(member);
                long got = Math.clamp(start + moved - range.fileOffset(), 0, range.size());
                results.get(member).end(got, handle().file(), range.usesGpu());
            }
        }

        /** @param asIs whether the failure is that of the only range */
        void fail(long moved, CuFileException e, boolean asIs) {
            end(Math.max(0, moved));
            for (int member : members) {
                IoResult result = results.get(member);
                if (!result.isComplete()) {
                    long got = result.moved();
                    result.failLater(got, () -> asIs ? e : own(member, got, e));
                    if (e instanceof CuFileInterruptedException) {
                        interrupted.accumulateAndGet(member, Math::min);
                    }
                }
            }
        }

        /** Returns a failure of the group, or of another one of the file, as one of a range. */
        private CuFileException own(int member, long moved, CuFileException e) {
            CuFileException.Builder own = checks.get(member).failure(e.error()).errno(e.errno().orElse(0))
                    .detail(e.detail()).transferred(moved).cause(e);
            return e instanceof CuFileInterruptedException ? own.buildInterrupted() : own.build();
        }

        /** Tells each range that the call was interrupted, or ended by a defect, before it was read. */
        void skip() {
            Throwable known = defect;
            if (known != null) {
                members.forEach(member -> failRange(member, known));
                return;
            }
            for (int member : members) {
                results.get(member).failLater(0, () -> checks.get(member).failure(CuFileError.IO_ERROR)
                        .errno(Errno.EINTR).detail("interrupted").buildInterrupted());
                interrupted.accumulateAndGet(member, Math::min);
            }
        }
    }
}
