package io.gds4j.tools.io;

import io.gds4j.CuFileHandle;
import io.gds4j.IoResult;

/** Moves bytes by {@code cuFileRead} and {@code cuFileWrite}, one request at a time. */
record ApiMover(CuFileHandle handle) implements Mover {
    @Override
    public void move(IoRequest[] requests, int count) {
        for (int i = 0; i < count; i++) {
            IoRequest request = requests[i];
            request.startNanos = System.nanoTime();
            long moved = request.report == null ? move(request) : moveReported(request, request.report);
            request.endNanos = System.nanoTime();
            ShortTransfer.check(request, moved);
        }
    }

    private long move(IoRequest request) {
        return request.write
                ? handle.write(request.memory, request.size, request.fileOffset, request.bufferOffset)
                : handle.read(request.memory, request.size, request.fileOffset, request.bufferOffset);
    }

    private long moveReported(IoRequest request, IoResult report) {
        return request.write
                ? handle.write(request.memory, request.size, request.fileOffset, request.bufferOffset, report)
                : handle.read(request.memory, request.size, request.fileOffset, request.bufferOffset, report);
    }

    @Override
    public void close() {
        // the job closes the handle
    }
}
