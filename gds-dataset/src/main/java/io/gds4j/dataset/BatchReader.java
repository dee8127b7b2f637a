package io.gds4j.dataset;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatchException;
import io.gds4j.CuFileHandle;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocator;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A thread that reads claimed parts of batches until there are none. */
final class BatchReader implements Runnable {
    /** Reads of one batch at most. */
    private static final int MOST_ENTRIES = 256;

    /** Mean size of reads up to which GPU memory is served by a batch: it shares one copy among many small reads. */
    private static final long SMALL_READ = 128 << 10;

    /** Fewest reads that are worth a batch. */
    private static final int FEWEST_ENTRIES = 4;

    /** Bytes of several reads that one reader claims at once, so that readers seldom meet at the lock. */
    private static final long CLAIM_BYTES = 1L << 20;

    private final BatchRing ring;
    private final RecordSource source;
    private final RecordMemory memory;
    private final ErrorPolicy policy;
    private final int entries;
    private final List<CuFileBatch.Request> requests = new ArrayList<>();

    BatchReader(BatchRing ring, RecordSource source, RecordMemory memory, ErrorPolicy policy) {
        this.ring = ring;
        this.source = source;
        this.memory = memory;
        this.policy = policy;
        this.entries = memory.kind().isCuda()
                ? Math.clamp(memory.driver().properties().maxBatchIoSize(), 1, MOST_ENTRIES)
                : MOST_ENTRIES;
    }

    @Override
    public void run() {
        BatchClaim claim = new BatchClaim();
        CuFileBatch batch = null;
        try {
            while (ring.claim(claim, entries, CLAIM_BYTES)) {
                Throwable failure = null;
                try {
                    if (isForBatch(claim)) {
                        batch = batch == null ? memory.driver().batch(entries) : batch;
                        readTogether(claim, batch);
                    } else {
                        for (int run = claim.firstRun; run < claim.endRun; run++) {
                            read(claim.buffer(), run);
                        }
                    }
                } catch (Throwable e) {
                    // Errors too: the consumer would wait forever for a batch that no thread fills.
                    failure = e;
                }
                finish(claim, failure);
            }
        } finally {
            try {
                if (batch != null) {
                    batch.close();
                }
            } finally {
                ring.readerEnds();
            }
        }
    }

    private boolean isForBatch(BatchClaim claim) {
        int runs = claim.endRun - claim.firstRun;
        BatchBuffer buffer = claim.buffer();
        long bytes = buffer.offsets[buffer.runFirst[claim.endRun]] - buffer.offsets[buffer.runFirst[claim.firstRun]];
        return memory.kind().isCuda() && runs >= FEWEST_ENTRIES && bytes / runs <= SMALL_READ;
    }

    private void finish(BatchClaim claim, @Nullable Throwable failure) {
        BatchBuffer buffer = claim.buffer();
        boolean last = ring.finish(claim, failure);
        if (last) {
            Throwable later = null;
            try {
                if (buffer.anyBad) {
                    leaveOutBad(buffer);
                }
            } catch (Throwable e) {
                later = e;
            }
            ring.complete(buffer, later);
        }
    }

    /** Submits the claimed reads as a batch. If one fails, all are read again one by one, to find it. */
    private void readTogether(BatchClaim claim, CuFileBatch batch) {
        BatchBuffer buffer = claim.buffer();
        requests.clear();
        for (int run = claim.firstRun; run < claim.endRun; run++) {
            requests.add(CuFileBatch.Request.read(
                    memory.file(buffer.runFile[run]),
                    memory.target(),
                    buffer.runBytes(run),
                    buffer.runFileOffset[run],
                    buffer.base + buffer.offsets[buffer.runFirst[run]]));
        }
        List<CuFileBatch.Completion> completions;
        try {
            completions = batch.transferAll(requests);
        } catch (CuFileBatchException e) {
            completions = List.of();
        }
        for (int run = claim.firstRun; run < claim.endRun; run++) {
            int entry = run - claim.firstRun;
            if (completions.isEmpty() || completions.get(entry).bytes() < buffer.runBytes(run)) {
                read(buffer, run);
            }
        }
    }

    private void read(BatchBuffer buffer, int run) {
        int first = buffer.runFirst[run];
        int end = buffer.runFirst[run + 1];
        if (end - first > 1) {
            long size = buffer.runBytes(run);
            CuFileHandle file = memory.file(buffer.runFile[run]);
            try {
                if (size == 0
                        || file.read(memory.target(), size, buffer.runFileOffset[run],
                                buffer.base + buffer.offsets[first]) == size) {
                    return;
                }
            } catch (CuFileException e) {
                System.getLogger("io.gds4j.dataset").log(
                        System.Logger.Level.DEBUG, "a read failed; its records are read one by one", e);
            }
        }
        for (int i = first; i < end; i++) {
            readRecord(buffer, i, buffer.runFile[run]);
        }
    }

    private void readRecord(BatchBuffer buffer, int index, int fileIndex) {
        long size = buffer.offsets[index + 1] - buffer.offsets[index];
        if (size == 0) {
            return;
        }
        long record = buffer.records[index];
        long fileOffset = source.fileOffset(record);
        RecordException failure;
        try {
            long bytes = memory.file(fileIndex)
                    .read(memory.target(), size, fileOffset, buffer.base + buffer.offsets[index]);
            if (bytes == size) {
                return;
            }
            failure = RecordException.tooShort(record, path(fileIndex), fileOffset, size, bytes);
        } catch (CuFileException e) {
            if (!memory.driver().isOpen()) {
                throw e; // says nothing about the record
            }
            failure = RecordException.failed(record, path(fileIndex), fileOffset, size, e);
        }
        if (policy == ErrorPolicy.STOP) {
            throw failure;
        }
        buffer.bad[index] = true;
        buffer.anyBad = true;
    }

    private Path path(int fileIndex) {
        return source.files().get(fileIndex);
    }

    /** Moves the good records together, in their order. */
    private void leaveOutBad(BatchBuffer buffer) {
        MemoryAllocator allocator = memory.driver().allocator();
        int kept = 0;
        long at = 0;
        for (int i = 0; i < buffer.count; i++) {
            if (!buffer.bad[i]) {
                long from = buffer.offsets[i];
                long length = buffer.offsets[i + 1] - from;
                // In steps no longer than the distance, because the ranges of a copy must not overlap.
                long step = from - at;
                for (long done = 0; step > 0 && done < length; done += step) {
                    long part = Math.min(step, length - done);
                    allocator.copy(
                            memory.slice(buffer.base + from + done, part),
                            memory.slice(buffer.base + at + done, part));
                }
                buffer.records[kept] = buffer.records[i];
                buffer.offsets[kept] = at;
                kept++;
                at += length;
            }
        }
        buffer.offsets[kept] = at;
        buffer.skipped = buffer.count - kept;
        buffer.bytes = at;
    }
}
