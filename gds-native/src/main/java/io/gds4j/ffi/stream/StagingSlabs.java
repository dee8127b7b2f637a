package io.gds4j.ffi.stream;

import io.gds4j.ffi.cuda.CopyCell;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Pinned memory between files and the copies that streams make themselves. Each stream has a place of its own for small
 * operations; larger ones share a few slabs. Nothing else uses them: whoever has one gives it back without waiting for anybody who
 * may want one. Allocated while no stream waits for us, freed with the session. Thread-safe.
 */
final class StagingSlabs {
    /** Bytes that an operation of a stream moves by its place alone. */
    static final long PLACE_BYTES = 64 << 10;

    /** Bytes of a unit of the shared slabs. */
    static final long UNIT_BYTES = StreamTransfer.PART_BYTES;

    /** Copies of a stream that may be under way. */
    static final int CELLS = 128;

    /** A slab begins where the file does within a page, as direct I/O wants it. */
    private static final long PAGE = 4096;

    private static final int PLACES_TOGETHER = 64;
    private static final int UNITS = 16;

    /** Units that are filled at once at most: larger operations gain nothing from more. */
    private static final int MOST_UNITS = 4;

    private static final long UNIT_STRIDE = UNIT_BYTES + PAGE;

    private static final long PLACE_STRIDE = CELLS * CopyCell.BYTES + PLACE_BYTES + PAGE;

    private final CudaContexts contexts;
    private final Deque<Place> idlePlaces = new ArrayDeque<>();
    private final List<Long> blocks = new ArrayList<>();
    private long units;

    /** One bit for each unit. */
    private int idleUnits;

    /**
     * What a stream has of its own.
     *
     * @param cells for its copies in turn
     * @param slab for small operations
     */
    record Place(List<CopyCell> cells, MemoryRange slab) {
    }

    StagingSlabs(CudaContexts contexts) {
        this.contexts = contexts;
    }

    /**
     * A stream's own place; to be given back.
     *
     * @throws io.gds4j.error.CuFileException if there is no pinned memory for more
     */
    Place takePlace() {
        Place idle = pollPlace();
        while (idle == null) {
            contexts.streamWaits().whileNone(this::grow);
            idle = pollPlace();
        }
        return idle;
    }

    private synchronized @Nullable Place pollPlace() {
        return idlePlaces.poll();
    }

    synchronized void giveBack(Place place) {
        idlePlaces.push(place);
    }

    private synchronized void grow() {
        if (units == 0) {
            units = allocate(UNITS * UNIT_STRIDE);
            idleUnits = (1 << UNITS) - 1;
        }
        if (idlePlaces.isEmpty()) {
            long address = allocate(PLACES_TOGETHER * PLACE_STRIDE);
            for (int i = 0; i < PLACES_TOGETHER; i++) {
                idlePlaces.add(place(address + i * PLACE_STRIDE));
            }
        }
    }

    private static Place place(long address) {
        List<CopyCell> cells = new ArrayList<>();
        for (int i = 0; i < CELLS; i++) {
            cells.add(CopyCell.at(address + i * CopyCell.BYTES));
        }
        return new Place(List.copyOf(cells), range(address + CELLS * CopyCell.BYTES, PLACE_BYTES + PAGE));
    }

    private static MemoryRange range(long address, long bytes) {
        return MemoryRange.ofAddress(address, bytes, MemoryKind.HOST_PINNED);
    }

    private long allocate(long bytes) {
        Cuda cuda = contexts.cuda();
        long[] pointer = new long[1];
        int flags = Cuda.MEM_HOST_PORTABLE | Cuda.MEM_HOST_DEVICEMAP;
        CudaErrors.check(
                cuda,
                "cuMemHostAlloc",
                contexts.in(contexts.primary(0), () -> cuda.memHostAlloc(pointer, bytes, flags)));
        blocks.add(pointer[0]);
        return pointer[0];
    }

    /**
     * Units side by side; waits for one. For who holds none, has a stream that waits at the step for the first, and gives that unit
     * back as soon as its stream has copied.
     *
     * @param parts units wanted; there may be fewer, see {@link #parts}: the others may be held longer, as those ahead
     */
    synchronized MemoryRange acquire(int parts) {
        if (idleUnits == 0) {
            Uninterruptibly.await(this::awaitIdleUnit);
        }
        return take(Math.min(parts, 1 + spare(1)));
    }

    private synchronized void awaitIdleUnit() throws InterruptedException {
        while (idleUnits == 0) {
            wait();
        }
    }

    /**
     * Units to be filled ahead of the stream, which may come to them late, behind others that want units, too: given only while
     * most are idle.
     */
    synchronized @Nullable MemoryRange tryAcquireAhead(int parts) {
        int count = Math.min(parts, spare(0));
        return count == 0 ? null : take(count);
    }

    private int spare(int taken) {
        return Math.max(0, Integer.bitCount(idleUnits) - taken - UNITS / 2);
    }

    /** As many as are wanted or the most there are side by side; one is idle. */
    private MemoryRange take(int parts) {
        int count = Math.min(parts, MOST_UNITS);
        int runs = runs(count);
        while (runs == 0) {
            count--;
            runs = runs(count);
        }
        int first = Integer.numberOfTrailingZeros(runs);
        idleUnits &= ~(((1 << count) - 1) << first);
        // So far in that no part reaches back into the unit before its own, which is given back earlier.
        long skipped = (count - 1) * PAGE;
        return range(units + first * UNIT_STRIDE + skipped, count * UNIT_BYTES + PAGE);
    }

    /** A bit for each unit at which so many idle ones begin. */
    private int runs(int count) {
        int runs = idleUnits;
        for (int i = 1; i < count; i++) {
            runs &= idleUnits >>> i;
        }
        return runs;
    }

    /** How many parts a slab has room for, one behind the other. */
    static int parts(MemoryRange slab) {
        return (int) Math.max(1, slab.length() / UNIT_BYTES);
    }

    /** Gives back one of the units. */
    synchronized void release(MemoryRange slab, int part) {
        idleUnits |= 1 << (slab.address() - units) / UNIT_STRIDE + part;
        notifyAll();
    }

    /** Frees all; every stream has passed or is gone. */
    void close() {
        contexts.streamWaits().whileNone(this::free);
    }

    private synchronized void free() {
        Cuda cuda = contexts.cuda();
        for (long block : blocks) {
            contexts.in(contexts.primary(0), () -> cuda.memFreeHost(block));
        }
        blocks.clear();
        idlePlaces.clear();
        units = 0;
        idleUnits = 0;
    }
}
