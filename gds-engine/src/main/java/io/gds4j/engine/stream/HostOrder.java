package io.gds4j.engine.stream;

import io.gds4j.HostStream;
import io.gds4j.engine.machine.TransferCosts;
import io.gds4j.error.CuFileException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** The order of a {@link HostStream}, whose own thread moves the bytes. */
final class HostOrder implements StreamOrder {
    private final HostStream stream;
    private final int flags;
    private final StreamMovers movers;
    private final AtomicLong pending = new AtomicLong();

    HostOrder(HostStream stream, int flags, StreamMovers movers) {
        this.stream = stream;
        this.flags = flags;
        this.movers = movers;
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
        } catch (IllegalStateException e) { // enqueue has one reason for it
            throw CuFileException.invalid(
                    operation.function(), "the stream is closed");
        } finally {
            if (queued) {
                operation.setQueued();
            } else {
                pending.decrementAndGet();
            }
        }
    }

    private void run(StreamOperation operation) {
        StreamMover mover = movers.borrow();
        try {
            operation.run(mover);
        } finally {
            mover.giveBack();
            pending.decrementAndGet();
        }
    }

    @Override
    public long pending() {
        return pending.get();
    }

    @Override
    public void releaseForExit() {
        // The JVM does not wait for its thread, a daemon.
    }

    @Override
    public void close() {
        while (pending.get() > 0) {
            LockSupport.parkNanos(TransferCosts.HOST_STREAM_POLL_NANOS);
        }
    }
}
