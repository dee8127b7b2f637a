package io.gds4j.compat;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.posix.IoUring;
import io.gds4j.spi.BatchRequest;
import io.gds4j.statistics.IoPath;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads past the page cache straight into host memory, many at a time by one thread. The fast way alone: whatever does not go
 * well here is left undone, so that it is done again by itself and has an error of its own.
 *
 * <p>
 * Belongs to a {@link Lane}, used by one thread at a time.
 */
final class RingReads {
    private static final String FUNCTION = "cuFileRead";
    private static final long LARGEST = 1 << 20;

    private final IoUringUse use;
    private final PathCounters counters;
    private final RequestPlan plan = new RequestPlan();
    private @Nullable IoUring ring;

    RingReads(IoUringUse use, PathCounters counters) {
        this.use = use;
        this.counters = counters;
    }

    /**
     * Does what can be done together.
     *
     * @param results for each entry {@link DeviceReadGroup#UNDONE}, replaced by the bytes it read
     */
    void read(CompatSession session, List<BatchRequest> entries, long[] results) {
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
        if (entry.write() || size < 1 || size > LARGEST || !entry.memory().kind().isHost() || !open.works()) {
            return false;
        }
        try {
            CompatFile file = CompatFile.own(session, entry.file(), FUNCTION);
            RequestArguments.check(
                    FUNCTION, file, entry.memory(), size, entry.fileOffset(), entry.bufferOffset(), false);
            RequestPlanner planner = session.planner();
            planner.plan(plan, file, entry.memory(), size, entry.fileOffset(), entry.bufferOffset(), false);
            boolean past = plan.directFrom() == plan.offset() && plan.directTo() == plan.end();
            if (!past || planner.isCached(plan, file.pair())) {
                return false;
            }
            open.read(
                    file.pair().directDescriptor(), entry.memory().address() + entry.bufferOffset(), (int) size,
                    entry.fileOffset(), index);
            return true;
        } catch (CuFileException e) {
            // It fails by itself, and says why.
            return false;
        }
    }

    private void run(IoUring open, List<BatchRequest> entries, long[] results) {
        open.run((index, bytes) -> {
            if (bytes == entries.get((int) index).size()) {
                results[(int) index] = bytes;
                count(bytes);
            }
        });
    }

    /** Counts bytes that a ring has read. */
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
