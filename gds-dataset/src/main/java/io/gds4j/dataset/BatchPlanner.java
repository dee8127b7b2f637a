package io.gds4j.dataset;

import io.gds4j.dataset.source.RecordSource;

/** Decides which records a batch has, where they go, and which reads fetch them. */
final class BatchPlanner {
    /** Longest read that serves several records: long enough for full speed, short enough for several readers. */
    private static final long MAX_RUN = 16L << 20;

    /**
     * Also what a run has while a disk keeps readers waiting. The disk then decides the speed, and it likes reads near each other: with
     * 16 readers, runs of 4 MiB are a fifth slower there.
     */
    private static final long MIN_RUN = 1L << 20;

    /** Bytes of several short reads that one reader claims: a copy of 1 MiB to a GPU costs little more than its transfer. */
    private static final long MAX_TASK = 1L << 20;

    private static final long MIN_TASK = 4096;

    /** Part of the memory that is read at a time, at most. The rest holds batches that wait for an earlier one, or for the consumer. */
    private static final int PART_AT_ONCE = 4;

    private final RecordSource source;
    private final Itinerary itinerary;
    private final long bufferBytes;
    private final long longestRun;
    private final long longestTask;
    private volatile boolean diskSlow;

    /**
     * @param bufferBytes bytes of a buffer
     * @param bytes bytes of all buffers
     * @param readers number of threads that read
     */
    BatchPlanner(RecordSource source, Itinerary itinerary, long bufferBytes, long bytes, int readers) {
        this.source = source;
        this.itinerary = itinerary;
        this.bufferBytes = bufferBytes;
        long share = bytes / PART_AT_ONCE / readers;
        this.longestRun = Math.clamp(share, MIN_RUN, MAX_RUN);
        this.longestTask = Math.clamp(share, MIN_TASK, MAX_TASK);
    }

    /** Returns the most bytes of a task with several reads. */
    long longestTask() {
        return longestTask;
    }

    /** Says whether the last read that was a task of its own waited for a disk. Batches that are planned from now on follow it. */
    void setDiskSlow(boolean slow) {
        diskSlow = slow;
    }

    RecordSource source() {
        return source;
    }

    Itinerary itinerary() {
        return itinerary;
    }

    /** Returns the number of records of the batch that begins at a position: at least one, though {@link #plan} may refuse it. */
    int count(long position) {
        int most = itinerary.batchAt(position);
        if (source.isFixedLength()) {
            return most;
        }
        long bytes = 0;
        for (int i = 0; i < most; i++) {
            long length = source.length(itinerary.record(position + i));
            if (length > bufferBytes - bytes) {
                return Math.max(1, i);
            }
            bytes += Math.max(0, length);
        }
        return most;
    }

    /** Fills in records, offsets, runs and tasks of a buffer. */
    void plan(BatchBuffer buffer) {
        long at = 0;
        int runs = 0;
        int runFile = -1;
        long runEnd = -1;
        long runBytes = 0;
        long mostBytes = diskSlow ? MIN_RUN : longestRun;
        itinerary.records(buffer.position, buffer.count, buffer.records);
        for (int i = 0; i < buffer.count; i++) {
            long record = buffer.records[i];
            long length = source.length(record);
            if (length < 0 || length > bufferBytes - at) {
                throw Failures.invalid("record %s has %s bytes, allowed by its source: 0 to %s".formatted(
                        record, length, source.maxLength()));
            }
            buffer.offsets[i] = at;
            int file = source.file(record);
            long fileOffset = source.fileOffset(record);
            if (file != runFile || fileOffset != runEnd || runBytes + length > mostBytes) {
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
        }
        buffer.offsets[buffer.count] = at;
        buffer.runFirst[runs] = buffer.count;
        buffer.bytes = at;
        buffer.runs = runs;
        divide(buffer);
    }

    /** Makes a task of each long run, and of as many short neighbours as a reader claims at once. */
    private void divide(BatchBuffer buffer) {
        int tasks = 0;
        long bytes = Long.MAX_VALUE;
        for (int run = 0; run < buffer.runs; run++) {
            long size = buffer.runBytes(run);
            if (bytes > longestTask - size) {
                buffer.taskFirst[tasks] = run;
                tasks++;
                bytes = 0;
            }
            bytes += size;
        }
        buffer.taskFirst[tasks] = buffer.runs;
        buffer.tasks = tasks;
    }
}
