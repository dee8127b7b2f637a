package io.gds4j.engine.stream;

import io.gds4j.engine.kernel.GatherKernel;
import io.gds4j.engine.memory.LongWait;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.engine.staging.PreparedGpu;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the order of a CUDA stream. Submission records an event in the stream and lets the stream wait for a word. A worker thread
 * waits for the event, moves the bytes, and sets the word, whatever the result. No code runs on a thread of CUDA's, and only the
 * submitting thread makes calls on the program's stream, so that its per-thread stream works, too.
 *
 * <p>
 * While a stream waits for a word, CUDA's scheduler does not see it, and much waits for the stream: its channel of the GPU, with the
 * work of other streams in it; calls that synchronise implicitly, such as freeing memory; and behind them nearly every other call. So
 * the work that sets the word must not need any of that. Where the backend allows it ({@link StagedStreamCopy}), the stream itself copies
 * between its memory and pinned slabs, by a kernel behind the wait.
 *
 * <p>
 * An operation begins once the stream has reached it. Its arguments are bound then, unless they are fixed; and even with fixed
 * arguments it must see what earlier work of the stream has done: a host function may write the file, or an event may tell that another
 * thread has. The driver does not tell whether such work stands between two operations, but a GPU can: a read right behind another read
 * rings a bell while that one's copy runs ({@link GatherKernel#launchBell}), and then begins before it ends.
 *
 * <p>
 * A stream waits in the channel of its last work. A kernel before the wait keeps it out of the channels of copy engines, where it would
 * hold up the copies of all streams.
 */
final class CudaStreamOrder implements StreamOrder {
    private static final String SUBMIT = "cuFileReadAsync";
    private static final long UNKNOWN = 0;
    /**
     * CUDA's queue for a stream has 1024 entries. An operation takes up to four, whatever its size, and events that take none. The program's
     * own work takes the others.
     */
    private static final long MAX_PENDING = StagingSlabs.CELLS;

    private final long stream;
    private final int flags;
    private final CudaContexts contexts;
    private final Cuda cuda;
    private final long context;
    private final boolean anyContext;
    private final StreamWaits streamWaits;
    private final StreamMovers movers;

    /** Whether this moves bytes of managed memory and of other contexts, and the mover only those between slabs and files. */
    private final boolean movesParts;

    /** What copies to other contexts whose memory operations have used, and to the own one for operations on several. */
    private final Map<Long, PreparedGpu> prepared = new ConcurrentHashMap<>();
    private final ReleaseWords words;
    private final ReleaseWord word;
    private final StreamMover mover;
    private final StreamSteps calls;
    private final @Nullable StagingSlabs slabs;
    private final StagingSlabs.@Nullable Place place;
    private final StreamTurns turns;

    /**
     * Held while operations are put into the stream, which keeps their order. Those calls block while CUDA's queue for the stream is
     * full, so that the thread that makes room there needs another lock.
     */
    private final ReentrantLock submission = new ReentrantLock();

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Deque<ParkedOperation> queue = new ArrayDeque<>();
    private final ThreadFactory threads;
    private @Nullable Thread worker;

    /** Serves parts of gathered reads beside the worker. */
    private @Nullable Thread helper;

    private @Nullable StreamMover helpersMover;
    private long pending;

    /** Operations for which the stream counts as waiting. Guarded by lock. */
    private int waits;

    private boolean closed;

