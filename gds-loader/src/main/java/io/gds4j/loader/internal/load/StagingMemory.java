package io.gds4j.loader.internal.load;

import io.gds4j.loader.internal.load.Layout.Gather;
import io.gds4j.loader.internal.load.Layout.Image;
import io.gds4j.loader.internal.load.Layout.Staged;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.function.IntFunction;

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

    /** Copies the rows from the bytes that were read to their places. */
    void place(Gather gather, IntFunction<DestinationBlock> blocks) {
        for (Image of : gather.images()) {
            DestinationBlock block = blocks.apply(of.block());
            if (block.memory().segment().isPresent() || of.rows().size() == 1 && of.rows().getFirst().count() == 1) {
                for (Staged rows : of.rows()) {
                    rows.forEachRow((from, to, width) -> allocator.copyFromHost(read.asSlice(from, width),
                            block.range(to, width)));
                }
                continue;
            }
            long end = of.offset();
            for (Staged rows : of.rows()) {
                long start = rows.rows().copy().sliceOffset();
                image.asSlice(end - of.offset(), Math.max(0, start - end)).fill((byte) 0);
                rows.forEachRow((from, to, width) -> image.asSlice(to - of.offset(), width)
                        .copyFrom(read.asSlice(from, width)));
                end = Math.max(end, rows.end());
            }
            allocator.copyFromHost(image.asSlice(0, of.bytes()), block.range(of.offset(), of.bytes()));
        }
    }

    @Override
    public void close() {
        allocation.close();
    }
}
