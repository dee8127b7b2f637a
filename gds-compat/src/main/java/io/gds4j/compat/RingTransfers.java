package io.gds4j.compat;

import io.gds4j.engine.statistics.PathCounters;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.IoUring;
import io.gds4j.spi.BatchRequest;
import io.gds4j.statistics.IoPath;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes past the page cache straight into or from host memory, many at a time by one thread. The fast way alone:
 * whatever does not go well here is left undone, so that it is done again by itself and has an error of its own.
 *
 * <p>
 * Belongs to a {@link Lane}, used by one thread at a time.
 */
final class RingTransfers {
    private static final String READ = "cuFileRead";
    private static final String WRITE = "cuFileWrite";
    private static final long LARGEST = 1 << 20;
    private static final long PAGE = 4096;

    private final IoUringUse use;
    private final PathCounters counters;
    private final RequestPlan plan = new RequestPlan();
    private final List<Held> held = new ArrayList<>();
    private @Nullable IoUring ring;

    /** Pages that a write at work holds. */
    private record Held(FilePair pair, RangeLocks.Hold hold) {
    }

    RingTransfers(IoUringUse use, PathCounters counters) {
        this.use = use;
        this.counters = counters;
    }

    /**
     * Does what can be done together.
     *
     * @param results for each entry {@link DeviceReadGroup#UNDONE}, replaced by the bytes it moved
     */
    void move(CompatSession session, List<BatchRequest> entries, long[] results) {
        IoUring open = ring();
        if (open == null) {
            return;
        }
        int prepared = 0;
        for (int i = 0; i < results.length; i++) {
            if (results[i] == DeviceReadGroup.UNDONE && prepare(session, open, entries.get(i), i)) {
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

    /** The lane's ring, or null where threads serve. */
    @Nullable
    IoUring ring() {
        IoUring open = ring;
        if (open == null && use.isOn()) {
            open = use.open();
            ring = open;
        }
        return open;
    }

    private boolean prepare(CompatSession session, IoUring open, BatchRequest entry, int index) {
        long size = entry.size();
        if (size < 1 || size > LARGEST || !entry.memory().kind().isHost() || !open.works()) {
            return false;
        }
        boolean write = entry.write();
        String function = write ? WRITE : READ;
        try {
            CompatFile file = CompatFile.own(session, entry.file(), function);
            RequestArguments.check(
                    function, file, entry.memory(), size, entry.fileOffset(), entry.bufferOffset(), write);
            RequestPlanner planner = session.planner();
            planner.plan(plan, file, entry.memory(), size, entry.fileOffset(), entry.bufferOffset(), write);
            boolean past = plan.directFrom() == plan.offset() && plan.directTo() == plan.end();
            if (!past || planner.isCached(plan, file.pair())) {
                return false;
            }
            int fd = file.pair().directDescriptor();
            long address = entry.memory().address() + entry.bufferOffset();
            if (!write) {
                open.read(fd, address, (int) size, entry.fileOffset(), index);
                return true;
            }
            if (!hold(file.pair())) {
                return false;
            }
            open.write(fd, address, (int) size, entry.fileOffset(), index);
            return true;
        } catch (CuFileException e) {
            // It fails by itself, and says why.
            return false;
        }
    }

    /** Takes the planned write's pages if nobody is in the way: who holds some must not wait for others. */
    private boolean hold(FilePair pair) {
        RangeLocks.Hold hold = RangeLocks.Hold.of(plan, Math.max(PAGE, pair.traits().alignment()));
        boolean mine = pair.locks().tryAcquire(hold);
        if (mine) {
            held.add(new Held(pair, hold));
        }
        return mine;
    }

    private void run(IoUring open, List<BatchRequest> entries, long[] results) {
        try {
            open.run((index, bytes) -> {
                if (bytes == entries.get((int) index).size()) {
                    results[(int) index] = bytes;
                    count(bytes);
                }
            });
        } finally {
            held.forEach(one -> one.pair().locks().release(one.hold()));
            held.clear();
        }
    }

    /** Counts bytes that a ring has moved. */
    void count(long bytes) {
        counters.add(IoPath.COMPAT_DIRECT, bytes);
    }

    void close() {
        IoUring open = ring;
        if (open != null) {
            ring = null;
            open.close();
        }
    }
}
