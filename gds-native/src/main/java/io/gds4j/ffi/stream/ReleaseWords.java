package io.gds4j.ffi.stream;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.ffi.cuda.StreamWaits;
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
    private final StreamWaits waits;
    private final Deque<ReleaseWord> idle = new ArrayDeque<>();
    private final List<Long> blocks = new ArrayList<>();

    ReleaseWords(CudaContexts contexts) {
        this.contexts = contexts;
        this.waits = contexts.streamWaits();
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
        return idle.pop();
    }

    synchronized void giveBack(ReleaseWord word) {
        idle.push(word);
    }

    private void allocate() {
        Cuda cuda = contexts.cuda();
        long[] pointer = new long[1];
        int flags = Cuda.MEM_HOST_PORTABLE | Cuda.MEM_HOST_DEVICEMAP;
        CudaErrors.check(
                cuda,
                "cuMemHostAlloc",
                contexts.in(contexts.primary(0), () -> cuda.memHostAlloc(pointer, WORDS * ReleaseWord.BYTES, flags)));
        blocks.add(pointer[0]);
        for (int i = 0; i < WORDS; i++) {
            idle.add(new ReleaseWord(pointer[0] + i * ReleaseWord.BYTES));
        }
    }

    /** Frees all; every stream has passed or is gone. */
    synchronized void close() {
        if (!blocks.isEmpty()) {
            waits.whileNone(this::free);
        }
        idle.clear();
    }

    private void free() {
        Cuda cuda = contexts.cuda();
        for (long block : blocks) {
            contexts.in(contexts.primary(0), () -> cuda.memFreeHost(block));
        }
        blocks.clear();
    }
}
