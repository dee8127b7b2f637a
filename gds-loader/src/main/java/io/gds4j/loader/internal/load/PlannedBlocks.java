package io.gds4j.loader.internal.load;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.load.Layout.BlockSpec;
import io.gds4j.loader.internal.load.LoadOptions.Target;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryRange;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The destination memory of a layout. */
final class PlannedBlocks {
    /** Most bytes of a file, and least bytes of a block, for files that share one: an allocation takes longer than a small file. */
    private static final long SMALL_FILE = 1 << 20;
    private static final long FULL_BLOCK = 16 << 20;

    private final LoadOptions options;
    private final Ranges ranges;
    private final List<BlockSpec> specs = new ArrayList<>();

    /** For each rank, the last block if small files fill it. */
    private final Map<Integer, Block> filling = new HashMap<>();

    /** For each rank whose slices share memory of the caller, the bytes that are assigned. */
    private final Map<Integer, Long> used = new HashMap<>();

    /** Memory for slices of several boxes, by the file of the first one and by rank, before that file has its turn. */
    private final Map<Path, Map<Integer, Block>> begun = new HashMap<>();

    PlannedBlocks(LoadOptions options, Ranges ranges) {
        this.options = options;
        this.ranges = ranges;
    }

    List<BlockSpec> specs() {
        return specs;
    }

    /** The slices that follow have blocks of their own. */
    void endTurn() {
        filling.clear();
        begun.clear();
    }

    /** Returns memory of the caller for one tensor. */
    Block ofTensor(int rank, Target target, TensorInfo tensor) {
        return new Block(rank, target, tensor);
    }

    /** Returns the block of a rank for slices of several boxes, before the file of the first one has its turn. */
    Block begin(Path home, int rank, Target target) {
        return begun.computeIfAbsent(home, path -> new TreeMap<>())
                .computeIfAbsent(rank, key -> new Block(rank, target));
    }

    /** Returns the block that a file's slices of a rank share; null if each tensor has memory of the caller. */
    @Nullable
    Block of(Path file, int rank, Target target, List<TensorSlice> slices) {
        Block before = begun.getOrDefault(file, Map.of()).get(rank);
        if (before != null) {
            filling.remove(rank); // a block that others follow cannot grow
            return before;
        }
        return target.destinations() == null ? common(rank, target, slices) : null;
    }

    /** Returns the block of a rank for a file: consecutive small files share one. */
    private Block common(int rank, Target target, List<TensorSlice> slices) {
        long bytes = 0;
        for (TensorSlice slice : slices) {
            bytes += slice.rank() == rank ? slice.bytes() : 0;
        }
        if (bytes > SMALL_FILE) {
            filling.remove(rank);
            return new Block(rank, target);
        }
        return filling.compute(rank, (key, block) -> block == null || block.end >= FULL_BLOCK
                ? new Block(rank, target)
                : block);
    }

    /** Destination memory of one rank for one file or several small ones, assigned from its origin upwards, or memory of the caller for one tensor. */
    final class Block {
        private final int index = specs.size();
        private final int rank;
        private final Target target;
        private final boolean fixed;
        private final long originAlignment = ranges.alignment(options.alignment());
        private long end;
        /** Its first byte in the caller's memory, once that is known, and its size with the files so far. */
        private long start = -1;
        private long settled;

        private Block(int rank, Target target) {
            this.rank = rank;
            this.target = target;
            this.fixed = false;
            // a placeholder: finish() knows the size
            specs.add(allocated(0));
        }

        /** Memory of the caller for one tensor. */
        private Block(int rank, Target target, TensorInfo tensor) {
            this.rank = rank;
            this.target = target;
            this.fixed = true;
            MemoryRange range = Objects.requireNonNull(
                    Objects.requireNonNull(target.destinations()).apply(tensor), "destination of " + tensor.name());
            if (range.length() < tensor.length()) {
                throw tooSmall("the destination of tensor %s has %s bytes, it needs %s"
                        .formatted(CheckpointException.quote(tensor.name()), range.length(), tensor.length()));
            }
            DestinationBlock.checkAccess(range);
            specs.add(BlockSpec.of(rank, range, 1));
        }

        int index() {
            return index;
        }

        boolean isFixed() {
            return fixed;
        }

        boolean isOnGpu() {
            return specs.get(index).kind().isCuda();
        }

        /** Reserves room for {@code head} bytes and an aligned run after them; returns the offset of the run. */
        long reserve(long fileOffset, long head, long length) {
            return reserve(ranges.place(end, head, fileOffset, options.alignment()), length);
        }

        /** Reserves aligned room and returns its offset. */
        long reserve(long length) {
            return reserve(Pages.up(end, options.alignment()), length);
        }

        private long reserve(long at, long length) {
            end = at + length;
            return fixed ? 0 : at;
        }

        private BlockSpec allocated(long bytes) {
            return new BlockSpec(rank, bytes, originAlignment, target.kind(), target.device(), null);
        }

        /** Records the size so far, with a file, and the part of the caller's memory if there is one. */
        void finish(Path file) {
            long bytes = end + originAlignment;
            MemoryRange into = target.into();
            if (into == null) {
                specs.set(index, allocated(bytes));
                return;
            }
            start = start < 0 ? used.getOrDefault(rank, 0L) : start;
            if (bytes > into.length() - start) {
                throw tooSmall("the destination%s has %s bytes, of which %s are used; %s needs %s more".formatted(
                        ranges == Ranges.UNITED ? " of rank " + rank : "", into.length(), start + settled, file,
                        bytes - settled));
            }
            specs.set(index, BlockSpec.of(rank, into.slice(start, bytes), originAlignment));
            used.put(rank, start + bytes);
            settled = bytes;
        }

        private static CuFileException tooSmall(String detail) {
            return CuFileException.of(CuFileError.CUDA_POINTER_RANGE_ERROR, "LoadPlan", detail);
        }
    }
}
