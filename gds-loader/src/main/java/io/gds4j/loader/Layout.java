package io.gds4j.loader;

import io.gds4j.memory.MemoryRange;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where every tensor of a plan goes and which reads bring it there.
 *
 * @param files files that are read
 * @param slabs destination memory
 * @param tensors placed tensors, file by file in the order of their data
 * @param works reads in the order of the files; each may run on its own
 */
record Layout(List<CheckpointFile> files, List<SlabSpec> slabs, List<Placed> tensors, List<Work> works) {
    /**
     * A piece of destination memory.
     *
     * @param bytes what it takes, with room to move its origin to a multiple of {@code alignment}
     * @param alignment of the origin, from which offsets count
     * @param foreign memory of the caller, or null where the loader allocates
     */
    record SlabSpec(long bytes, long alignment, @Nullable MemoryRange foreign) {
        /** Bytes from an address to the first aligned one. */
        long originOffset(long address) {
            return -address & (alignment - 1);
        }
    }

    /** A tensor and its place: bytes from a slab's origin. */
    record Placed(TensorInfo tensor, int slab, long offset) {
    }

    /** A unit of work for one thread. Told apart by instanceof: a pattern switch takes longer to link than a load has. */
    sealed interface Work {
        /** Index into {@link Layout#files}. */
        int file();

        /** First byte in the file. */
        long fileOffset();

        /** Tensors that it brings bytes of. */
        int tensorCount();

        /** One of them: an index into {@link Layout#tensors}. */
        int tensor(int i);

        /** Tensor bytes that it brings. */
        long tensorBytes();
    }

    /**
     * One read straight to the destination; may begin or end within a tensor, and begin before the first one.
     *
     * @param last the last tensor it brings bytes of
     * @param slab destination
     * @param slabOffset where the first byte goes
     */
    record Direct(
            int file, long fileOffset, long length, int first, int last, long tensorBytes, int slab, long slabOffset)
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
     * Reads of small tensors into host memory, from where each is copied to its place.
     *
     * @param extents what to read
     * @param pieces tensors within what was read
     * @param slab destination of the image, or -1 if each tensor goes to memory of its own
     * @param imageOffset where the image of all pieces stands in the slab
     * @param imageBytes its length
     */
    record Gather(
            int file,
            List<Extent> extents,
            List<Piece> pieces,
            long tensorBytes,
            int slab,
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

    /** A range of the file and where it goes in the staging memory. */
    record Extent(long fileOffset, long length, long stagingOffset) {
    }

    /** A tensor (index into {@link Layout#tensors}) within the staging memory. */
    record Piece(int tensor, long stagingOffset) {
    }

    /** Bytes of destination memory. */
    long destinationBytes() {
        long sum = 0;
        for (SlabSpec slab : slabs) {
            sum += slab.bytes();
        }
        return sum;
    }

    /** Tensor bytes. */
    long tensorBytes() {
        long sum = 0;
        for (Work work : works) {
            sum += work.tensorBytes();
        }
        return sum;
    }
}
