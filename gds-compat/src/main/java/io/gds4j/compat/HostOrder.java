package io.gds4j.compat;

import io.gds4j.HostStream;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** The order of a {@link HostStream}: its own thread does the work. */
final class HostOrder implements StreamOrder {
    private static final long POLL_NANOS = 50_000;

    private final HostStream stream;
    private final int flags;
    private final TransferEngine engine;
    private final AtomicLong pending = new AtomicLong();

    HostOrder(HostStream stream, int flags, TransferEngine engine) {
        this.stream = stream;
        this.flags = flags;
        this.engine = engine;
    }

    @Override
    public int flags() {
        return flags;
    }

    @Override
    public void submit(StreamOperation operation) {
        pending.incrementAndGet();
        boolean queued = false;
        try {
            stream.enqueue(() -> run(operation));
            queued = true;
        } finally {
            if (!queued) {
                pending.decrementAndGet();
            }
        }
    }

    private void run(StreamOperation operation) {
        Lane lane = engine.borrowUnattendedLane();
        try {
            operation.run(lane);
        } finally {
            engine.giveBackUnattended(lane);
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
