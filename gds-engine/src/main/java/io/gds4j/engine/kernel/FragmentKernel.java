package io.gds4j.engine.kernel;

import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import org.jspecify.annotations.Nullable;

/**
 * A kernel that makes all copies of a {@link FragmentTable}: one launch in place of a call of the driver for each fragment. On one H100, 2 MiB
 * as 64 fragments of 32 KiB reach 48 GB/s with a kernel for each slab, and 10 GB/s with a copy for each fragment.
 */
public final class FragmentKernel {
    static final int THREADS = 512;

    /** Fewest bytes that a block copies: a vector for each thread. */
    static final long UNIT_BYTES = 16L * THREADS;

    /** Most blocks for a fragment. */
    private static final long MAX_PARTS = 64;

    private final long function;

    private FragmentKernel(long function) {
        this.function = function;
    }

    /**
     * Loads it into the current context, for the life of the context. Loading and the first launch, which is made here, may wait for
     * all streams.
     *
     * @return null if the driver refuses; copy engines serve all fragments then
     */
    static @Nullable FragmentKernel load(Cuda cuda) {
        try {
            FragmentKernel kernel = new FragmentKernel(
                    KernelLoader.function(cuda, KernelLoader.module(cuda, Ptx.fragments()), Ptx.FRAGMENTS));
            KernelLoader.launchOnce(cuda, FragmentTable.BYTES, (memory, stream) -> {
                FragmentTable table = FragmentTable.at(memory);
                table.clear();
                table.add(memory, memory, 0);
                return kernel.launch(cuda, table, stream);
            });
            return kernel;
        } catch (CuFileException e) {
            return null;
        }
    }

    /**
     * Puts it into a stream of its context, which is current.
     *
     * @param table holds one copy or more, between pinned memory and memory of the context
     * @return a {@code CUresult}
     */
    public int launch(Cuda cuda, FragmentTable table, long stream) {
        long parts = Math.clamp(Math.ceilDiv(table.largest(), UNIT_BYTES), 1, MAX_PARTS);
        return cuda.launchKernel(function, table.count() * (int) parts, THREADS, table.address(), parts, 0, stream);
    }
}
