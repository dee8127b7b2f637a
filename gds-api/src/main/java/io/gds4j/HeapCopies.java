package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;
import java.util.function.Supplier;

/** Transfers of segments over Java arrays, through copies in native memory. */
final class HeapCopies {
    private HeapCopies() {
    }

    /** Reads into a native copy, and copies to the array what was read. */
    static long read(CuFileHandle handle, MemorySegment heap, long fileOffset) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = allocate(arena, handle, false, heap.byteSize(), fileOffset);
            // The read refuses a read-only segment, with its place in the file.
            long bytes = handle.read(heap.isReadOnly() ? copy.asReadOnly() : copy, fileOffset);
            MemorySegment.copy(copy, 0, heap, 0, bytes);
            return bytes;
        }
    }

    static long read(CuFileHandle handle, MemorySegment heap, long fileOffset, IoResult result) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = reported(handle, heap.byteSize(), fileOffset, result,
                    () -> allocate(arena, handle, false, heap.byteSize(), fileOffset));
            long bytes = handle.read(heap.isReadOnly() ? copy.asReadOnly() : copy, fileOffset, result);
            MemorySegment.copy(copy, 0, heap, 0, bytes);
            return bytes;
        }
    }

    /**
     * Reads on a thread of the driver, by way of a copy if the segment lies over an array.
     *
     * @param done told of the bytes read, before the future completes
     */
    static CompletableFuture<Long> readAsync(
            CuFileHandle handle, MemorySegment segment, long fileOffset, LongConsumer done) {
        long size = segment.byteSize();
        MemorySegment target = segment.isNative()
                ? segment
                : allocate(Arena.ofAuto(), handle, false, size, fileOffset);
        MemoryRange memory = handle.wrap(false, segment.isReadOnly() ? target.asReadOnly() : target, fileOffset);
        return handle.start(handle.request(false, size, fileOffset, 0), memory, () -> handle.letGo(memory), () -> {
            long bytes = handle.transfer(false, memory, size, fileOffset, 0);
            if (!segment.isNative()) {
                MemorySegment.copy(target, 0, segment, 0, bytes);
            }
            done.accept(bytes);
            return bytes;
        });
    }

    /** Prepares the memory of a read; a failure is one of the report, too. */
    static <T> T reported(CuFileHandle handle, long bytes, long fileOffset, IoResult result, Supplier<T> memory) {
        try {
            return memory.get();
        } catch (CuFileException e) {
            RequestCheck request = handle.request(false, bytes, fileOffset, 0);
            result.begin(request);
            result.fail(request, e);
            result.over();
            throw e;
        }
    }

    static long write(CuFileHandle handle, MemorySegment heap, long fileOffset) {
        try (Arena arena = Arena.ofConfined()) {
            return handle.write(
                    allocate(arena, handle, true, heap.byteSize(), fileOffset).copyFrom(heap), fileOffset);
        }
    }

    /**
     * Allocates a copy.
     *
     * @throws CuFileException NOMEM_ERROR if the JVM's limit of direct memory leaves too little
     */
    static MemorySegment allocate(Arena arena, CuFileHandle handle, boolean write, long bytes, long fileOffset) {
        try {
            return arena.allocate(bytes, Long.BYTES);
        } catch (OutOfMemoryError e) {
            throw CuFileException.builder(write ? "cuFileWrite" : "cuFileRead")
                    .error(CuFileError.NOMEM_ERROR)
                    .path(handle.path())
                    .range(fileOffset, bytes)
                    .detail("no direct memory for a copy of the Java array (-XX:MaxDirectMemorySize)")
                    .build();
        }
    }
}
