package io.gds4j.dataset;

import org.jspecify.annotations.Nullable;

/** A thread that claims tasks of batches until there are none. Between two batches it takes the ring's lock once. */
final class BatchReader implements Runnable {
    private final BatchRing ring;
    private final RecordReads reads;

    BatchReader(BatchRing ring, RecordReads reads) {
        this.ring = ring;
        this.reads = reads;
    }

    @Override
    public void run() {
        try (reads) {
            for (BatchBuffer buffer = ring.next(); buffer != null; buffer = ring.next()) {
                for (int task = buffer.claim(); task != BatchBuffer.NO_TASK; task = buffer.claim()) {
                    ring.finish(buffer, failure(buffer, task));
                }
            }
        } finally {
            ring.readerEnds();
        }
    }

    /** Reads a task. Errors count, too: the consumer would wait forever for a batch that no thread fills. */
    private @Nullable Throwable failure(BatchBuffer buffer, int task) {
        try {
            reads.read(buffer, task);
            return null;
        } catch (Throwable e) {
            return e;
        }
    }
}
