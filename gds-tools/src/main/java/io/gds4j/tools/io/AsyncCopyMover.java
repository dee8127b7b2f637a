package io.gds4j.tools.io;

import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;

/** Reads into one pinned buffer by pread while the GPU copies from other buffers. */
final class AsyncCopyMover implements Mover {
    private final PlainFile file;
    private final GpuStream stream;
    private final MemoryAllocation buffers;
    private final long largest;
    private final long[] events = new long[IoJob.COPIES];

    AsyncCopyMover(PlainFile file, MemoryAllocator allocator, int device, long largest) {
        this.file = file;
        this.largest = (largest + 4095) & -4096;
        this.buffers = allocator.allocate(MemoryKind.HOST_PINNED, this.largest * IoJob.COPIES, device);
        this.stream = GpuStream.on(device);
        for (int i = 0; i < IoJob.COPIES; i++) {
            events[i] = stream.event();
        }
    }

    @Override
    public void move(IoRequest[] requests, int count) {
        for (int i = 0; i < count; i++) {
            IoRequest request = requests[i];
            long staged = buffers.range().address() + i * largest;
            request.startNanos = System.nanoTime();
            if (request.write) {
                stream.copyToHost(staged, request.range.address(), request.size);
            } else {
                file.move(false, staged, request.size, request.fileOffset);
                stream.copyToDevice(request.range.address(), staged, request.size);
            }
            stream.record(events[i]);
        }
        for (int i = 0; i < count; i++) {
            IoRequest request = requests[i];
            stream.await(events[i]);
            if (request.write) {
                long staged = buffers.range().address() + i * largest;
                file.move(true, staged, request.size, request.fileOffset);
            }
            request.endNanos = System.nanoTime();
        }
    }

    @Override
    public void close() {
        stream.synchronize();
        for (long event : events) {
            stream.destroy(event);
        }
        stream.close();
        buffers.close();
        file.close();
    }
}
