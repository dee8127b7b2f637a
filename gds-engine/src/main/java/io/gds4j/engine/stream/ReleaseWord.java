package io.gds4j.engine.stream;

import io.gds4j.engine.kernel.CopyCell;
import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.ffi.posix.ExitHandlers;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * A pinned word that a CUDA stream waits for: the stream passes once the word has reached the value of the wait. The word only grows,
 * also when the next stream uses it: the last stream may not have read it yet. When the process ends it is set to
 * {@link ExitHandlers#PASSED}, which lets the first 2^31 waits pass; a later wait is not let pass then. Belongs to
 * {@link ReleaseWords}.
 */
final class ReleaseWord {
    private static final VarHandle WORD = ValueLayout.JAVA_INT.varHandle();

    /** Behind the bytes that an exit handler may write. The word has cache lines of its own, because a stream polls it. */
    private static final long CELL_OFFSET = ExitHandlers.BYTES;

    /** A word and a cell. */
    static final long BYTES = CELL_OFFSET + CopyCell.BYTES;

    private final long address;
    private final long block;
    private final MemorySegment word;
    private final CopyCell emptyCell;
    private volatile int turns;
    private boolean passedAtExit;

    /**
     * Makes a word that no stream has waited for.
     *
     * @param block address of the memory block that contains it
     */
    ReleaseWord(long address, long block) {
        this.address = address;
        this.block = block;
        this.word = HostMemoryViews.ofAddress(address, Integer.BYTES);
        this.emptyCell = CopyCell.at(address + CELL_OFFSET);
        WORD.setRelease(word, 0L, 0);
        emptyCell.clear();
    }

    long address() {
        return address;
    }

    /** Returns the cell of kernels that copy nothing. */
    CopyCell emptyCell() {
        return emptyCell;
    }

    /** Returns the value of the next wait. The caller calls {@link #waitsForNext} once the stream waits; one thread at a time. */
    int next() {
        return turns + 1;
    }

    void waitsForNext() {
        turns = turns + 1;
    }

    /** Returns the value of the last wait. */
    int turns() {
        return turns;
    }

    /** Lets the stream pass the wait for this value and all waits before it. Any thread may call it. */
    void release(int value) {
        int now = (int) WORD.getAcquire(word, 0L);
        while (value - now > 0 && !WORD.compareAndSet(word, 0L, now, value)) {
            now = (int) WORD.getAcquire(word, 0L);
        }
    }

    /** Lets the stream pass all waits, including one that is being put into it. */
    void releaseAll() {
        release(turns + 1);
    }

    /** Lets the stream pass when the process ends, if an exit handler can. One thread at a time. */
    void passAtExit(ExitHandlers handlers) {
        passedAtExit = passedAtExit || handlers.add(address, block);
    }

    /** Called after {@link ExitHandlers#runAndForget}. Returns false if the word's handler did not run and may still run. */
    boolean isForgotten() {
        return !passedAtExit || (int) WORD.getAcquire(word, 0L) == ExitHandlers.PASSED;
    }
}
