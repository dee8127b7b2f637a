package io.gds4j.engine.stream;

import io.gds4j.engine.kernel.CopyCell;
import io.gds4j.engine.kernel.PieceBoard;
import io.gds4j.engine.memory.LongWait;
import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Pinned memory between files and the copies that streams make themselves. Each stream has its own place for small operations; larger
 * operations share a few slabs. An operation that holds a unit gives it back without waiting for another operation that needs one.
 * Allocated while no stream waits for a word, freed with the session. Thread-safe.
 */
final class StagingSlabs {
    /** Largest operation that uses the place of its stream alone, in bytes. */
    static final long PLACE_BYTES = 64 << 10;

    /** Bytes of a unit of the shared slabs. */
    static final long UNIT_BYTES = StreamTransfer.PART_BYTES;

    /** Copies of a stream that may be in flight. */
    static final int CELLS = 128;

    private static final int PLACES_TOGETHER = 64;
    private static final int UNITS = 16;

    /** Most units that are filled at once: larger operations gain nothing from more. */
    private static final int MAX_UNITS = 4;

    /** Direct I/O needs slab and file to agree within a page, so that a slab may begin up to a page late. */
    private static final long UNIT_STRIDE = UNIT_BYTES + Pages.SIZE;

    /** Boards of a stream: a copy runs while the next one is prepared. */
    private static final int BOARDS = 2;

    private static final long SLAB_OFFSET = CELLS * CopyCell.BYTES;
    private static final long BOARD_OFFSET = SLAB_OFFSET + PLACE_BYTES + Pages.SIZE;
    private static final long PLACE_STRIDE = Pages.up(BOARD_OFFSET + BOARDS * PieceBoard.BYTES);

    private final CudaContexts contexts;
    private final Deque<Place> idlePlaces = new ArrayDeque<>();
    private final List<Long> blocks = new ArrayList<>();
    private long units;

    /** One bit for each unit. */
    private int idleUnits;

    /** Number of the next caller that waits for units, and of the one whose turn it is. */
    private long nextTurn;
    private long turn;

    /**
     * Staging memory of one stream.
     *
     * @param cells cells of its copies, in turn
     * @param boards boards of its copies, in turn
     * @param slab slab of small operations
     */
    record Place(List<CopyCell> cells, List<StreamBoard> boards, MemoryRange slab) {
    }

    StagingSlabs(CudaContexts contexts) {
        this.contexts = contexts;
    }

    /**
     * Returns a stream's own place; {@link #giveBack} takes it back.
     *
     * @throws io.gds4j.error.CuFileException if there is no pinned memory for more
     */
    Place takePlace() {
        Place idle = pollPlace();
        while (idle == null) {
            StreamWaits.of(contexts).whileNone(this::grow);
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
        List<StreamBoard> boards = new ArrayList<>();
        for (int i = 0; i < BOARDS; i++) {
            boards.add(new StreamBoard(PieceBoard.at(address + BOARD_OFFSET + i * PieceBoard.BYTES)));
        }
        return new Place(List.copyOf(cells), List.copyOf(boards),
                range(address + SLAB_OFFSET, PLACE_BYTES + Pages.SIZE));
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
     * Waits for units and returns adjacent ones; callers take turns. The caller holds none, its stream waits at the step of the first
     * unit, and it gives the units that it cannot do without back as soon as its stream has copied.
     *
     * @param least units that the caller cannot do without
     * @param most units wanted; see {@link #parts}
     */
    synchronized MemoryRange acquire(int least, int most) {
        long mine = nextTurn++;
        if (turn != mine || runs(least) == 0) {
            Uninterruptibly.await(() -> awaitTurn(mine, least));
        }
        turn++;
        notifyAll();
        return take(Math.max(least, Math.min(most, 1 + spare(1))));
    }

    private synchronized void awaitTurn(long mine, int least) throws InterruptedException {
        long begun = System.nanoTime();
        boolean logged = false;
        while (turn != mine || runs(least) == 0) {
            wait(logged ? 0 : TimeUnit.NANOSECONDS.toMillis(LongWait.NANOS));
            if (!logged && System.nanoTime() - begun >= LongWait.NANOS) {
                logged = true;
                LongWait.log("%s of %s slabs of streams are idle, and %s operations are in front".formatted(
                        Integer.bitCount(idleUnits), UNITS, mine - turn));
            }
        }
    }

    /**
     * Returns units to fill ahead of the stream, or null. The stream may reach them late, behind other streams that need units, too.
     * Hence it returns units only while most are idle.
     */
    synchronized @Nullable MemoryRange tryAcquireAhead(int least, int most) {
        int count = Math.min(most, spare(0));
        return count < least || runs(least) == 0 || turn != nextTurn ? null : take(count);
    }

    private int spare(int taken) {
        return Math.max(0, Integer.bitCount(idleUnits) - taken - UNITS / 2);
    }

    /** Returns {@code parts} adjacent units, or as many as there are. The caller has seen to it that there are enough. */
    private MemoryRange take(int parts) {
        int count = Math.min(parts, MAX_UNITS);
        int runs = runs(count);
        while (runs == 0) {
            count--;
            runs = runs(count);
        }
        int first = Integer.numberOfTrailingZeros(runs);
        idleUnits &= ~(((1 << count) - 1) << first);
        // The offset keeps each part out of the unit before its own, which is given back earlier.
        long skipped = (count - 1) * Pages.SIZE;
        return range(units + first * UNIT_STRIDE + skipped, count * UNIT_BYTES + Pages.SIZE);
    }

    /** Returns a bit for each unit at which {@code count} idle units begin. */
    private int runs(int count) {
        int runs = idleUnits;
        for (int i = 1; i < count; i++) {
            runs &= idleUnits >>> i;
        }
        return runs;
    }

    /** Returns the number of parts that fit into a slab. */
    static int parts(MemoryRange slab) {
        return (int) Math.max(1, slab.length() / UNIT_BYTES);
    }

    /** Gives one unit back. */
    synchronized void release(MemoryRange slab, int part) {
        idleUnits |= 1 << (slab.address() - units) / UNIT_STRIDE + part;
        notifyAll();
    }

    /** Gives all its units back. */
    synchronized void release(MemoryRange slab) {
        for (int part = 0; part < parts(slab); part++) {
            release(slab, part);
        }
    }

    /** Frees all. Every stream has passed or is destroyed. */
    void close() {
        StreamWaits.of(contexts).whileNone(this::free);
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
