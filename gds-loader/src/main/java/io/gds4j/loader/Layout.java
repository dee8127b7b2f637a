package io.gds4j.loader;

import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where every tensor of a plan goes, and which reads bring it there.
 *
 * @param files files to read
 * @param blocks destination memory
 * @param tensors tensors with their places, file by file in the order of their data
 * @param works reads in the order of the files; they are independent of each other
 * @param aliases for a tensor, the other ones that are the same bytes in the same place; both are indices into {@code tensors}
 */
record Layout(
        List<CheckpointFile> files,
        List<BlockSpec> blocks,
        List<Placed> tensors,
        List<Work> works,
        Map<Integer, List<Integer>> aliases) {
    /**
     * A block of destination memory to allocate or to use.
     *
     * @param bytes size, with room to move the origin to a multiple of {@code alignment}
     * @param alignment alignment of the origin in bytes; offsets count from the origin
     * @param kind kind of the memory
     * @param device GPU of the memory, or {@link MemoryRange#NO_DEVICE}
     * @param callerMemory memory of the caller, or null if the loader allocates
     */
    record BlockSpec(long bytes, long alignment, MemoryKind kind, int device, @Nullable MemoryRange callerMemory) {
        /** Returns a block of the caller's memory. */
        static BlockSpec of(MemoryRange memory, long alignment) {
            return new BlockSpec(memory.length(), alignment, memory.kind(), memory.device(), memory);
        }

        /** Returns the bytes from {@code address} to the first aligned address. */
        long originOffset(long address) {
            return -address & (alignment - 1);
        }
    }

    /** A tensor and its place: a block and the bytes from that block's origin. */
    record Placed(TensorInfo tensor, int block, long offset) {
    }

    /**
     * A unit of work for one thread. Code distinguishes the kinds with instanceof: linking a pattern switch takes longer than
     * a small load.
     */
    sealed interface Work extends FileWork {
        /** First byte in the file. */
        long fileOffset();
    }

    /**
     * One read straight to the destination. It may begin or end within a tensor, and begin before the first one.
     *
     * @param last the last tensor of which it brings bytes
     * @param block destination
     * @param blockOffset offset of the first byte from the block's origin
     */
    record Direct(
            int file, long fileOffset, long length, int first, int last, long tensorBytes, int block, long blockOffset)
            implements
                Work {
        @Override
        public int tensorCount() {
            return last - first + 1;
        }

        @Override
        public int tensor(int i) {
            return first + i;
        }
    }

    /**
     * Reads of small tensors into host memory, from which each tensor is copied to its place.
     *
     * @param extents ranges of the file to read
     * @param pieces tensors within the extents
     * @param block destination of the image, or -1 if each tensor has memory of its own
     * @param imageOffset offset of the image from the block's origin; the image holds all pieces at their final distances
     * @param imageBytes length of the image
     */
    record Gather(
            int file,
            List<Extent> extents,
            List<Piece> pieces,
            long tensorBytes,
            int block,
            long imageOffset,
            long imageBytes)
            implements
                Work {
        @Override
        public long fileOffset() {
            return extents.getFirst().fileOffset();
        }

        @Override
        public int tensorCount() {
            return pieces.size();
        }

        @Override
        public int tensor(int i) {
            return pieces.get(i).tensor();
        }
    }

    /** A range of the file and its offset in the staging memory. */
    record Extent(long fileOffset, long length, long stagingOffset) {
    }

    /** A tensor (index into {@link Layout#tensors}) and its offset in the staging memory. */
    record Piece(int tensor, long stagingOffset) {
    }

    /** Returns the bytes of destination memory. */
    long destinationBytes() {
        long sum = 0;
        for (BlockSpec block : blocks) {
            sum += block.bytes();
        }
        return sum;
    }

    /** Returns the bytes of one half of the {@link StagingMemory} that every gather fits; 0 if there is none. */
    long gatherBytes() {
        long most = 0;
        for (Work work : works) {
            if (work instanceof Gather gather) {
                Extent last = gather.extents.getLast();
                most = Math.max(most, Math.max(last.stagingOffset + last.length, gather.imageBytes));
            }
        }
        return most;
    }

    /** Returns the bytes of all tensors; bytes that tensors share count once for each time they are read. */
    long tensorBytes() {
        long sum = 0;
        for (Work work : works) {
            sum += work.tensorBytes();
        }
        return sum;
    }
}