    /**
     * @param stream raw {@code CUstream}
     * @param anyContext the stream is a special one of CUDA's: it belongs to the submitting thread's context
     * @param slabs slabs of staged operations; null if no operation is staged
     * @param threads makes the worker
     */
    CudaStreamOrder(
            long stream,
            boolean anyContext,
            long context,
            int flags,
            CudaContexts contexts,
            StreamMovers movers,
            ReleaseWords words,
            @Nullable StagingSlabs slabs,
            ThreadFactory threads) {
        this.stream = stream;
        this.threads = threads;
        this.anyContext = anyContext;
        this.context = context;
        this.flags = flags;
        this.contexts = contexts;
        this.cuda = contexts.cuda();
        this.streamWaits = StreamWaits.of(contexts);
        this.movers = movers;
        movers.prepareForWaits(context).ifPresent(gpu -> prepared.put(context, gpu));
        this.movesParts = !prepared.isEmpty();
        this.words = words;
        this.slabs = slabs;
        StreamSteps.Kernels kernels = StreamSteps.Kernels.of(contexts, context, slabs != null);
        this.word = words.take();
        StagingSlabs.Place taken = null;
        try {
            taken = slabs == null ? null : slabs.takePlace();
            this.mover = new CountedMover(movers.borrow(), streamWaits);
        } catch (RuntimeException e) {
            words.giveBack(word);
            giveBack(taken);
            throw e;
        }
        this.place = taken;
        this.calls = new StreamSteps(stream, contexts, context, kernels, word, taken);
        this.turns = new CudaStreamTurns(contexts, context, word, calls);
    }

    private void giveBack(StagingSlabs.@Nullable Place taken) {
        if (slabs != null && taken != null) {
            slabs.giveBack(taken);
        }
    }

    @Override
    public int flags() {
        return flags;
    }

    @Override
    public void submit(StreamOperation operation) {
        submission.lock();
        try {
            awaitRoom();
            checkContext();
            park(operation);
        } finally {
            submission.unlock();
        }
    }

    private void awaitRoom() {
        lock.lock();
        try {
            if (pending >= MAX_PENDING && !closed) {
                LongWait.await(
                        changed,
                        () -> pending < MAX_PENDING || closed,
                        () -> "CUDA stream 0x%x has to pass %s operations".formatted(stream, pending));
            }
            if (closed) {
                throw CuFileException.of(CuFileError.INVALID_VALUE, SUBMIT, "the stream is deregistered");
            }
        } finally {
            lock.unlock();
        }
    }

    /** A special stream is another stream in each context. */
    private void checkContext() {
        long[] current = new long[1];
        if (anyContext
                && cuda.ctxGetCurrent(current) == Cuda.SUCCESS
                && current[0] != 0
                && current[0] != context) {
            throw CuFileException.of(
                    CuFileError.CUDA_CONTEXT_MISMATCH,
                    SUBMIT,
                    "the default stream was registered in another CUDA context than the current one");
        }
    }

    private void park(StreamOperation operation) {
        int[] capturing = new int[1];
        int asked = contexts.in(context, () -> cuda.streamIsCapturing(stream, capturing));
        if (asked != Cuda.SUCCESS || capturing[0] != 0) {
            throw CuFileException.of(
                    CuFileError.ASYNC_NOT_SUPPORTED, SUBMIT, "a graph is being captured from the stream");
        }
        startWorker();
        operation.memories().forEach(memory -> prepareOtherContext(operation, memory));
        streamWaits.begin(countWait());
        try {
            putSteps(new ParkedOperation(operation, isOfOwnContext(operation)));
        } finally {
            if (!operation.isQueued()) {
                streamWaits.end(uncountWait());
            }
        }
    }

    private void putSteps(ParkedOperation parked) {
        if (GatheredStreamRead.serves(parked)) {
            StagingSlabs own = Objects.requireNonNull(slabs, "no staged operation without slabs");
            parked.serveBy(new GatheredStreamRead(parked, turns, own, this::over));
            startHelper(parked.operation().largest() > GatheredStreamRead.PART_BYTES);
        }
        for (int i = 0; i < parked.steps(); i++) {
            putStep(parked, i);
        }
    }

