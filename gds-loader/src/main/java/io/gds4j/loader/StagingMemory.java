package io.gds4j.loader;

import io.gds4j.loader.Layout.Gather;
import io.gds4j.loader.Layout.Piece;
import io.gds4j.loader.Layout.Placed;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Host memory of one worker for gathered tensors: one half takes what is read, in the other the tensors are set at their
 * distances, so that a single copy takes all of them to a GPU. Not thread-safe.
 */
final class StagingMemory implements AutoCloseable {
    private final MemoryAllocator allocator;
    private final MemoryAllocation allocation;
    private final MemoryRange files;
    private final MemorySegment read;
    private final MemorySegment image;

    StagingMemory(MemoryAllocator allocator, long bytes) {
        this.allocator = allocator;
        this.allocation = allocator.allocate(MemoryKind.HOST, 2 * bytes);
        this.files = allocation.range().slice(0, bytes);
        MemorySegment all = allocation
                .range()
                .segment()
                .orElseThrow(() -> new AssertionError("host memory without a segment"));
        this.read = all.asSlice(0, bytes);
        this.image = all.asSlice(bytes, bytes);
    }

    /** Where the file's bytes go. */
    MemoryRange files() {
        return files;
    }

    /** Copies what was read to the places of its tensors. */
    void place(Layout layout, Gather gather, List<Slab> slabs) {
        boolean oneByOne = gather.slab() < 0
                || slabs.get(gather.slab()).memory().segment().isPresent();
        long end = 0;
        for (Piece piece : gather.pieces()) {
            Placed placed = layout.tensors().get(piece.tensor());
            long length = placed.tensor().length();
            MemorySegment from = read.asSlice(piece.stagingOffset(), length);
            if (oneByOne) {
                allocator.copyFromHost(from, slabs.get(placed.slab()).range(placed.offset(), length));
            } else {
                long offset = placed.offset() - gather.imageOffset();
                image.asSlice(end, offset - end).fill((byte) 0);
                image.asSlice(offset, length).copyFrom(from);
                end = offset + length;
            }
        }
        if (!oneByOne) {
            MemoryRange to = slabs.get(gather.slab()).range(gather.imageOffset(), gather.imageBytes());
            allocator.copyFromHost(image.asSlice(0, gather.imageBytes()), to);
        }
    }

    @Override
    public void close() {
        allocation.close();
    }
}
