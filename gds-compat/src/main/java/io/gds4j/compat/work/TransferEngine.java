package io.gds4j.compat.work;

import io.gds4j.compat.deliver.ThreadContext;
import io.gds4j.compat.deliver.Transfer;
import io.gds4j.compat.plan.Parallelism;
import io.gds4j.compat.plan.TransferCourse;
import io.gds4j.compat.plan.Workload;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.engine.staging.IdlePlaces;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.internal.lifetime.CallThreads;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.Operation;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs transfers: the calling thread moves pieces, and workers help with a transfer that has several pieces. An idle engine uses no
 * processor time.
 */
public final class TransferEngine {
    private final IdlePlaces<RequestContext> contexts = new IdlePlaces<>();
    private final IdlePlaces<RequestContext> unattendedContexts = new IdlePlaces<>();
    private final Function<Boolean, ThreadContext> makeContext;
    private final WorkerPools workers;

    /** Null if there is no GPU. */
    private final @Nullable CallThreads calls;
    private final Parallelism parallelism;

    /**
     * Starts the workers.
     *
     * @param makeContext makes a thread's context; its argument tells whether an interrupt of the thread ends a request
     * @param moveNear moves the calling thread near a GPU
     * @param hasGpu whether requests may use a GPU
     */
    public TransferEngine(
            Parallelism parallelism, Function<Boolean, ThreadContext> makeContext, IntConsumer moveNear,
            boolean hasGpu) {
        this.parallelism = parallelism;
        this.makeContext = makeContext;
        this.calls = hasGpu ? new CallThreads("gds4j-call-") : null;
        this.workers = new WorkerPools(parallelism, () -> makeContext.apply(false), moveNear);
    }

    /**
     * Returns what moves the calling thread near a GPU; without a GPU it moves none.
     *
     * @param least a thread stays where it is if fewer processors are near
     */
    public static IntConsumer moveNear(Posix posix, Optional<CudaContexts> contexts, int least) {
        return contexts.map(known -> new GpuLocality(posix, known.cuda(), Path.of("/sys"), least))
                .<IntConsumer>map(near -> near::moveNear)
                .orElse(gpu -> {
                    // there is no GPU
                });
    }

    /**
     * Counts a request in; {@link #leave} counts it out.
     *
     * @param largest largest size of a piece in bytes, a power of two
     */
    public void enter(MemoryRange memory, long size, long largest) {
        if (TransferCourse.mayShare(parallelism, size, largest)) {
            workers.enter(workers.of(memory), size);
        } else if (countsAlone(memory, size)) {
            workers.enterAlone(memory);
        }
    }

    public void leave(MemoryRange memory, long size, long largest) {
        if (TransferCourse.mayShare(parallelism, size, largest)) {
            WorkerPool pool = workers.of(memory);
            int others = workers.leave(pool, size);
            pool.widen(TransferCourse.share(parallelism, others, workers.gpus()));
        } else if (countsAlone(memory, size)) {
            workers.leaveAlone(memory);
        }
    }

    /** Returns whether {@link Workload#alone} counts a request, which one thread serves. */
    private static boolean countsAlone(MemoryRange memory, long size) {
        return memory.kind().isCuda() && size >= TransferCosts.MEASURED.leastGathered();
    }

    /**
     * Has idle workers prepare for requests: each runs the work once. Returns at once.
     *
     * @param gpu decides which workers; negative if it is not known
     */
    public void prepareBeside(int gpu, Runnable work) {
        workers.ofGpu(gpu).prepare(work);
    }

    /** Returns whether workers prepare for a GPU. After {@link #stopForExit} none begins. */
    public boolean isPreparing() {
        return workers.isPreparing();
    }

    /** Returns how many threads requests may have. */
    public Parallelism parallelism() {
        return parallelism;
    }

    /** Returns the requests at work now. */
    public Workload load() {
        return workers;
    }

