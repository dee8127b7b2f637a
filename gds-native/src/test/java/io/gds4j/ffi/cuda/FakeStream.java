package io.gds4j.ffi.cuda;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.IntSupplier;

/** A stream of {@link FakeCuda}: work that is done in order, and not before somebody waits for it. */
final class FakeStream {
    final long handle;
    final FakeContext context;
    private final Deque<IntSupplier> pending = new ArrayDeque<>();
    private int error;

    FakeStream(long handle, FakeContext context) {
        this.handle = handle;
        this.context = context;
    }

    void enqueue(IntSupplier work) {
        pending.add(work);
    }

    int pending() {
        return pending.size();
    }

    /** Does the oldest piece of work; false if there is none. */
    boolean runOne() {
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
