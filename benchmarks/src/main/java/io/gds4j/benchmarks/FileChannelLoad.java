package io.gds4j.benchmarks;

import io.gds4j.CuFileDriver;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * The first load of a process without a loader, for first.sh: one thread reads the safetensors files of a folder by {@link FileChannel}
 * into a direct buffer and copies each full buffer into fresh memory of the GPU. Prints GB/s. The driver is open before the time begins.
 */
final class FileChannelLoad {
    private static final int STAGING = 16 << 20;

    private FileChannelLoad() {
    }

    public static void main(String[] args) throws IOException {
        try (CuFileDriver driver = CuFileDriver.open();
                DirectoryStream<Path> files = Files.newDirectoryStream(Path.of(args[0]), "*.safetensors")) {
            MemoryAllocator allocator = driver.allocator();
            MemoryKind kind = allocator.best();
            allocator.prepare(kind, 0);
            long start = System.nanoTime();
            long bytes = 0;
            for (Path file : files) {
                bytes += load(file, kind, allocator);
            }
            System.out.printf(Locale.ROOT, "%.3f%n", bytes * 1.0 / (System.nanoTime() - start));
        }
    }

    private static long load(Path file, MemoryKind kind, MemoryAllocator allocator) throws IOException {
        ByteBuffer staging = ByteBuffer.allocateDirect(STAGING);
        try (FileChannel channel = FileChannel.open(file)) {
            long size = channel.size();
            try (MemoryAllocation memory = allocator.allocate(kind, size)) {
                for (long offset = 0; offset < size; offset += STAGING) {
                    int length = (int) Math.min(STAGING, size - offset);
                    staging.clear().limit(length);
                    while (staging.hasRemaining() && channel.read(staging) >= 0) {
                        // reads until the buffer is full
                    }
                    allocator.copyFromHost(
                            MemorySegment.ofBuffer(staging.flip()), memory.range().slice(offset, staging.limit()));
                }
            }
            return size;
        }
    }
}
