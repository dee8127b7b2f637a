package io.gds4j.dataset;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileHandle;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.IoMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The reads of one thread. A long read goes to the engine. Short reads into GPU memory share a stage in pinned memory and one copy.
 * Short reads that wait for a disk, or that bypass the host, go as a batch, which has more in flight than there are threads.
 */
final class RecordReads implements AutoCloseable {
    private static final int MAX_ENTRIES = 256;

    /** Fewest reads that are worth a batch. */
    private static final int MIN_ENTRIES = 4;

    private final RecordSource source;
    private final RecordMemory memory;
    private final ErrorPolicy policy;
    private final BatchPlanner planner;
    private final List<CuFileBatch.Request> requests = new ArrayList<>();
    private @Nullable MemoryAllocation stage;
    private @Nullable CuFileBatch batch;

    /** @param planner is told whether reads wait for a disk */
    RecordReads(RecordSource source, RecordMemory memory, ErrorPolicy policy, BatchPlanner planner) {
        this.source = source;
        this.memory = memory;
        this.policy = policy;
        this.planner = planner;
    }

    /** Reads the runs of a task. Bad records fail, or are marked, as the policy says. */
    void read(BatchBuffer buffer, int task) {
        int run = buffer.taskFirst[task];
        int end = buffer.taskFirst[task + 1];
        boolean waits = waitsForDisk(buffer, run) || waitsForDisk(buffer, end - 1);
        if (end - run == 1) {
            planner.setDiskSlow(waits);
        } else if (!waits && memory.isStaged()) {
            run = readStaged(buffer, run, end);
        } else if (!waits && memory.kind().isHost()) {
            run = readOneByOne(buffer, run, end, memory.target(), 0);
        }
        if (end - run >= MIN_ENTRIES) {
            run = readTogether(buffer, run, end);
        }
        for (; run < end; run++) {
            readRun(buffer, run);
        }
    }

    /** Asks the driver about a run. True if it cannot tell: the read will report why. */
    private boolean waitsForDisk(BatchBuffer buffer, int run) {
        try {
            return memory.file(buffer.runFile[run]).waitsForDisk(buffer.runFileOffset[run], buffer.runBytes(run));
        } catch (CuFileException e) {
            return true;
        }
    }

    /** Reads runs into pinned memory, and copies them at once. Returns the first that is not read, as {@link #readOneByOne}. */
    private int readStaged(BatchBuffer buffer, int first, int end) {
        MemoryAllocator allocator = memory.driver().allocator();
        MemoryAllocation staging = stage;
        if (staging == null) {
            staging = allocator.allocate(
                    allocator.supports(MemoryKind.HOST_PINNED) ? MemoryKind.HOST_PINNED : MemoryKind.HOST,
                    planner.longestTask());
            stage = staging;
        }
        long start = buffer.runStart(first);
        int run = readOneByOne(buffer, first, end, staging, start);
        if (run > first) {
            long bytes = buffer.runStart(run - 1) + buffer.runBytes(run - 1) - start;
            memory.copyIn(staging.range().slice(0, bytes), start);
        }
        return run;
    }

    /**
     * Reads runs one by one. Stops at a failed read.
     *
     * @param start what offset 0 of the memory is in the ring
     */
    private int readOneByOne(BatchBuffer buffer, int first, int end, IoMemory to, long start) {
        int run = first;
        while (run < end && succeeds(buffer, run, to, buffer.runStart(run) - start)) {
            run++;
        }
        return run;
    }

    /** Submits runs as a batch. Returns the first if that or one of them fails, so that all are read again one by one, to find it. */
    private int readTogether(BatchBuffer buffer, int first, int end) {
        requests.clear();
        for (int run = first; run < end; run++) {
            requests.add(CuFileBatch.Request.read(
                    memory.file(buffer.runFile[run]),
                    memory.target(),
                    buffer.runBytes(run),
                    buffer.runFileOffset[run],
                    buffer.runStart(run)));
        }
        try {
            CuFileBatch entries = batch;
            if (entries == null) {
                entries = memory.driver().batch(
                        Math.clamp(memory.driver().properties().maxBatchIoSize(), 1, MAX_ENTRIES));
                batch = entries;
            }
            boolean whole = entries.transferAll(requests).stream()
                    .allMatch(completion -> completion.bytes() == completion.request().size());
            return whole ? end : first;
        } catch (CuFileException e) {
            return first; // a backend without batches, too
        }
    }

    private void readRun(BatchBuffer buffer, int run) {
        int first = buffer.runFirst[run];
        int end = buffer.runFirst[run + 1];
        if (end - first > 1 && succeeds(buffer, run, memory.target(), buffer.runStart(run))) {
            return;
        }
        for (int i = first; i < end; i++) {
            readRecord(buffer, i, buffer.runFile[run]);
        }
    }

    /** Reads a run; returns false if it fails or is short. */
    private boolean succeeds(BatchBuffer buffer, int run, IoMemory to, long offset) {
        long size = buffer.runBytes(run);
        try {
            return size == 0
                    || memory.file(buffer.runFile[run]).read(to, size, buffer.runFileOffset[run], offset) == size;
        } catch (CuFileException e) {
            System.getLogger("io.gds4j.dataset").log(
                    System.Logger.Level.DEBUG, "a read failed; its records are read one by one", e);
            return false;
        }
    }

    private void readRecord(BatchBuffer buffer, int index, int fileIndex) {
        long size = buffer.offsets[index + 1] - buffer.offsets[index];
        if (size == 0) {
            return;
        }
        long record = buffer.records[index];
        long fileOffset = source.fileOffset(record);
        CuFileHandle file = memory.file(fileIndex);
        RecordException failure;
        try {
            long bytes = file.read(memory.target(), size, fileOffset, buffer.base + buffer.offsets[index]);
            if (bytes == size) {
                return;
            }
            failure = RecordException.tooShort(record, source.files().get(fileIndex), fileOffset, size, bytes);
        } catch (CuFileException e) {
            if (!memory.driver().isOpen()) {
                throw e; // says nothing about the record
            }
            failure = RecordException.failed(record, source.files().get(fileIndex), fileOffset, size, e);
        }
        if (policy == ErrorPolicy.STOP) {
            throw failure;
        }
        buffer.bad[index] = true;
        buffer.anyBad = true;
    }

    @Override
    public void close() {
        CuFileBatch entries = batch;
        MemoryAllocation staging = stage;
        batch = null;
        stage = null;
        try (staging) {
            if (entries != null) {
                entries.close();
            }
        }
    }
}