    /** Makes what copies to memory of another context, before the stream waits. */
    private void prepareOtherContext(StreamOperation operation, MemoryRange memory) {
        long other = place == null || !operation.isStaged(memory) ? context : contextOf(memory);
        if (other == context || other == UNKNOWN) {
            return;
        }
        PreparedGpu known = prepared.get(other);
        if (known == null || !known.isOf(other, contexts.idOf(other))) { // drivers reuse handles of destroyed contexts
            movers.prepareForWaits(other).ifPresent(gpu -> prepared.put(other, gpu));
        }
    }

    /** Returns what moves a whole operation, whose bytes the stream does not copy. */
    private StreamMover plainMover(StreamOperation operation) {
        StagingSlabs own = slabs;
        if (operation.isScattered()) {
            return movesParts && own != null ? new PartMover(mover, own, this::copierOf) : mover;
        }
        MemoryRange memory = operation.memory();
        long of = memory.kind().isHost() ? UNKNOWN : contextOf(memory);
        if (!movesParts || own == null || of == UNKNOWN) {
            return mover; // which reports memory that the driver does not know: no processor may touch it
        }
        if (memory.kind() == MemoryKind.CUDA_MANAGED) {
            return contexts.sharesManagedMemory(memory.device()) ? new PartMover(mover, own, this::copierOf) : mover;
        }
        return prepared.containsKey(of) ? new PartMover(mover, own, this::copierOf) : mover;
    }

    /** Returns what copies to a memory; empty if a processor does. */
    private Optional<PreparedGpu> copierOf(MemoryRange memory) {
        if (memory.kind().isHost() || memory.kind() == MemoryKind.CUDA_MANAGED) {
            return Optional.empty();
        }
        PreparedGpu gpu = prepared.get(contexts.contextOf(memory.address(), memory.device()));
        if (gpu == null) {
            throw CuFileException.of(
                    CuFileError.CUDA_POINTER_INVALID, SUBMIT, "the CUDA context of the memory has changed: " + memory);
        }
        return Optional.of(gpu);
    }

    /** Returns whether the stream itself copies for an operation; else the backend moves all bytes. */
    private boolean isOfOwnContext(StreamOperation operation) {
        return place != null && operation.isStaged()
                && operation.memories().stream().allMatch(memory -> contextOf(memory) == context);
    }

    /** Returns the context of memory; UNKNOWN if the driver does not know it, which the result of the operation will report. */
    private long contextOf(MemoryRange memory) {
        try {
            return contexts.contextOf(memory.address(), memory.device());
        } catch (CuFileException e) {
            return UNKNOWN;
        }
    }

    /** @param index number of the step in its operation */
    private void putStep(ParkedOperation parked, int index) {
        boolean copies = parked.isStaged() && index == 0;
        boolean write = parked.operation().isWrite();
        long largest = parked.operation().largest();
        StreamCopy copy = copies ? calls.nextCopy(parked) : StreamSteps.NONE;
        boolean together = streamWaits.beginStep();
        boolean complete = false;
        try {
            Step step = calls.putWait(index == 0, !write, copy);
            hand(parked, step);
            if (copies) {
                calls.putCopy(
                        parked, step, largest,
                        write ? StagedStreamCopy.WRITTEN_AT_ONCE : GatheredStreamRead.likelyPieces(largest));
            }
            complete = true;
            parked.complete();
        } finally {
            streamWaits.endStep(together);
            if (!complete) {
                parked.breakOff();
            }
            if (!parked.isHanded() && copy instanceof StreamCopy.Pieces(StreamBoard board, int request)) {
                board.end(request, 0);
            }
        }
    }

