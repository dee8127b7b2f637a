package io.gds4j.tools.demo;

import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.terminal.CommandFailure;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Optional;

/**
 * The baseline without gds4j: {@link FileChannel#read} on one thread into freshly allocated memory of the same kind.
 * For a GPU it reads into a direct buffer and copies each full buffer to the GPU.
 *
 * @param bytes number of bytes read
 * @param seconds time with opening and allocation, as in a load report
 */
record PlainRead(long bytes, double seconds) {
    /** Bytes per read call: large enough that calls cost nothing, and a multiple of all page sizes in use. */
    private static final int PART = 64 << 20;
    private static final int STAGING = 16 << 20;

    /** Reads the whole file and measures the time. */
    public static PlainRead of(Path file, Target target, MemoryAllocator allocator) throws IOException {
        long start = System.nanoTime();
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
            long size = channel.size();
            try (MemoryAllocation memory = allocator.allocate(target.kind(), size, target.device())) {
                Optional<MemorySegment> host = memory.range().segment();
                if (host.isPresent()) {
                    toHost(channel, file, host.get());
                } else {
                    toGpu(channel, file, memory.range(), allocator);
                }
                return new PlainRead(size, (System.nanoTime() - start) / 1e9);
            }
        }
    }

    private static void toHost(FileChannel channel, Path file, MemorySegment memory) throws IOException {
        for (long offset = 0; offset < memory.byteSize(); offset += PART) {
            long length = Math.min(PART, memory.byteSize() - offset);
            read(channel, file, memory.asSlice(offset, length).asByteBuffer(), offset);
        }
    }

    private static void toGpu(FileChannel channel, Path file, MemoryRange memory, MemoryAllocator allocator)
            throws IOException {
        ByteBuffer staging = ByteBuffer.allocateDirect(STAGING);
        for (long offset = 0; offset < memory.length(); offset += STAGING) {
            int length = (int) Math.min(STAGING, memory.length() - offset);
            read(channel, file, staging.clear().limit(length), offset);
            allocator.copyFromHost(MemorySegment.ofBuffer(staging.flip()), memory.slice(offset, length));
        }
    }

    private static void read(FileChannel channel, Path file, ByteBuffer buffer, long offset) throws IOException {
        long position = offset;
        while (buffer.hasRemaining()) {
            int count = channel.read(buffer, position);
            if (count < 0) {
                throw CommandFailure.badInput(file.toString(), file + ": ended at byte " + position);
            }
            position += count;
        }
    }

    /** Speed in bytes per second. */
    public double bytesPerSecond() {
        return bytes / seconds;
    }
}
