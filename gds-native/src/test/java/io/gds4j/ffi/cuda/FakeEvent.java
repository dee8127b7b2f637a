package io.gds4j.ffi.cuda;

/** An event of {@link FakeCuda}. */
final class FakeEvent {
    /** One {@code cuEventRecord}; a wait is for the latest record before it. */
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
    /** True if a thread may block on it. */
    final boolean blocking;
    /** The latest record; null if there is none, and then waits end at once. */
    Recording recording;

    FakeEvent(FakeContext context, boolean blocking) {
        this.context = context;
        this.blocking = blocking;
    }
}
