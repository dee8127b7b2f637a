package io.gds4j.tools.io;

import io.gds4j.CuFileHandle;

/** Moves bytes by {@code cuFileRead} and {@code cuFileWrite}, one request at a time. */
final class ApiMover implements Mover {
    private final CuFileHandle handle;

    ApiMover(CuFileHandle handle) {
        this.handle = handle;
    }

    @Override
    public void move(IoRequest[] requests, int count) {
        for (int i = 0; i < count; i++) {
            IoRequest request = requests[i];
            request.startNanos = System.nanoTime();
            long moved = request.write
                    ? handle.write(request.memory, request.size, request.fileOffset, request.bufferOffset)
                    : handle.read(request.memory, request.size, request.fileOffset, request.bufferOffset);
            request.endNanos = System.nanoTime();
            ShortTransfer.check(request, moved);
        }
    }

    @Override
    public void close() {
        // the job closes the handle
    }
}