    /**
     * Lends a context for a request of the calling thread. A virtual thread waits for its turn if very many use a GPU: a context holds pinned
     * memory and CUDA streams.
     *
     * @param function name of the call
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted while it waits
     */
    public RequestContext borrow(MemoryRange memory, String function) {
        CallThreads turns = takesTurns(memory) ? calls : null;
        if (turns != null) {
            turns.enter(function);
        }
        RequestContext lent = null;
        try {
            RequestContext idle = contexts.take();
            lent = idle == null ? context(true) : idle;
            return lent;
        } finally {
            if (turns != null && lent == null) {
                turns.leave();
            }
        }
    }

    private RequestContext context(boolean heedsInterrupts) {
        Thread worker = parallelism.workers() == 0 ? null : workers.first().anyThread();
        return new RequestContext(makeContext.apply(heedsInterrupts), worker);
    }

    public void giveBack(RequestContext context, MemoryRange memory) {
        contexts.give(context);
        if (calls != null && takesTurns(memory)) {
            calls.leave();
        }
    }

    private static boolean takesTurns(MemoryRange memory) {
        return !memory.kind().isHost() && Thread.currentThread().isVirtual();
    }

    /** Lends a context for requests of a thread for which no caller waits. */
    public RequestContext borrowUnattended() {
        RequestContext idle = unattendedContexts.take();
        return idle == null ? context(false) : idle;
    }

    public void giveBackUnattended(RequestContext context) {
        unattendedContexts.give(context);
    }

    /**
     * Moves all pieces; {@link Transfer#result} then tells the outcome.
     *
     * @param memory decides which workers help
     * @param threads largest number of threads of the transfer, including the caller
     */
    public void execute(RequestContext context, Transfer transfer, MemoryRange memory, int threads) {
        if (calls != null && transfer.usesGpu() && Thread.currentThread().isVirtual()) {
            executeElsewhere(calls, transfer, memory, threads);
            return;
        }
        transfer.open(context.thread());
        try {
            executeHere(context, transfer, memory, threads);
        } finally {
            transfer.settle();
        }
    }

    private void executeHere(RequestContext context, Transfer transfer, MemoryRange memory, int threads) {
        if (threads == 1 && !transfer.plan().isJoinable()
                || !parallelism.shares(transfer.pieces(), transfer.plan().size())) {
            transfer.run(context.thread());
        } else {
            executeTogether(context, transfer, workers.of(memory), threads);
        }
    }

    /** Serves a virtual thread: it may move between carriers while it waits, and a CUDA context would stay with the carrier. */
    private void executeElsewhere(CallThreads platform, Transfer transfer, MemoryRange memory, int threads) {
        Operation operation = transfer.plan().isWrite() ? Operation.WRITE : Operation.READ;
        CompletableFuture<@Nullable Void> done = CompletableFuture.runAsync(
                () -> {
                    RequestContext context = borrowUnattended();
                    try {
                        execute(context, transfer, memory, threads);
                    } finally {
                        giveBackUnattended(context);
                    }
                },
                task -> platform.execute(operation.function(), task));
        Uninterruptibly.await(() -> {
            try {
                done.get();
            } catch (InterruptedException e) {
                transfer.cancel();
                throw e;
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        });
    }

    private static void executeTogether(RequestContext context, Transfer transfer, WorkerPool pool, int threads) {
        if (context.thread().heedsInterrupts() && Thread.currentThread().isInterrupted()) {
            // Without this, workers may move all pieces before the caller notices its interrupt.
            transfer.cancel();
        }
        pool.offer(context.offer(), transfer, threads);
        try {
            transfer.run(context.thread());
        } finally {
            pool.withdraw(context.offer());
        }
    }

    /** Ends the workers; no request may be at work. */
    public void close() {
        workers.close();
        if (calls != null) {
            calls.close();
        }
    }

    /** Refuses new requests because the JVM exits, and ends those at work after their pieces in flight. */
    public void stopForExit() {
        workers.cancelAll();
    }
}
