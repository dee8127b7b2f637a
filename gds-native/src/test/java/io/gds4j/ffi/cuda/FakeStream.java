package io.gds4j.ffi.cuda;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;
import java.util.function.Predicate;

/** A stream of {@link FakeCuda}: work that is done in order, and not before somebody waits for it. */
final class FakeStream {
    final long handle;
    final FakeContext context;
    private final Deque<IntSupplier> pending = new ArrayDeque<>();
    private Predicate<Channel> taken = channel -> false;
    private Channel last = Channel.COMPUTE;
    private BooleanSupplier anyParked = () -> false;
    private int error;
    /** A graph is being captured from it. */
    boolean capturing;

    /** Where work of several streams stands one behind the other. */
    enum Channel {
        /** Kernels, and what the driver puts into the queue of commands. */
        COMPUTE,
        /** A copy engine's. */
        TO_GPU,
        /** A copy engine's. */
        TO_HOST
    }

    /** Work that goes through a channel that others may stand in. */
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

    /** Work that nobody can do before a word in memory is set: it stands where the stream worked last. */
    private record Gate(BooleanSupplier open, Channel channel) implements IntSupplier {
        @Override
        public int getAsInt() {
            return Cuda.SUCCESS;
        }
    }

    FakeStream(long handle, FakeContext context) {
        this.handle = handle;
        this.context = context;
    }

    /** Says when work that goes through a channel gets nowhere. */
    FakeStream behind(Predicate<Channel> othersStandIn) {
        taken = othersStandIn;
        return this;
    }

    /** Says when a stream waits for a word, which copies of managed memory wait for. */
    FakeStream besides(BooleanSupplier parked) {
        anyParked = parked;
        return this;
    }

    void enqueue(IntSupplier work) {
        last = work instanceof Through through ? through.channel() : last;
        pending.add(work);
    }

    /** A kernel that nothing of other streams can come before. */
    void enqueueKernel(IntSupplier work) {
        last = Channel.COMPUTE;
        pending.add(work);
    }

    /** What comes later waits until {@code open} says so. */
    void enqueueGate(BooleanSupplier open) {
        pending.add(new Gate(open, last));
    }

    /** True if nothing can be done before somebody sets a word. */
    boolean parked() {
        return pending.peek() instanceof Gate gate && !gate.open().getAsBoolean();
    }

    /** True if work of others waits for this stream there. */
    boolean parkedIn(Channel channel) {
        return pending.peek() instanceof Gate gate && !gate.open().getAsBoolean() && gate.channel() == channel;
    }

    int pending() {
        return pending.size();
    }

    /** Does the oldest piece of work; false if there is none, or none that can be done. */
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

    /** Does what can be done; NOT_READY if that is not all, else {@link #drain}'s answer. */
    int advance() {
        while (runOne()) {
            // each piece in its order
        }
        return pending.isEmpty() ? takeError() : Cuda.ERROR_NOT_READY;
    }

    /** Does all work and answers the first failure since the last call. */
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
