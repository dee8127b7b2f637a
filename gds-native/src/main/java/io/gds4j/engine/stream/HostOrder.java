package io.gds4j.engine.stream;

import io.gds4j.HostStream;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * The order of a {@link HostStream}: its own thread does the work.
 *
 * @param <L> what it works with
 */
final class HostOrder<L> implements StreamOrder<L> {
    private static final long POLL_NANOS = 50_000;

    private final HostStream stream;
    private final int flags;
    private final StreamLanes<L> lanes;
    private final AtomicLong pending = new AtomicLong();

    HostOrder(HostStream stream, int flags, StreamLanes<L> lanes) {
        this.stream = stream;
        this.flags = flags;
        this.lanes = lanes;
    }

    @Override
    public int flags() {
        return flags;
    }

    @Override
    public void submit(StreamOperation<L> operation) {
        pending.incrementAndGet();
        boolean queued = false;
        try {
            stream.enqueue(() -> run(operation));
            queued = true;
        } finally {
            if (queued) {
                operation.setQueued();
            } else {
                pending.decrementAndGet();
            }
        }
    }

    private void run(StreamOperation<L> operation) {
        L lane = lanes.borrow();
        try {
            operation.run(lane);
        } finally {
            lanes.giveBack(lane);
            pending.decrementAndGet();
        }
    }

    @Override
    public long pending() {
        return pending.get();
    }

    @Override
    public void releaseForExit() {
        // Its thread is a daemon: nothing waits for it.
    }

    @Override
    public void close() {
        while (pending.get() > 0) {
            LockSupport.parkNanos(POLL_NANOS);
        }
    }
}
