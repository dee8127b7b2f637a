package io.gds4j.ffi.cuda;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;

/** A stream of {@link FakeCuda}: work that is done in order, and not before somebody waits for it. */
final class FakeStream {
    final long handle;
    final FakeContext context;
    private final Deque<IntSupplier> pending = new ArrayDeque<>();
    private BooleanSupplier channelsTaken = () -> false;
    private BooleanSupplier anyParked = () -> false;
    private int error;
    /** A graph is being captured from it. */
    boolean capturing;

    /** Work that goes through the channel that others may stand in. */
    record InChannel(IntSupplier work) implements IntSupplier {
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

    /** Work that nobody can do before a word in memory is set. */
    private record Gate(BooleanSupplier open) implements IntSupplier {
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
    FakeStream behind(BooleanSupplier taken) {
        channelsTaken = taken;
        return this;
    }

    /** Says when a stream waits for a word, which copies of managed memory wait for. */
    FakeStream besides(BooleanSupplier parked) {
        anyParked = parked;
        return this;
    }

    void enqueue(IntSupplier work) {
        pending.add(work);
    }

    /** What comes later waits until {@code open} says so. */
    void enqueueGate(BooleanSupplier open) {
        pending.add(new Gate(open));
    }

    /** True if nothing can be done before somebody sets a word. */
    boolean parked() {
        return pending.peek() instanceof Gate gate && !gate.open().getAsBoolean();
    }

    int pending() {
        return pending.size();
    }

    /** Does the oldest piece of work; false if there is none, or none that can be done. */
    boolean runOne() {
        if (parked()
                || pending.peek() instanceof InChannel && channelsTaken.getAsBoolean()
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
