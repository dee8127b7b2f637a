package io.gds4j.dataset;

import io.gds4j.dataset.source.RecordSource;

/** Decides which records a batch has, where they go, and which reads fetch them. */
final class BatchPlanner {
    /** Longest read that serves several records: long enough for full speed, short enough for several readers. */
    private static final long LONGEST_RUN = 16L << 20;

    private final RecordSource source;
    private final Itinerary itinerary;
    private final int batch;
    private final long bufferBytes;

    BatchPlanner(RecordSource source, Itinerary itinerary, int batch, long bufferBytes) {
        this.source = source;
        this.itinerary = itinerary;
        this.batch = batch;
        this.bufferBytes = bufferBytes;
    }

    Itinerary itinerary() {
        return itinerary;
    }

    /** Returns the number of records of the batch that begins at a position: at least one, though {@link #plan} may refuse it. */
    int count(long position) {
        int most = itinerary.batchAt(position, batch);
        if (source.isFixedLength()) {
            return most;
        }
        long bytes = 0;
        for (int i = 0; i < most; i++) {
            bytes += source.length(itinerary.record(position + i));
            if (bytes > bufferBytes) {
                return Math.max(1, i);
            }
        }
        return most;
    }

    /** Fills in records, offsets and runs of a buffer. */
    void plan(BatchBuffer buffer) {
        long at = 0;
        int runs = 0;
        int runFile = -1;
        long runEnd = -1;
        long runBytes = 0;
        for (int i = 0; i < buffer.count; i++) {
            long record = itinerary.record(buffer.position + i);
            long length = source.length(record);
            buffer.records[i] = record;
            buffer.offsets[i] = at;
            int file = source.file(record);
            long fileOffset = source.fileOffset(record);
            if (file != runFile || fileOffset != runEnd || runBytes + length > LONGEST_RUN) {
                buffer.runFirst[runs] = i;
                buffer.runFile[runs] = file;
                buffer.runFileOffset[runs] = fileOffset;
                runs++;
                runFile = file;
                runBytes = 0;
            }
            runEnd = fileOffset + length;
            runBytes += length;
            at += length;
            if (length < 0 || at > bufferBytes) {
                throw Failures.invalid("record %d has %d bytes, allowed by its source: 0 to %d".formatted(
                        record, length, source.maxLength()));
            }
        }
        buffer.offsets[buffer.count] = at;
        buffer.runFirst[runs] = buffer.count;
        buffer.bytes = at;
        buffer.runs = runs;
    }
}
