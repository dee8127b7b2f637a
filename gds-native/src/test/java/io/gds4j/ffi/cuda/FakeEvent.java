package io.gds4j.ffi.cuda;

/** An event of {@link FakeCuda}. */
final class FakeEvent {
    /** One {@code cuEventRecord}: later ones do not change what an earlier wait waits for. */
    static final class Recording {
        final FakeStream stream;
        boolean done;

        Recording(FakeStream stream) {
            this.stream = stream;
        }

        /** Runs the stream's work up to the record. */
        void complete() {
            while (!done && stream.runOne()) {
                // up to and including the record
            }
        }
    }

    final FakeContext context;
    /** The last one; null if never recorded, which counts as done. */
    Recording recording;

    FakeEvent(FakeContext context) {
        this.context = context;
    }
}
