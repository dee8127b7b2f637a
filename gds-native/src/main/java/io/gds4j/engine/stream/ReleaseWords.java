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

/**
 * The words that CUDA streams wait for, many in one piece of pinned memory: allocating and freeing pinned memory waits for all
 * streams, so neither may happen while one of them waits for us. Freed with the session. Thread-safe.
 */
final class ReleaseWords {
    private static final int WORDS = 1024;

    private final CudaContexts contexts;
    private final ExitHandlers exit;
    private final StreamWaits waits;
    private final Deque<ReleaseWord> idle = new ArrayDeque<>();
    private final List<Block> blocks = new ArrayList<>();
    private boolean closed;

    /** A piece of pinned memory. */
    private record Block(long address, List<ReleaseWord> words) {
    }

    ReleaseWords(CudaContexts contexts, ExitHandlers exit) {
        this.contexts = contexts;
        this.exit = exit;
        this.waits = StreamWaits.of(contexts);
    }

    /**
     * A word for a stream; to be given back.
     *
     * @throws io.gds4j.error.CuFileException if there is no pinned memory for more
     */
    synchronized ReleaseWord take() {
        if (idle.isEmpty()) {
            waits.whileNone(this::allocate);
        }
        ReleaseWord word = idle.pop();
        // Not all at once: a handler must be younger than that of a library which waits for streams.
        word.passAtExit(exit);
        return word;
    }

    /** Its memory may be gone by then. */
    synchronized void giveBack(ReleaseWord word) {
        if (!closed) {
            idle.push(word);
        }
    }

    private void allocate() {
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

    /** Frees all; every stream has passed or is gone. */
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
            // Else it stays: better than a handler that writes to memory which is no longer ours.
            if (block.words().stream().allMatch(ReleaseWord::isForgotten)) {
                contexts.in(contexts.primary(0), () -> cuda.memFreeHost(block.address()));
            }
        }
        blocks.clear();
    }
}
