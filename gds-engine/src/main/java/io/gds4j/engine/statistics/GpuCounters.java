package io.gds4j.engine.statistics;

import io.gds4j.internal.file.Pages;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.Operation;
import io.gds4j.statistics.GpuStatistics;
import io.gds4j.statistics.IoPath;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;

/** The counters of one GPU at level 3. Lock-free. */
final class GpuCounters {
    private static final long PERCENT = 100;
    private static final long MICRO = 1000;

    private final String uuid;
    private final Direction reads = new Direction();
    private final Direction writes = new Direction();
    private final CallCounter registrations = new CallCounter();
    private final LongAdder deregistrations = new LongAdder();
    private final LongAdder registeredBytes = new LongAdder();
    private volatile long since = System.nanoTime();

    /** Reads or writes. */
    private static final class Direction {
        private final TransferCounter transfers = new TransferCounter();
        private final CallsByPath paths = new CallsByPath();
        private final LongAdder unaligned = new LongAdder();
        private final AtomicInteger inFlight = new AtomicInteger();

        /** Sum of the ends of busy periods, less the sum of their beginnings. */
        private final LongAdder busyNanos = new LongAdder();

        void begin(long now) {
            if (inFlight.getAndIncrement() == 0) {
                busyNanos.add(-now);
            }
        }

        void end(long now) {
            if (inFlight.decrementAndGet() == 0) {
                busyNanos.add(now);
            }
        }

        long busyMicros(long now) {
            long busy = busyNanos.sum();
            return Math.max(0, inFlight.get() > 0 ? busy + now : busy) / MICRO;
        }

        void reset() {
            transfers.reset();
            paths.reset();
            unaligned.reset();
            if (inFlight.get() == 0) {
                busyNanos.reset();
            }
        }
    }

    GpuCounters(String uuid) {
        this.uuid = uuid;
    }

    private Direction direction(Operation operation) {
        return operation.isWrite() ? writes : reads;
    }

    void begin(Operation operation, long now) {
        direction(operation).begin(now);
    }

    void end(IoPath path, Operation operation, MemoryRange memory, long size, long fileOffset, long bufferOffset,
            boolean succeeded, long moved, long begun, long ended) {
        Direction direction = direction(operation);
        direction.end(ended);
        direction.transfers.count(succeeded, moved, size, begun, ended, false);
        direction.paths.count(path, succeeded);
        if (!Pages.isAligned(size | fileOffset | memory.address() + bufferOffset)) {
            direction.unaligned.increment();
        }
    }

    void registered(boolean succeeded, long bytes) {
        registrations.count(succeeded);
        registeredBytes.add(succeeded ? bytes : 0);
    }

    void deregistered(long bytes) {
        deregistrations.increment();
        registeredBytes.add(-bytes);
    }

    GpuStatistics snapshot(long now) {
        long elapsed = Math.max(1, (now - since) / MICRO);
        long readMicros = reads.busyMicros(now);
        long writeMicros = writes.busyMicros(now);
        return new GpuStatistics(
                uuid,
                reads.transfers.bytes(),
                reads.transfers.bytesPerSecond(now),
                Math.min(PERCENT, readMicros * PERCENT / elapsed),
                readMicros,
                reads.transfers.calls().total(),
                reads.paths.p2p.total(),
                reads.paths.nvfs.total(),
                reads.paths.posix.total(),
                reads.unaligned.sum(),
                0,
                0,
                0,
                reads.transfers.calls().snapshot().err(),
                writes.transfers.bytes(),
                writes.transfers.bytesPerSecond(now),
                Math.min(PERCENT, writeMicros * PERCENT / elapsed),
                writeMicros,
                writes.transfers.calls().total(),
                writes.paths.p2p.total(),
                writes.paths.nvfs.total(),
                writes.paths.posix.total(),
                writes.unaligned.sum(),
                0,
                writes.transfers.calls().snapshot().err(),
                registrations.total(),
                registrations.snapshot().ok(),
                registrations.snapshot().err(),
                deregistrations.sum(),
                Math.max(0, registeredBytes.sum()));
    }

    /** Resets all counts but the bytes that are registered now. */
    void reset() {
        reads.reset();
        writes.reset();
        registrations.reset();
        deregistrations.reset();
        since = System.nanoTime();
    }
}
