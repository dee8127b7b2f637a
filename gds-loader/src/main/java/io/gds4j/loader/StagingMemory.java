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
 * Host memory of one worker for gathered tensors. Reads fill one half. The other half holds an image of the tensors at their
 * final distances, so that a single copy moves all of them to a GPU. Not thread-safe.
 */
final class StagingMemory implements AutoCloseable {
    private final MemoryAllocator allocator;
    private final MemoryAllocation allocation;
    private final MemoryRange files;
    private final MemorySegment read;
    private final MemorySegment image;

    /**
     * Allocates both halves.
     *
     * @param bytes size of one half
     */
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

    /** Returns the half that reads fill. */
    MemoryRange files() {
        return files;
    }

    /** Copies the tensors from the bytes that were read to their places. */
    void place(Layout layout, Gather gather, List<DestinationBlock> blocks) {
        boolean oneByOne = gather.block() < 0
                || blocks.get(gather.block()).memory().segment().isPresent();
        long end = 0;
        for (Piece piece : gather.pieces()) {
            Placed placed = layout.tensors().get(piece.tensor());
            long length = placed.tensor().length();
            MemorySegment from = read.asSlice(piece.stagingOffset(), length);
            if (oneByOne) {
                allocator.copyFromHost(from, blocks.get(placed.block()).range(placed.offset(), length));
            } else {
                long offset = placed.offset() - gather.imageOffset();
                image.asSlice(end, offset - end).fill((byte) 0);
                image.asSlice(offset, length).copyFrom(from);
                end = offset + length;
            }
        }
        if (!oneByOne) {
            MemoryRange to = blocks.get(gather.block()).range(gather.imageOffset(), gather.imageBytes());
            allocator.copyFromHost(image.asSlice(0, gather.imageBytes()), to);
        }
    }

    @Override
    public void close() {
        allocation.close();
    }
}
