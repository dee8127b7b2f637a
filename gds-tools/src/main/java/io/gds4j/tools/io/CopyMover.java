package io.gds4j.tools.io;

import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;

/** Reads by pread into a host buffer and copies to the target; writes the same way in reverse. */
final class CopyMover implements Mover {
    private final PlainFile file;
    private final MemoryAllocator allocator;
    private final MemoryAllocation buffer;

    CopyMover(PlainFile file, MemoryAllocator allocator, long largest) {
        this.file = file;
        this.allocator = allocator;
        this.buffer = allocator.allocate(
                allocator.supports(MemoryKind.HOST_PINNED) ? MemoryKind.HOST_PINNED : MemoryKind.HOST, largest);
    }

    @Override
    public void move(IoRequest[] requests, int count) {
        for (int i = 0; i < count; i++) {
            IoRequest request = requests[i];
            MemoryRange staged = buffer.range().slice(0, request.size);
            MemoryRange target = request.range.slice(0, request.size);
            request.startNanos = System.nanoTime();
            if (request.write) {
                allocator.copy(target, staged);
                file.move(true, staged.address(), request.size, request.fileOffset);
            } else {
                file.move(false, staged.address(), request.size, request.fileOffset);
                allocator.copy(staged, target);
            }
            request.endNanos = System.nanoTime();
        }
    }

    @Override
    public void close() {
        buffer.close();
        file.close();
    }
}
