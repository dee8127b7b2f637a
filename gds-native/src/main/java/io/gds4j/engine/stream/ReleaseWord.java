package io.gds4j.engine.stream;

import io.gds4j.engine.memory.HostMemoryViews;
import io.gds4j.ffi.posix.ExitHandlers;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/**
 * A pinned word that a CUDA stream waits for: the stream goes on once it is at least what the stream waits for. It only ever
 * grows, also when the next stream uses it: the last one may not have looked yet. When the process ends it is set to
 * {@link ExitHandlers#PASSED}, which is at least what any of the first 2^31 waits is for; a stream that waits for a later one is
 * not let pass then. Belongs to {@link ReleaseWords}.
 */
final class ReleaseWord {
    private static final VarHandle WORD = ValueLayout.JAVA_INT.varHandle();

    /** Behind what an exit handler may write; a stream polls the word, which has cache lines of its own. */
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
     * Nobody has waited for it.
     *
     * @param block address of the memory that it is freed with
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

    /** For kernels that shall copy nothing. */
    CopyCell emptyCell() {
        return emptyCell;
    }

    /** What the next wait is for; {@link #waitsForNext} once the stream waits. By one thread at a time, as the other. */
    int next() {
        return turns + 1;
    }

    void waitsForNext() {
        turns = turns + 1;
    }

    /** What the last wait is for. */
    int turns() {
        return turns;
    }

    /** Lets the stream pass the wait for this value and all before it. From any thread: what was let pass stays so. */
    void release(int value) {
        int now = (int) WORD.getAcquire(word, 0L);
        while (value - now > 0 && !WORD.compareAndSet(word, 0L, now, value)) {
            now = (int) WORD.getAcquire(word, 0L);
        }
    }

    /** Lets the stream pass all waits, and one that is being put into it. */
    void releaseAll() {
        release(turns + 1);
    }

    /** From the first call on, the end of the process lets the stream pass, too, if a handler can. By one thread at a time. */
    void passAtExit(ExitHandlers handlers) {
        passedAtExit = passedAtExit || handlers.add(address, block);
    }

    /** After {@link ExitHandlers#runAndForget}: false if the word's handler did not run, and so may yet. */
    boolean isForgotten() {
        return !passedAtExit || (int) WORD.getAcquire(word, 0L) == ExitHandlers.PASSED;
    }
}
