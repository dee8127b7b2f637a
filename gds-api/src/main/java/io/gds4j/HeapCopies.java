package io.gds4j;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.internal.lifetime.ThreadState;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.spi.ResultSink;
import io.gds4j.spi.TransferArguments;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

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
    static long transfer(CuFileHandle handle, Operation operation, MemorySegment heap, long fileOffset) {
        long size = heap.byteSize();
        if (!TransferArguments.isFileRange(size, fileOffset)) {
            handle.request(operation, size, fileOffset, 0).checkNumbers();
        }
        if (!operation.isWrite() && heap.isReadOnly()) {
            throw handle.request(Operation.READ, size, fileOffset, 0).readOnlySegment();
        }
        MemoryRange copy = borrow(handle, operation, size, fileOffset);
        try {
            return handle.transferNow(operation, copy, size, fileOffset, 0, heap);
        } finally {
            handle.session().giveBack(copy);
        }
    }

    /** Lends memory for a piece, which the caller gives back to the session. */
    private static MemoryRange borrow(CuFileHandle handle, Operation operation, long size, long fileOffset) {
        MemoryRange idle = handle.session().borrowPiece();
        return idle != null
                ? idle
                : MemoryRange.ofSegment(
                        allocate(Arena.ofAuto(), handle.request(operation, size, fileOffset, 0), PIECE, Pages.SIZE));
    }

    /** Moves all pieces through borrowed memory. The caller has entered the file, or holds it. */
    static long borrowedPieces(
            CuFileHandle handle, Operation operation, MemorySegment heap, long fileOffset, @Nullable ResultSink sink) {
        MemoryRange copy = borrow(handle, operation, heap.byteSize(), fileOffset);
        try {
            return pieces(handle, operation, copy, heap, fileOffset, sink);
        } finally {
            handle.session().giveBack(copy);
        }
    }

    /**
     * Moves all pieces. The caller has entered the file, and keeps the copy.
     *
     * @param sink hears of the bytes; null if the request is not reported
     */
    static long pieces(
            CuFileHandle handle, Operation operation, MemoryRange copy, MemorySegment heap, long fileOffset,
            @Nullable ResultSink sink) {
        boolean write = operation.isWrite();
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
                moved = sink == null
                        ? handle.transfer(operation, copy, asked, at, begin)
                        : RequestCall.move(handle, new BatchRequest(
                                handle.file(), operation, copy, asked, at, begin, 0).reportTo(sink));
            } catch (CuFileException e) {
                moved = Math.max(0, e.bytesTransferred());
                if (!write) {
                    MemorySegment.copy(memory, begin, heap, done, moved);
                }
                throw asked == size ? e : handle.request(operation, size, fileOffset, 0).ofPart(e, done + moved);
            }
            if (!write) {
                MemorySegment.copy(memory, begin, heap, done, moved);
            }
            done += moved;
        } while (moved == asked && done < size);
        return done;
    }

    /** Reads and reports the request. */
    static long read(CuFileHandle handle, MemorySegment heap, long fileOffset, IoResult result) {
        RequestCheck request = handle.request(Operation.READ, heap.byteSize(), fileOffset, 0);
        result.begin(request);
        try {
            request.checkHeap(heap);
            ThreadState here = ThreadState.current();
            handle.enter(request, here);
            try {
                handle.checkRights(request);
                result.about(handle.file(), false);
                long moved = borrowedPieces(handle, Operation.READ, heap, fileOffset, result.sink());
                result.end(moved);
                return moved;
            } finally {
                handle.exit(here);
            }
        } catch (RuntimeException | Error e) {
            result.fail(request, e);
            throw e;
        } finally {
            result.over();
        }
    }

    /**
     * Moves a segment on a thread of the driver, in pieces if it lies over an array.
     *
     * @param done told of the bytes moved, before the future completes
     */
    static CompletableFuture<Long> async(
            CuFileHandle handle, Operation operation, MemorySegment segment, long fileOffset, LongConsumer done) {
        long size = segment.byteSize();
        RequestCheck request = handle.request(operation, size, fileOffset, 0);
        if (!segment.isNative()) {
            request.checkHeap(segment);
            return handle.start(
                    request, List.of(), () -> told(done, borrowedPieces(handle, operation, segment, fileOffset, null)));
        }
        MemoryRange memory = handle.wrap(operation, segment, fileOffset);
        request.checkWithin(memory);
        return handle.start(
                request, List.of(memory),
                () -> told(done, handle.transfer(operation, memory, size, fileOffset, 0)));
    }

    private static long told(LongConsumer done, long bytes) {
        done.accept(bytes);
        return bytes;
    }

    /** Prepares the memory of a read; a failure is one of the report, too. */
    static <T> T reported(CuFileHandle handle, long bytes, long fileOffset, IoResult result, Supplier<T> memory) {
        try {
            return memory.get();
        } catch (CuFileException e) {
            RequestCheck request = handle.request(Operation.READ, bytes, fileOffset, 0);
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
