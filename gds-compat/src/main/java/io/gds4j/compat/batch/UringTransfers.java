package io.gds4j.compat.batch;

import io.gds4j.compat.file.CompatFile;
import io.gds4j.compat.file.FileDescriptors;
import io.gds4j.compat.file.RangeLocks;
import io.gds4j.compat.plan.TransferPlan;
import io.gds4j.compat.plan.TransferPlanner;
import io.gds4j.compat.plan.TransferRequest;
import io.gds4j.compat.transfer.RequestExecutor;
import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.IoUring;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.ResultSink;
import io.gds4j.statistics.IoPath;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Moves direct entries between files and host memory through an io_uring, many at a time. Entries that fail here stay undone: they
 * are retried individually, so that each gets its own error. Used by one thread.
 */
final class UringTransfers {
    /** Largest entry in bytes. */
    private static final long MAX_BYTES = 1 << 20;

    private final RequestExecutor executor;
    private final TransferPlanner planner;
    private final IoUringUse use;
    private final PathCounters counters;
    private final TransferRequest request = new TransferRequest();
    private final TransferPlan plan = new TransferPlan();
    private final List<Held> held = new ArrayList<>();
    private @Nullable IoUring uring;

    /** The pages that a write in flight holds. */
    private record Held(FileDescriptors descriptors, RangeLocks.Hold hold) {
    }

    UringTransfers(RequestExecutor executor, IoUringUse use, PathCounters counters) {
        this.executor = executor;
        this.planner = executor.planner();
        this.use = use;
        this.counters = counters;
    }

    /**
     * Moves the entries that can go through the io_uring.
     *
     * @param results {@link EntryRunner#UNDONE} for each entry; replaced by the bytes that the entry moved
     */
    void move(List<BatchRequest> entries, long[] results) {
        IoUring open = uring();
        if (open == null) {
            return;
        }
        int prepared = 0;
        for (int i = 0; i < results.length; i++) {
            if (results[i] == EntryRunner.UNDONE && prepare(open, entries.get(i), i)) {
                prepared++;
            }
            if (prepared == open.capacity() || i == results.length - 1 && prepared > 0) {
                run(open, entries, results);
                prepared = 0;
            }
        }
        if (!open.works()) {
            use.failed();
            close();
        }
    }

    /** Returns the thread's io_uring; null if the session does not use io_uring. */
    @Nullable
    IoUring uring() {
        IoUring open = uring;
        if (open == null && use.isOn()) {
            open = use.open();
            uring = open;
        }
        return open;
    }

    private boolean prepare(IoUring open, BatchRequest entry, int index) {
        long size = entry.size();
        if (size < 1 || size > MAX_BYTES || !entry.memory().kind().isHost() || !open.works()) {
            return false;
        }
        try {
            CompatFile file = executor.check(entry, entry.operation().function());
            planner.plan(plan, request.set(file, entry));
            boolean direct = plan.directFrom() == plan.offset() && plan.directTo() == plan.end();
            if (!direct || planner.isCached(plan, file.descriptors())) {
                return false;
            }
            int fd = file.descriptors().directDescriptor();
            long address = entry.memory().address() + entry.bufferOffset();
            if (!entry.write()) {
                open.read(fd, address, (int) size, entry.fileOffset(), index);
                return true;
            }
            if (!hold(file.descriptors())) {
                return false;
            }
            open.write(fd, address, (int) size, entry.fileOffset(), index);
            return true;
        } catch (CuFileException e) {
            // The entry fails again on its own, and gets its error.
            return false;
        } finally {
            request.clear();
        }
    }

    /** Takes the planned write's pages if they are free: a thread that holds pages must not wait for others. */
    private boolean hold(FileDescriptors descriptors) {
        RangeLocks.Hold hold =
                descriptors.locks().tryAcquire(plan.offset(), plan.end(), plan.directFrom(), plan.directTo());
        if (hold != null) {
            held.add(new Held(descriptors, hold));
        }
        return hold != null;
    }

    private void run(IoUring open, List<BatchRequest> entries, long[] results) {
        try {
            open.run((index, bytes) -> {
                BatchRequest entry = entries.get((int) index);
                if (bytes == entry.size()) {
                    results[(int) index] = bytes;
                    if (entry.write()) {
                        counters.written().add(bytes);
                    }
                    count(entry.sink(), entry.fileOffset(), bytes);
                }
            });
        } finally {
            held.forEach(one -> one.descriptors().locks().release(one.hold()));
            held.clear();
        }
    }

    /** Counts bytes that io_uring has moved. */
    void count(ResultSink sink, long fileOffset, long bytes) {
        counters.add(IoPath.COMPAT_DIRECT, bytes);
        sink.moved(IoPath.COMPAT_DIRECT, fileOffset, bytes);
    }

    void close() {
        IoUring open = uring;
        if (open != null) {
            uring = null;
            open.close();
        }
    }
}
