package io.gds4j.libcufile;

import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaContexts;
import io.gds4j.ffi.cuda.CudaErrors;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.libcufile.guard.SessionBuffers;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * GPU memory of a session for scattered reads: the library fills it, and copies to the destinations follow. Each GPU has up to
 * {@link #MAX_STAGES} blocks, made at first use and kept until {@link #close}. A thread holds one block at most, so a thread that waits
 * for one gets it. Thread-safe.
 */
final class DeviceStages {
    /** Size of a block in bytes: as much as the library moves in one call. */
    static final long BYTES = 16L << 20;
    /** Blocks of a GPU: as many as the loader has long requests in flight for one GPU. */
    static final int MAX_STAGES = 4;

    private final CudaContexts contexts;
    private final StreamWaits waits;
    private final SessionBuffers buffers;
    private final boolean registers;
    private final Map<Integer, Blocks> byGpu = new HashMap<>();
    private boolean closed;

    /** The blocks of a GPU. */
    private static final class Blocks {
        private final List<MemoryRange> all = new ArrayList<>();
        private final Deque<MemoryRange> idle = new ArrayDeque<>();

        /** Number of blocks. A block counts from the moment at which a thread begins to make it. */
        private int count;

        /** Largest number of blocks. It falls when the GPU has no memory for another one. */
        private int most = MAX_STAGES;
    }

    /** @param registers registers blocks, which costs as much host memory where the library does not read directly */
    DeviceStages(CudaContexts contexts, SessionBuffers buffers, boolean registers) {
        this.contexts = contexts;
        this.waits = StreamWaits.of(contexts);
        this.buffers = buffers;
        this.registers = registers;
    }

    /**
     * Waits for a block of a GPU; closing the allocation gives it back.
     *
     * @throws CuFileException if the GPU has no memory for the first block, or the session is closed
     */
    MemoryAllocation take(int gpu) {
        MemoryRange block = idle(gpu);
        return MemoryAllocation.of(block, () -> giveBack(gpu, block));
    }

    private MemoryRange idle(int gpu) {
        MemoryRange block = pollOrCount(gpu);
        while (block == null) {
            make(gpu);
            block = pollOrCount(gpu);
        }
        return block;
    }

    /** Returns null if the caller makes a block. More than one is made only while no stream waits: else a held one comes sooner. */
    private synchronized @Nullable MemoryRange pollOrCount(int gpu) {
        if (closed) {
            throw OpenLibrary.closed("cuFileRead");
        }
        Blocks blocks = byGpu.computeIfAbsent(gpu, key -> new Blocks());
        Uninterruptibly.await(() -> {
            while (blocks.idle.isEmpty() && !mayMake(blocks)) {
                wait();
            }
        });
        if (blocks.idle.isEmpty()) {
            blocks.count++;
        }
        return blocks.idle.poll();
    }

    private boolean mayMake(Blocks blocks) {
        return blocks.count == 0 || blocks.count < blocks.most && !waits.any();
    }

    private synchronized void giveBack(int gpu, MemoryRange block) {
        byGpu.get(gpu).idle.push(block);
        notifyAll();
    }

    /** Adds a block. If that fails, a thread can still wait for a block that another one holds. Holds no lock while it waits. */
    private void make(int gpu) {
        MemoryRange block = null;
        try {
            block = allocate(gpu);
            register(block);
        } catch (CuFileException e) {
            if (isOnly(gpu)) {
                throw e;
            }
        } finally {
            made(gpu, block);
        }
    }

    private MemoryRange allocate(int gpu) {
        Cuda cuda = contexts.cuda();
        long[] address = new long[1];
        int result = waits.whileNone(contexts, contexts.primary(gpu), () -> cuda.memAlloc(address, BYTES));
        if (result != Cuda.SUCCESS) {
            throw CudaErrors.failure(cuda, "cuMemAlloc", result).range(-1, BYTES).build();
        }
        return MemoryRange.ofAddress(address[0], BYTES, MemoryKind.CUDA_DEVICE, gpu);
    }

    private synchronized boolean isOnly(int gpu) {
        return byGpu.get(gpu).count == 1;
    }

    private synchronized void made(int gpu, @Nullable MemoryRange block) {
        Blocks blocks = byGpu.get(gpu);
        if (block == null) {
            blocks.count--;
            blocks.most = Math.max(1, blocks.count);
        } else {
            blocks.all.add(block);
            blocks.idle.push(block);
        }
        notifyAll();
    }

    private void register(MemoryRange block) {
        if (registers) {
            try {
                buffers.register(block, 0);
            } catch (CuFileException limit) {
                // reads into it work unregistered, through memory of the library
            }
        }
    }

    /** Frees all blocks, after the session has forgotten its buffers; none is in use. */
    synchronized void close() {
        closed = true;
        byGpu.forEach((gpu, blocks) -> blocks.all.forEach(block -> waits.whileNone(
                contexts, contexts.primary(gpu), () -> contexts.cuda().memFree(block.address()))));
        byGpu.clear();
    }
}
