package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.TransferArguments;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;
import java.util.function.Supplier;

/** Transfers of segments over Java arrays, through copies in native memory. */
final class HeapCopies {
    /** Bytes of a piece: large enough that a request costs little beside it, small enough for the processor's caches. */
    private static final long PIECE = 1 << 20;

    private HeapCopies() {
    }

    /**
     * Moves the bytes in pieces through kept memory: a copy of the whole length would be cleared at each call, and fall out of the
     * processor's caches.
     */
    static long transfer(CuFileHandle handle, boolean write, MemorySegment heap, long fileOffset) {
        long size = heap.byteSize();
        if (!TransferArguments.isFileRange(size, fileOffset)) {
            handle.request(write, size, fileOffset, 0).checkNumbers();
        }
        if (!write && heap.isReadOnly()) {
            throw handle.request(false, size, fileOffset, 0).readOnlySegment();
        }
        MemoryRange idle = handle.session().borrowPiece();
        MemoryRange copy = idle != null
                ? idle
                : MemoryRange.ofSegment(
                        allocate(Arena.ofAuto(), handle.request(write, size, fileOffset, 0), PIECE, Pages.SIZE));
        try {
            return handle.transferNow(write, copy, size, fileOffset, 0, heap);
        } finally {
            handle.session().giveBack(copy);
        }
    }

    /** Moves all pieces. The caller has entered file and copy. */
    static long pieces(CuFileHandle handle, boolean write, MemoryRange copy, MemorySegment heap, long fileOffset) {
        MemorySegment memory = copy.segment().orElseThrow();
        long size = heap.byteSize();
        long done = 0;
        long moved;
        long asked;
        do {
            long at = fileOffset + done;
            // Pieces end at pages of the file and lie in the copy as there, as direct I/O needs it.
            long begin = Pages.offset(at);
            asked = Math.min(size - done, PIECE - begin);
            if (write) {
                MemorySegment.copy(heap, done, memory, begin, asked);
            }
            try {
                moved = handle.transfer(write, copy, asked, at, begin);
            } catch (CuFileException e) {
                moved = Math.max(0, e.bytesTransferred());
                if (!write) {
                    MemorySegment.copy(memory, begin, heap, done, moved);
                }
                throw asked == size ? e : handle.request(write, size, fileOffset, 0).ofPart(e, done + moved);
            }
            if (!write) {
                MemorySegment.copy(memory, begin, heap, done, moved);
            }
            done += moved;
        } while (moved == asked && done < size);
        return done;
    }

    static long read(CuFileHandle handle, MemorySegment heap, long fileOffset, IoResult result) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment copy = reported(handle, heap.byteSize(), fileOffset, result,
                    () -> allocate(arena, handle.request(false, heap.byteSize(), fileOffset, 0), heap.byteSize(),
                            Long.BYTES));
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
        RequestCheck request = handle.request(false, size, fileOffset, 0);
        MemorySegment target = segment.isNative() ? segment : allocate(Arena.ofAuto(), request, size, Long.BYTES);
        MemoryRange memory = handle.wrap(false, segment.isReadOnly() ? target.asReadOnly() : target, fileOffset);
        return handle.start(request, memory, () -> handle.letGo(memory), () -> {
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

    /**
     * Allocates memory for a copy.
     *
     * @throws CuFileException NOMEM_ERROR if the JVM's limit of direct memory leaves too little
     */
    static MemorySegment allocate(Arena arena, RequestCheck request, long bytes, long alignment) {
        try {
            return arena.allocate(bytes, alignment);
        } catch (OutOfMemoryError e) {
            throw request.failure(CuFileError.NOMEM_ERROR)
                    .detail("no direct memory for a copy of the Java array (-XX:MaxDirectMemorySize)")
                    .build();
        }
    }
}
