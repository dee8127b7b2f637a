package io.gds4j.spi;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.memory.ScatterCopy;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.List;

/**
 * Binds the arguments of a stream operation for backends: those that the program promised to be fixed are read at submission, the
 * others when the stream reaches the operation. Immutable.
 *
 * @since 0.1
 */
public final class StreamArguments {
    /** All flags of {@code cuFileStreamRegister}. */
    public static final int ALL_FLAGS = 15;

    private static final int FIXED_BUFFER_OFFSET = 1;
    private static final int FIXED_FILE_OFFSET = 2;
    private static final int FIXED_SIZE = 4;
    private static final int PAGE_ALIGNED = 8;

    private static final VarHandle CELL = ValueLayout.JAVA_LONG.varHandle();

    /** A thread that no confined memory belongs to. */
    private static final Thread STRANGER = Thread.ofPlatform().unstarted(() -> {
    });

    private final StreamRequest request;
    private final Operation operation;
    private final int flags;
    private final long largest;
    private final long fixedFileOffset;
    private final long fixedBufferOffset;

    /**
     * Reads the cells at submission.
     *
     * @param request the operation; its cells are checked
     * @param operation {@link Operation#STREAM_READ} or {@link Operation#STREAM_WRITE}
     * @param flags what the program promises for the stream, 0 to {@link #ALL_FLAGS}
     */
    public StreamArguments(StreamRequest request, Operation operation, int flags) {
        this.request = request;
        this.operation = operation;
        this.flags = flags;
        this.largest = get(request.size());
        this.fixedFileOffset = get(request.fileOffset());
        this.fixedBufferOffset = get(request.bufferOffset());
    }

    private static long get(MemorySegment cell) {
        return (long) CELL.getAcquire(cell, 0L);
    }

    /**
     * Refuses cells that another thread cannot use.
     *
     * @param function name of the call
     * @param request the operation
     * @throws CuFileException INVALID_VALUE if a cell is not native, aligned, alive and open to all threads, or the result's is read-only
     */
    public static void checkCells(String function, StreamRequest request) {
        for (MemorySegment cell : List.of(
                request.size(), request.fileOffset(), request.bufferOffset(), request.bytesDone())) {
            boolean fits = cell.isNative()
                    && cell.byteSize() >= Long.BYTES
                    && cell.address() != 0
                    && cell.address() % Long.BYTES == 0;
            if (!fits || !cell.scope().isAlive() || !cell.isAccessibleBy(STRANGER)) {
                throw CuFileException.invalid(function,
                        "a cell is not native, aligned, alive and open to all threads: " + cell);
            }
        }
        if (request.bytesDone().isReadOnly()) {
            throw CuFileException.invalid(function, "the cell of the result is read-only");
        }
    }

    /** {@return the request} */
    public StreamRequest request() {
        return request;
    }

    /** {@return what the stream does} */
    public Operation operation() {
        return operation;
    }

    /** {@return the size at submission, in bytes; the bound size is at most this} */
    public long largest() {
        return largest;
    }

    /** {@return whether the program promised that size and offsets are fixed at submission} */
    public boolean areFixed() {
        int all = FIXED_SIZE | FIXED_FILE_OFFSET | FIXED_BUFFER_OFFSET;
        return (flags & all) == all;
    }

    /**
     * Returns the request with all arguments bound. Call it when the stream reaches the operation.
     *
     * @return the request with its numbers
     * @throws CuFileException INVALID_VALUE if the size has grown, or arguments are unaligned that the program promised to align
     * @throws IllegalStateException if the memory of a cell was freed
     */
    public BatchRequest bind() {
        long size = bound(FIXED_SIZE, largest, request.size());
        long fileOffset = bound(FIXED_FILE_OFFSET, fixedFileOffset, request.fileOffset());
        long bufferOffset = bound(FIXED_BUFFER_OFFSET, fixedBufferOffset, request.bufferOffset());
        request.sink().begin(fileOffset, size);
        String function = operation.function();
        if (size > largest) {
            throw CuFileException.invalid(function, "size %s is larger than %s at submission".formatted(size, largest));
        }
        if ((flags & PAGE_ALIGNED) != 0 && !Pages.isAligned(size | fileOffset | memoryBits(bufferOffset))) {
            throw CuFileException.invalid(function, "the stream is registered for page-aligned requests");
        }
        Operation single = operation.single();
        BatchRequest bound;
        if (request.copies().isEmpty()) {
            bound = new BatchRequest(request.file(), single, request.memory(), size, fileOffset, bufferOffset, 0);
        } else if (size < 0) {
            throw CuFileException.invalid(function, "size is negative: " + size);
        } else {
            bound = BatchRequest.scattered(request.file(), single, fileOffset, largest, request.copies()).first(size);
        }
        return request.sink() == ResultSink.NONE ? bound : bound.reportTo(request.sink());
    }

    /** Returns the bits of all addresses, and of the places and widths of fragments. */
    private long memoryBits(long bufferOffset) {
        if (request.copies().isEmpty()) {
            return request.memory().address() + bufferOffset;
        }
        long bits = 0;
        for (ScatterCopy copy : request.copies()) {
            bits |= copy.destination().range().address() + copy.destinationOffset() | copy.sourceOffset()
                    | copy.width();
            bits |= copy.rows() == 1 ? 0 : copy.sourcePitch() | copy.destinationPitch();
        }
        return bits;
    }

    private long bound(int flag, long fixed, MemorySegment cell) {
        return (flags & flag) != 0 ? fixed : get(cell);
    }

    /**
     * Tells the report of the result, then sets its cell. A stream that fails behind the result may set it again, to an error.
     *
     * @param result bytes moved, or a negative error
     * @throws IllegalStateException if its memory was freed
     */
    public void settle(long result) {
        request.sink().end(result);
        CELL.setRelease(request.bytesDone(), 0L, result);
    }
}
