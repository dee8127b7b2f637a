package io.gds4j.tools.io;

/** Moves bytes by pread and pwrite on host memory, without gds4j. */
record PlainMover(PlainFile file) implements Mover {
    @Override
    public void move(IoRequest[] requests, int count) {
        for (int i = 0; i < count; i++) {
            IoRequest request = requests[i];
            request.startNanos = System.nanoTime();
            file.move(request.write, request.range.address(), request.size, request.fileOffset);
            request.endNanos = System.nanoTime();
        }
    }

    @Override
    public void close() {
        file.close();
    }
}
