package io.gds4j.ffi.stream;

import io.gds4j.ffi.cuda.CopyCell;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
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

    /** Bytes that a shared slab takes. */
    static final long SLAB_BYTES = 8 << 20;

    /** Copies of a stream that may be under way. */
    static final int CELLS = 128;

    /** A slab begins where the file does within a page, as direct I/O wants it. */
    private static final long PAGE = 4096;

    private static final int PLACES_TOGETHER = 64;
    private static final int SLABS = 6;

    private static final long PLACE_STRIDE = CELLS * CopyCell.BYTES + PLACE_BYTES + PAGE;

    private final CudaContexts contexts;
    private final Deque<Place> idlePlaces = new ArrayDeque<>();
    private final Deque<MemoryRange> idleSlabs = new ArrayDeque<>();
    private final List<Long> blocks = new ArrayList<>();
    private boolean hasSlabs;

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
        if (!hasSlabs) {
            long address = allocate(SLABS * (SLAB_BYTES + PAGE));
            for (int i = 0; i < SLABS; i++) {
                idleSlabs.add(range(address + i * (SLAB_BYTES + PAGE), SLAB_BYTES + PAGE));
            }
            hasSlabs = true;
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

    /** A shared slab; waits for one. For who holds none and gives it back as soon as its stream has copied. */
    synchronized MemoryRange acquire() {
        boolean interrupted = false;
        while (idleSlabs.isEmpty()) {
            try {
                wait();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return idleSlabs.pop();
    }

    /** A second slab, to be filled ahead of the stream, which may take its time: one is given only while most are idle. */
    synchronized @Nullable MemoryRange tryAcquireAhead() {
        return idleSlabs.size() > SLABS / 2 ? idleSlabs.pop() : null;
    }

    synchronized void release(MemoryRange slab) {
        idleSlabs.push(slab);
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
        idleSlabs.clear();
    }
}
