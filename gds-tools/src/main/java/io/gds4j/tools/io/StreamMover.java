package io.gds4j.tools.io;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.StreamFlag;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Undo;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Set;

/** Queues {@code cuFileReadAsync} and {@code cuFileWriteAsync} on a CUDA stream, then waits for the stream. */
final class StreamMover implements Mover {
    private static final long CELL = 8;
    private static final int CELLS = 4;

    /** Cells change only while the stream is idle, and reads may overlap then. */
    private static final Set<StreamFlag> FIXED =
            Set.of(StreamFlag.FIXED_BUFFER_OFFSET, StreamFlag.FIXED_FILE_OFFSET, StreamFlag.FIXED_FILE_SIZE);

    private final CuFileHandle handle;
    private final GpuStream gpu;
    private final CuFileStream stream;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment cells;

    StreamMover(CuFileDriver driver, CuFileHandle handle, int device, int depth) {
        this.handle = handle;
        this.gpu = GpuStream.on(device);
        this.stream = Undo.ifFails(() -> {
            gpu.close();
            arena.close();
        }, () -> driver.stream(gpu.address(), FIXED));
        this.cells = arena.allocate(CELL * CELLS * depth, CELL);
    }

    @Override
    public void move(IoRequest[] requests, int count) {
        for (int i = 0; i < count; i++) {
            IoRequest request = requests[i];
            cell(i, 0).set(ValueLayout.JAVA_LONG, 0, request.size);
            cell(i, 1).set(ValueLayout.JAVA_LONG, 0, request.fileOffset);
            cell(i, 2).set(ValueLayout.JAVA_LONG, 0, request.bufferOffset);
            cell(i, 3).set(ValueLayout.JAVA_LONG, 0, 0);
            CuFileStream.Cells four = new CuFileStream.Cells(cell(i, 0), cell(i, 1), cell(i, 2), cell(i, 3));
            request.startNanos = System.nanoTime();
            if (request.write) {
                stream.write(handle, request.memory, four);
            } else {
                stream.read(handle, request.memory, four);
            }
        }
        gpu.synchronize();
        long end = System.nanoTime();
        for (int i = 0; i < count; i++) {
            IoRequest request = requests[i];
            request.endNanos = end;
            long moved = cell(i, 3).get(ValueLayout.JAVA_LONG, 0);
            if (moved < 0) {
                throw CuFileException.builder(request.write ? "cuFileWriteAsync" : "cuFileReadAsync")
                        .error(CuFileError.IO_ERROR)
                        .range(request.fileOffset, request.size)
                        .detail("the operation ended with " + moved)
                        .build();
            }
            ShortTransfer.check(request, moved);
        }
    }

    private MemorySegment cell(int request, int index) {
        return cells.asSlice((request * CELLS + index) * CELL, CELL);
    }

    @Override
    public void close() {
        gpu.synchronize();
        stream.close();
        gpu.close();
        arena.close();
    }
}
