package io.gds4j.dataset;

import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
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

    int claimedRuns;
    int finishedRuns;
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
        this.bad = new boolean[batch];
    }

    void begin(long from, int number) {
        state = State.PLANNING;
        position = from;
        count = number;
        runs = 0;
        claimedRuns = 0;
        finishedRuns = 0;
        skipped = 0;
        failure = null;
        if (anyBad) {
            Arrays.fill(bad, false);
            anyBad = false;
        }
    }

    boolean isClaimable() {
        return state == State.READING && claimedRuns < runs;
    }

    boolean isComplete() {
        return state == State.READY;
    }

    long runBytes(int run) {
        return offsets[runFirst[run + 1]] - offsets[runFirst[run]];
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
        result.bytesDone().set(ValueLayout.JAVA_LONG, 0, PENDING);
        stream.read(file, target, result);
    }

    /** Tells whether the stream has passed the marker. */
    boolean hasPassed() {
        CuFileStream.Cells result = cells;
        return result == null || result.result() != PENDING;
    }

    /** Waits until the stream has passed the marker: closing memory waits for the operations that use it. */
    void awaitPassed() {
        MemoryAllocation target = marker;
        marker = null;
        if (target != null) {
            target.close();
        }
    }
}
