package io.gds4j.compat.plan;

import io.gds4j.compat.file.CompatFile;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.source.Cancellation;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.Operation;
import io.gds4j.spi.ResultSink;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a caller asks for: which bytes of a file, and of which memory. Reused, so that a request allocates nothing.
 */
public final class TransferRequest {
    private @Nullable CompatFile file;
    private @Nullable MemoryRange memory;
    private boolean write;
    private long size;
    private long fileOffset;
    private long bufferOffset;
    private long total;
    private boolean gathers;
    private boolean spread;
    private boolean straight;
    private List<ScatterCopy> copies = List.of();
    private ResultSink sink = ResultSink.NONE;
    private Cancellation cancellation = Cancellation.NEVER;
    private final Circumstances circumstances = new Circumstances();

    /** Sets a whole request. */
    public TransferRequest set(
            CompatFile ofFile, MemoryRange ofMemory, Operation operation, long bytes, long offset, long memoryOffset) {
        file = ofFile;
        memory = ofMemory;
        write = operation.isWrite();
        size = bytes;
        fileOffset = offset;
        bufferOffset = memoryOffset;
        total = bytes;
        gathers = false;
        spread = false;
        straight = false;
        return this;
    }

    /** Sets a batch's entry, a stream's operation, or a call with fragments or a report. */
    public TransferRequest set(CompatFile ofFile, BatchRequest entry) {
        set(ofFile, entry.memory(), entry.operation(), entry.size(), entry.fileOffset(), entry.bufferOffset());
        copies = entry.copies();
        sink = entry.sink();
        return this;
    }

    /** Lets a request that has not begun end early. */
    public void heed(Cancellation ofBatch) {
        cancellation = ofBatch;
    }

    /** Returns whether the request need not begin any more. */
    public boolean isCancelled() {
        return cancellation.isCancelled();
    }

    /** Makes the request a part of an operation, whose size decides how many threads pay. */
    public void partOf(long bytes) {
        total = bytes;
    }

    /** Sets the memory that decides which workers help: of a scattered request, one of its fragments. */
    public void decisive(MemoryRange fragment) {
        memory = fragment;
    }

    /** Lets one kernel copy all pieces. */
    public void letGather() {
        gathers = true;
    }

    /** Returns whether one kernel could copy all pieces. */
    boolean mayGather() {
        return gathers;
    }

    /** Tells that fragments are of several GPUs. */
    public void spread() {
        spread = true;
    }

    boolean isSpread() {
        return spread;
    }

    /** Has a read fill its fragments one after the other, without slabs. */
    public void goStraight() {
        straight = true;
    }

    /** Returns whether a read fills its fragments without slabs. */
    public boolean isStraight() {
        return straight;
    }

    /** Returns what hears of the bytes. */
    public ResultSink sink() {
        return sink;
    }

    /** Returns the fragments of a scattered request; empty for other requests. */
    public List<ScatterCopy> copies() {
        return copies;
    }

    /** Returns whether the bytes pass through slabs. */
    boolean isStaged() {
        return memory().kind().isCuda() || !copies.isEmpty() && !straight;
    }

    /** Returns those of the last request of this object. */
    Circumstances circumstances() {
        return circumstances;
    }

    /** Drops file and memory. */
    public void clear() {
        copies = List.of();
        sink = ResultSink.NONE;
        cancellation = Cancellation.NEVER;
        file = null;
        memory = null;
    }

    public CompatFile file() {
        CompatFile known = file;
        if (known == null) {
            throw new IllegalStateException("no request");
        }
        return known;
    }

    public MemoryRange memory() {
        MemoryRange known = memory;
        if (known == null) {
            throw new IllegalStateException("no request");
        }
        return known;
    }

    /** Returns whether the bytes go from memory to the file. */
    public boolean isWrite() {
        return write;
    }

    /** Returns the number of bytes. */
    public long size() {
        return size;
    }

    /** Returns the offset of the first byte in the file. */
    public long fileOffset() {
        return fileOffset;
    }

    /** Returns the offset of the first byte in the memory. */
    public long bufferOffset() {
        return bufferOffset;
    }

    /** Returns the address of the first byte in memory. */
    public long address() {
        return memory().address() + bufferOffset;
    }

    /** Returns the bytes of the operation that the request is a part of; the request's size if it is whole. */
    long total() {
        return total;
    }
}