    private void hand(ParkedOperation parked, Step step) {
        boolean isFirst = !parked.isHanded();
        parked.hand(step);
        lock.lock();
        try {
            if (!parked.operation().isQueued()) {
                parked.operation().setQueued();
                pending++;
            }
            if (isFirst) {
                queue.add(parked);
                changed.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Returns true if it is the only wait. */
    private boolean countWait() {
        lock.lock();
        try {
            return waits++ == 0;
        } finally {
            lock.unlock();
        }
    }

    /** Returns true if it was the last wait. */
    private boolean uncountWait() {
        lock.lock();
        try {
            return --waits == 0;
        } finally {
            lock.unlock();
        }
    }

    /** Starts the worker before anything is in the stream: without a worker, the stream would wait for ever. */
    private void startWorker() {
        lock.lock();
        try {
            if (worker == null) {
                Thread thread = threads.newThread(() -> serve(mover, false));
                thread.start();
                worker = thread;
            }
        } finally {
            lock.unlock();
        }
    }

    /**
     * Starts the helper if parts wait and there is a thread for it.
     *
     * @param several whether a read has several parts
     */
    private void startHelper(boolean several) {
        if (helper != null || !several && pending() == 0) {
            return;
        }
        StreamMover own = new CountedMover(movers.borrow(), streamWaits);
        Thread thread = threads.newThread(() -> serve(own, true));
        try {
            thread.start();
            helper = thread;
            helpersMover = own;
        } catch (OutOfMemoryError e) {
            own.giveBack();
        }
    }

    private void serve(StreamMover own, boolean parts) {
        Runnable work = take(own, parts);
        while (work != null) {
            work.run();
            work = take(own, parts);
        }
    }

    private void serveWhole(ParkedOperation parked, StreamMover own) {
        try {
            if (parked.isStaged() && slabs != null && place != null) {
                new StagedStreamCopy(parked, turns, own, slabs, place).run();
            } else {
                servePlain(parked);
            }
        } finally {
            over();
        }
    }

    /** An operation is over: its stream has passed it, and it holds nothing. */
    private void over() {
        streamWaits.end(uncountWait());
        lock.lock();
        try {
            pending--;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void servePlain(ParkedOperation parked) {
        Step step = parked.first();
        try {
            int reached = turns.await(step.reached());
            if (reached == Cuda.SUCCESS) {
                parked.operation().run(plainMover(parked.operation()));
            } else {
                parked.operation().fail(turns.failure(reached));
            }
        } finally {
            turns.release(step);
            turns.leave(step);
        }
    }

    /**
     * Waits for work.
     *
     * @param parts take only parts of reads
     * @return null once the stream is deregistered and there is none
     */
    private @Nullable Runnable take(StreamMover own, boolean parts) {
        lock.lock();
        try {
            while (!mayTake(parts) && !closed) {
                changed.awaitUninterruptibly();
            }
            if (!mayTake(parts)) {
                return null;
            }
            ParkedOperation next = queue.element();
            GatheredStreamRead read = next.read();
            if (read == null) {
                queue.remove();
                return () -> serveWhole(next, own);
            }
            int part = read.claim();
            if (read.isClaimed()) {
                queue.remove();
            }
            return () -> read.serve(part, own);
        } finally {
            lock.unlock();
        }
    }

    private boolean mayTake(boolean parts) {
        ParkedOperation next = queue.peek();
        return next != null && (!parts || next.read() != null);
    }

    @Override
    public long pending() {
        lock.lock();
        try {
            return pending;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void releaseForExit() {
        word.releaseAll();
    }

    @Override
    public void close() {
        List<Thread> serving = new ArrayList<>();
        endSubmissions();
        lock.lock();
        try {
            while (pending > 0) {
                changed.awaitUninterruptibly();
            }
            serving.addAll(Stream.of(worker, helper).filter(Objects::nonNull).toList());
        } finally {
            lock.unlock();
        }
        serving.forEach(Uninterruptibly::join);
        PreparedGpu gpu = prepared.get(context);
        if (gpu == null || gpu.isAlive()) { // events of a destroyed context ended with it
            calls.close();
        }
        words.giveBack(word);
        giveBack(place);
        mover.giveBack();
        if (helpersMover != null) {
            helpersMover.giveBack();
        }
    }

    /** Waits for a submission under way; later ones are refused. */
    private void endSubmissions() {
        submission.lock();
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
            submission.unlock();
        }
    }
}
