package io.gds4j.ffi.cuda;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import java.util.function.Predicate;

/** A stream of {@link FakeCuda}. Runs its work in order, and only while a caller waits for it. */
final class FakeStream {
    /** As measured on an H100 with driver 580. */
    private static final int MAX_BLOCKING_MARKS = 56;

    final long handle;
    final FakeContext context;
    private final Deque<IntSupplier> pending = new ArrayDeque<>();
    private Predicate<Channel> taken = channel -> false;
    private Channel last = Channel.COMPUTE;
    private BooleanSupplier anyParked = () -> false;
    /** The last work if it is a kernel that lets the next one begin early. */
    private Gate letsBegin;
    private int error;
    private int blockingMarks;
    /** True while a graph is captured from the stream. */
    boolean capturing;

    /** A queue that several streams share. */
    enum Channel {
        /** Channel of kernels and small copies. */
        COMPUTE,
        /** A copy engine's. */
        TO_GPU,
        /** A copy engine's. */
        TO_HOST
    }

    /** Work that goes through a channel, which work of other streams may block. */
    record Through(Channel channel, IntSupplier work) implements IntSupplier {
        @Override
        public int getAsInt() {
            return work.getAsInt();
        }
    }

    /** A copy of managed memory, for which the driver waits for all streams first. */
    record OfManaged(IntSupplier work) implements IntSupplier {
        @Override
        public int getAsInt() {
            return work.getAsInt();
        }
    }

    /**
     * A wait for a word in memory, which blocks the channel of the stream's last work, or a kernel that waits.
     *
     * @param channel null for a kernel, which blocks none
     * @param early runs when the stream comes to it
     * @param ofProgram whether the program itself waits
     */
    private record Gate(BooleanSupplier open, Channel channel, Deque<Runnable> early, boolean ofProgram)
            implements
                IntSupplier {
        boolean isOpen() {
            while (!early.isEmpty()) {
                early.poll().run();
            }
            return open.getAsBoolean();
        }

        @Override
        public int getAsInt() {
            return Cuda.SUCCESS;
        }
    }

    FakeStream(long handle, FakeContext context) {
        this.handle = handle;
        this.context = context;
    }

    /** Sets the condition under which a channel is blocked. */
    FakeStream behind(Predicate<Channel> othersStandIn) {
        taken = othersStandIn;
        return this;
    }

    /** Sets the condition under which a stream waits for a word; copies of managed memory wait for it. */
    FakeStream besides(BooleanSupplier parked) {
        anyParked = parked;
        return this;
    }

    void enqueue(IntSupplier work) {
        last = work instanceof Through through ? through.channel() : last;
        letsBegin = null;
        pending.add(work);
    }

    /** Adds a record of an event. */
    void enqueueMark(IntSupplier work) {
        pending.add(work);
    }

    /** Adds a record of an event on which a thread may block. */
    void enqueueBlockingMark(IntSupplier work) {
        blockingMarks++;
        pending.add(() -> {
            blockingMarks--;
            return work.getAsInt();
        });
    }

    /** Returns whether the driver has no room for more records of events on which threads may block, until the stream goes on. */
    boolean isFullOfBlockingMarks() {
        return blockingMarks >= MAX_BLOCKING_MARKS && parked();
    }

    /** Adds a kernel that no work of other streams can hold up. */
    void enqueueKernel(IntSupplier work) {
        last = Channel.COMPUTE;
        letsBegin = null;
        pending.add(work);
    }

    /** Adds a kernel that ends when {@code over} is true, and with whose beginning the next one may begin. */
    void enqueueWaitingKernel(BooleanSupplier over) {
        last = Channel.COMPUTE;
        letsBegin = new Gate(over, null, new ArrayDeque<>(), false);
        pending.add(letsBegin);
    }

    /** Adds a kernel that begins early if the last work lets it. */
    void enqueueEarly(Runnable work) {
        if (letsBegin == null) {
            enqueueKernel(() -> {
                work.run();
                return Cuda.SUCCESS;
            });
        } else {
            letsBegin.early().add(work);
            letsBegin = null;
        }
    }

    /** Later work waits until {@code open} is true. */
    void enqueueGate(BooleanSupplier open) {
        enqueueGate(open, false);
    }

    /** As {@link #enqueueGate(BooleanSupplier)}; may be a wait of the program itself. */
    void enqueueGate(BooleanSupplier open, boolean ofProgram) {
        letsBegin = null;
        pending.add(new Gate(open, last, new ArrayDeque<>(), ofProgram));
    }

    /** True while the stream waits for a word of gds4j. */
    boolean waitsForUs() {
        return pending.peek() instanceof Gate gate && !gate.ofProgram() && !gate.isOpen();
    }

    /** True while the stream waits for a word. */
    boolean parked() {
        return pending.peek() instanceof Gate gate && !gate.isOpen();
    }

    /** True while this stream blocks the channel for others. */
    boolean parkedIn(Channel channel) {
        return pending.peek() instanceof Gate gate && !gate.isOpen() && gate.channel() == channel;
    }

    int pending() {
        return pending.size();
    }

    /** Returns the number of pieces of work, also of those that may begin early. */
    int entries() {
        return pending.stream().mapToInt(work -> work instanceof Gate gate ? 1 + gate.early().size() : 1).sum();
    }

    /** Runs the oldest work; returns false if there is none or it cannot run. */
    boolean runOne() {
        if (parked()
                || pending.peek() instanceof Through through && taken.test(through.channel())
                || pending.peek() instanceof OfManaged && anyParked.getAsBoolean()) {
            return false;
        }
        IntSupplier work = pending.poll();
        if (work == null) {
            return false;
        }
        int result = work.getAsInt();
        if (result != Cuda.SUCCESS && error == Cuda.SUCCESS) {
            error = result;
        }
        return true;
    }

    /** Runs the work that can run; returns NOT_READY if some is left, else as {@link #drain}. */
    int advance() {
        while (runOne()) {
            // each piece in its order
        }
        return pending.isEmpty() ? takeError() : Cuda.ERROR_NOT_READY;
    }

    /** Runs all work and returns the first failure since the last call. */
    int drain() {
        while (runOne()) {
            // each piece in its order
        }
        return takeError();
    }

    int takeError() {
        int result = error;
        error = Cuda.SUCCESS;
        return result;
    }
}
