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
import java.util.Optional;
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
    private final boolean verified;
    private final Optional<WindowBlocks> blocks;
    private final List<CuFileBatch.Request> requests = new ArrayList<>();
    private @Nullable MemoryAllocation stage;
    private @Nullable CuFileBatch batch;

    /**
     * @param planner is told whether reads wait for a disk
     * @param verified whether records are compared with their checksums
     * @param blocks where records of a window come from; empty to read each by itself
     */
    RecordReads(
            RecordSource source, RecordMemory memory, ErrorPolicy policy, BatchPlanner planner, boolean verified,
            Optional<WindowBlocks> blocks) {
        this.source = source;
        this.memory = memory;
        this.policy = policy;
        this.planner = planner;
        this.verified = verified;
        this.blocks = blocks;
    }

    /** Reads the runs of a task. Bad records fail, or are marked, as the policy says. */
    void read(BatchBuffer buffer, int task) {
        int run = buffer.taskFirst[task];
        int end = buffer.taskFirst[task + 1];
        boolean waits = waitsForDisk(buffer, run) || waitsForDisk(buffer, end - 1);
        boolean single = end - run == 1;
        if (single) {
            planner.setDiskSlow(waits);
        }
        if (!waits && !single || blocks.isPresent()) {
            run = readThroughHost(buffer, run, end, waits);
        }
        if (end - run >= MIN_ENTRIES) {
            run = readTogether(buffer, run, end);
        }
        for (; run < end; run++) {
            readRun(buffer, run);
        }
        if (verified) {
            verify(buffer, task);
        }
    }

    /** Compares the records of a task with their checksums. */
    private void verify(BatchBuffer buffer, int task) {
        int end = buffer.runFirst[buffer.taskFirst[task + 1]];
        for (int i = buffer.runFirst[buffer.taskFirst[task]]; i < end; i++) {
            long record = buffer.records[i];
            long expected = source.crc32c(record);
            if (expected >= 0 && !buffer.bad[i]) {
                long size = buffer.offsets[i + 1] - buffer.offsets[i];
                long found = memory.crc32c(buffer.base + buffer.offsets[i], size);
                if (found != expected) {
                    leaveOut(buffer, i, RecordException.damaged(record, source.files().get(source.file(record)),
                            source.fileOffset(record), size, found, expected));
                }
            }
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

    /** Reads runs into host memory: that of the ring, or pinned memory that is copied at once. Returns the first that is not read. */
    private int readThroughHost(BatchBuffer buffer, int first, int end, boolean waits) {
        if (memory.kind().isHost()) {
            return readOneByOne(buffer, first, end, waits, memory.target(), 0);
        }
        long start = buffer.runStart(first);
        if (!memory.isStaged() || buffer.runStart(end - 1) + buffer.runBytes(end - 1) - start > planner.longestTask()) {
            return first;
        }
        MemoryAllocator allocator = memory.driver().allocator();
        MemoryAllocation staging = stage;
        if (staging == null) {
            staging = allocator.allocate(
                    allocator.supports(MemoryKind.HOST_PINNED) ? MemoryKind.HOST_PINNED : MemoryKind.HOST,
                    planner.longestTask());
            stage = staging;
        }
        int run = readOneByOne(buffer, first, end, waits, staging, start);
        if (run > first) {
            long bytes = buffer.runStart(run - 1) + buffer.runBytes(run - 1) - start;
            memory.copyIn(staging.range().slice(0, bytes), start);
        }
        return run;
    }

    /**
     * Reads runs one by one, from their blocks if there are any. Stops at a failed read, and at one by itself that would wait for a disk.
     *
     * @param start what offset 0 of the memory is in the ring
     */
    private int readOneByOne(BatchBuffer buffer, int first, int end, boolean waits, IoMemory to, long start) {
        long epoch = planner.itinerary().epoch(buffer.position);
        int run = first;
        while (run < end && (isInBlock(buffer, run, epoch, waits, to, start)
                || !waits && succeeds(buffer, run, to, buffer.runStart(run) - start))) {
            run++;
        }
        return run;
    }

    /** Copies a run from the blocks of its records; false if it has to be read by itself. */
    private boolean isInBlock(BatchBuffer buffer, int run, long epoch, boolean waits, IoMemory to, long start) {
        if (blocks.isEmpty()) {
            return false;
        }
        for (int i = buffer.runFirst[run]; i < buffer.runFirst[run + 1]; i++) {
            long length = buffer.offsets[i + 1] - buffer.offsets[i];
            if (!WindowBlocks.serves(waits, length)
                    || !blocks.get().read(buffer.records[i], epoch, length, to.range(),
                            buffer.base + buffer.offsets[i] - start)) {
                return false;
            }
        }
        return true;
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
        leaveOut(buffer, index, failure);
    }

    private void leaveOut(BatchBuffer buffer, int index, RecordException failure) {
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
