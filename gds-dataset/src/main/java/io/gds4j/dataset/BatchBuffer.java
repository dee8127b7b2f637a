package io.gds4j.dataset;

import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * One buffer of the ring: its place in the memory, the batch that it holds, and the reads that fill it. The ring's lock guards the
 * state; between planning and delivery the arrays belong to the readers.
 */
final class BatchBuffer {
    /** What a buffer is doing. */
    enum State {
        FREE,
        PLANNING,
        READING,
        READY,
        HELD,
        PASSING
    }

    /** What {@link #claim} returns when all tasks are taken. */
    static final int NO_TASK = -1;

    /** Value of the marker's result until the stream has passed it. No result of an operation is as low. */
    private static final long PENDING = Long.MIN_VALUE;

    /** First byte in the memory of the ring. */
    final long base;

    State state = State.FREE;
    long position;
    int count;
    long bytes;
    /** Numbers of the batch's records. */
    final long[] records;
    /** Offset of each record in this buffer, and the end of the last. */
    final long[] offsets;

    /** Reads that fill the buffer: each serves consecutive records that are neighbours in their file. */
    int runs;
    final int[] runFirst;
    final int[] runFile;
    final long[] runFileOffset;

    /** Consecutive runs that one reader reads: a long one, or several short ones. */
    int tasks;
    final int[] taskFirst;
    /** The number of tasks to claim in the upper half, and the next in the lower: no reader takes a lock, or one of another batch. */
    private final AtomicLong claims = new AtomicLong();
    private final AtomicInteger unfinished = new AtomicInteger();
    /** Records that could not be read; written by the readers of their runs. */
    final boolean[] bad;
    volatile boolean anyBad;
    int skipped;
    @Nullable
    Throwable failure;

    private CuFileStream.@Nullable Cells cells;
    private @Nullable MemoryAllocation marker;

    BatchBuffer(long base, int batch) {
        this.base = base;
        this.records = new long[batch];
        this.offsets = new long[batch + 1];
        this.runFirst = new int[batch + 1];
        this.runFile = new int[batch];
        this.runFileOffset = new long[batch];
        this.taskFirst = new int[batch + 1];
        this.bad = new boolean[batch];
    }

    /** Returns the bytes of the arrays of a buffer. */
    static long heapBytes(int batch) {
        return batch * (3L * Long.BYTES + 3L * Integer.BYTES + 1);
    }

    void begin(long from, int number) {
        state = State.PLANNING;
        position = from;
        count = number;
        runs = 0;
        tasks = 0;
        skipped = 0;
        failure = null;
        if (anyBad) {
            Arrays.fill(bad, false);
            anyBad = false;
        }
    }

    /** Offers the planned tasks to the readers. */
    void publish() {
        state = State.READING;
        unfinished.set(tasks);
        claims.set((long) tasks << Integer.SIZE);
    }

    /** Offers no more tasks: the rest of the batch is not needed. */
    void withdraw() {
        claims.set(0);
    }

    boolean isClaimable() {
        long known = claims.get();
        return (int) known < (int) (known >>> Integer.SIZE);
    }

    /** Returns a task that no other reader has; {@link #NO_TASK} if all are taken. */
    int claim() {
        if (!isClaimable()) {
            return NO_TASK;
        }
        long claimed = claims.getAndIncrement();
        return (int) claimed < (int) (claimed >>> Integer.SIZE) ? (int) claimed : NO_TASK;
    }

    /** Ends a claimed task; returns true for the last. */
    boolean finish() {
        return unfinished.decrementAndGet() == 0;
    }

    boolean isPlanning() {
        return state == State.PLANNING;
    }

    /** Tells whether reads of a buffer in flight are left. */
    boolean isIncomplete() {
        return state != State.READY;
    }

    long runBytes(int run) {
        return offsets[runFirst[run + 1]] - offsets[runFirst[run]];
    }

    /** Returns where a run begins in the memory of the ring. */
    long runStart(int run) {
        return base + offsets[runFirst[run]];
    }

    /** Queues a read of no bytes, whose result says when the stream has passed it. */
    void mark(CuFileStream stream, CuFileHandle file, MemoryAllocator allocator) {
        CuFileStream.Cells result = cells;
        if (result == null) {
            result = CuFileStream.Cells.of(0, 0, 0);
            cells = result;
        }
        MemoryAllocation target = marker;
        if (target == null) {
            target = allocator.allocate(MemoryKind.HOST, Long.BYTES);
            marker = target;
        }
        result.result().set(ValueLayout.JAVA_LONG, 0, PENDING);
        stream.read(file, target, result);
    }

    /** Tells whether the stream has passed the marker. */
    boolean hasPassed() {
        CuFileStream.Cells result = cells;
        return result == null || result.bytesDone() != PENDING;
    }

    /**
     * Waits until the stream has passed the marker: closing memory waits for the operations that use it. A failed operation may set
     * its result later, or never, so the next marker has other cells.
     */
    void awaitPassed() {
        MemoryAllocation target = marker;
        marker = null;
        if (target != null) {
            target.close();
        }
        cells = null;
    }
}
