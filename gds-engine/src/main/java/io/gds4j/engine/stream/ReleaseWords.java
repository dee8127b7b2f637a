package io.gds4j.engine.stream;

import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.ffi.posix.ExitHandlers;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The words that CUDA streams wait for, many in one block of pinned memory. Allocating and freeing pinned memory waits for all streams,
 * so that neither may happen while a stream waits for a word. The session frees them. Thread-safe.
 */
final class ReleaseWords {
    private static final int WORDS = 1024;

    private final CudaContexts contexts;
    private final ExitHandlers exit;
    private final StreamWaits waits;
    private final Deque<ReleaseWord> idle = new ArrayDeque<>();
    private final List<Block> blocks = new ArrayList<>();
    private boolean closed;

    /** A block of pinned memory. */
    private record Block(long address, List<ReleaseWord> words) {
    }

    ReleaseWords(CudaContexts contexts, ExitHandlers exit) {
        this.contexts = contexts;
        this.exit = exit;
        this.waits = StreamWaits.of(contexts);
    }

    /**
     * Returns a word for a stream; {@link #giveBack} takes it back.
     *
     * @throws io.gds4j.error.CuFileException if there is no pinned memory for more
     */
    ReleaseWord take() {
        ReleaseWord word = poll();
        while (word == null) {
            waits.whileNone(this::allocate); // outside the monitor: a stream that is deregistered meanwhile needs it
            word = poll();
        }
        return word;
    }

    private synchronized @Nullable ReleaseWord poll() {
        ReleaseWord word = idle.poll();
        if (word != null) {
            // Now, not when the block is made: the handler must be younger than that of a library that waits for streams.
            word.passAtExit(exit);
        }
        return word;
    }

    /** Takes a word back; its memory may be freed already. */
    synchronized void giveBack(ReleaseWord word) {
        if (!closed) {
            idle.push(word);
        }
    }

    private synchronized void allocate() {
        if (!idle.isEmpty()) {
            return;
        }
        Cuda cuda = contexts.cuda();
        long[] pointer = new long[1];
        int flags = Cuda.MEM_HOST_PORTABLE | Cuda.MEM_HOST_DEVICEMAP;
        CudaErrors.check(
                cuda,
                "cuMemHostAlloc",
                contexts.in(contexts.primary(0), () -> cuda.memHostAlloc(pointer, WORDS * ReleaseWord.BYTES, flags)));
        List<ReleaseWord> words = new ArrayList<>();
        for (int i = 0; i < WORDS; i++) {
            words.add(new ReleaseWord(pointer[0] + i * ReleaseWord.BYTES, pointer[0]));
        }
        blocks.add(new Block(pointer[0], words));
        idle.addAll(words);
    }

    /** Frees all words. Every stream has passed or is destroyed. */
    synchronized void close() {
        if (!blocks.isEmpty()) {
            waits.whileNone(this::free);
        }
        idle.clear();
        closed = true;
    }

    private void free() {
        Cuda cuda = contexts.cuda();
        for (Block block : blocks) {
            exit.runAndForget(block.address());
            // Else the block leaks: its handler would write to memory that was freed.
            if (block.words().stream().allMatch(ReleaseWord::isForgotten)) {
                contexts.in(contexts.primary(0), () -> cuda.memFreeHost(block.address()));
            }
        }
        blocks.clear();
    }
}
