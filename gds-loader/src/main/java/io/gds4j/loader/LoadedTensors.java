package io.gds4j.loader;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Tensors in memory, and the owner of that memory. {@link #close} frees all of it except tensors that were taken.
 *
 * <pre>{@code
 * try (LoadedTensors tensors = plan.load(driver)) {
 *     MemoryAllocation mine = tensors.take("lm_head.weight");   // lives on after close, until mine.close()
 * }
 * }</pre>
 *
 * <p>
 * Tensors of one file share one allocation (a slab): it is freed once {@code close} was called and every tensor taken from it
 * is closed. So one small tensor that is taken keeps the memory of its file; copy it if that is too much. Thread-safe.
 *
 * @since 0.1
 */
public final class LoadedTensors implements AutoCloseable {
    private static final String FUNCTION = "LoadedTensors";

    private final Map<String, Held> held;
    private final List<Slab> slabs;
    private final MemoryAllocator allocator;
    private final LoadReport report;
    private boolean closed;

    /** A tensor and the slab it stands in. */
    record Held(LoadedTensor tensor, Slab slab) {
    }

    LoadedTensors(Map<String, Held> held, List<Slab> slabs, MemoryAllocator allocator, LoadReport report) {
        this.held = held;
        this.slabs = new ArrayList<>(slabs);
        this.allocator = allocator;
        this.report = report;
    }

    /** Names of the tensors that are here, file by file in the order of their data. */
    public synchronized Set<String> names() {
        return new LinkedHashSet<>(held.keySet());
    }

    /** The tensors that are here, in the order of {@link #names}. */
    public synchronized List<LoadedTensor> tensors() {
        checkOpen();
        return held.values().stream().map(Held::tensor).toList();
    }

    /**
     * A tensor by name.
     *
     * @throws CuFileException INVALID_VALUE if there is none of that name or it was taken, CUDA_POINTER_INVALID after close
     */
    public synchronized LoadedTensor get(String name) {
        return held(name).tensor();
    }

    /** Address of a tensor; {@link #get} says what is thrown. */
    public long address(String name) {
        return get(name).address();
    }

    /** Memory of a tensor; {@link #get} says what is thrown. I/O may use it until close. */
    public MemoryRange range(String name) {
        return get(name).range();
    }

    /**
     * A tensor in host memory as a segment; accessible until close.
     *
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID for memory of a GPU, which the host cannot address; others as
     *         {@link #get}
     */
    public MemorySegment segment(String name) {
        MemoryRange range = range(name);
        return range.segment()
                .orElseThrow(() -> CuFileException.of(
                        CuFileError.CUDA_MEMORY_TYPE_INVALID,
                        FUNCTION,
                        "%s memory has no segment; copyToHost copies it".formatted(range.kind())));
    }

    /**
     * Copies a tensor to the start of host memory, native or array.
     *
     * @throws CuFileException INVALID_VALUE if {@code to} is shorter than the tensor; others as {@link #get}
     */
    public void copyToHost(String name, MemorySegment to) {
        MemoryRange range = range(name);
        if (to.byteSize() < range.length()) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    FUNCTION,
                    "tensor %s has %d bytes, the segment %d"
                            .formatted(CheckpointException.quote(name), range.length(), to.byteSize()));
        }
        if (range.length() > 0) {
            allocator.copyToHost(range, to.asSlice(0, range.length()));
        }
    }

    /** Copies {@code to.byteSize()} bytes of a tensor, from {@code offset} on. */
    void copyToHost(MemoryRange range, long offset, MemorySegment to) {
        allocator.copyToHost(range.slice(offset, to.byteSize()), to);
    }

    /**
     * Hands a tensor's memory over: it is no longer among these tensors, and the caller closes it. The memory of its file
     * lives until then.
     *
     * @throws CuFileException INVALID_VALUE if the memory is the caller's already ({@link LoadPlan#into},
     *         {@link LoadPlan#destinations}); others as {@link #get}
     */
    public synchronized MemoryAllocation take(String name) {
        Held one = held(name);
        if (one.slab.isForeign()) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE, FUNCTION, "the memory of these tensors is the caller's own already");
        }
        MemoryRange range = one.tensor.range();
        one.slab.hold();
        MemoryAllocation taken = MemoryAllocation.of(range, one.slab::letGo);
        held.remove(name);
        return taken;
    }

    /** What the load did. */
    public LoadReport report() {
        return report;
    }

    /** True until {@link #close}. */
    public synchronized boolean isOpen() {
        return !closed;
    }

    /**
     * Waits for I/O on the tensors, then frees all that was not taken. Idempotent.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY) while memory of them is registered with a driver: to be called again
     *         after that
     */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            held.clear();
        }
        synchronized (slabs) {
            while (!slabs.isEmpty()) {
                slabs.getLast().letGo();
                slabs.removeLast();
            }
        }
    }

    private Held held(String name) {
        checkOpen();
        Held one = held.get(name);
        if (one == null) {
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    FUNCTION,
                    "no tensor %s was loaded, or it was taken".formatted(CheckpointException.quote(name)));
        }
        return one;
    }

    private void checkOpen() {
        if (closed) {
            throw CuFileException.of(CuFileError.CUDA_POINTER_INVALID, FUNCTION, "the tensors are closed");
        }
    }

    @Override
    public synchronized String toString() {
        return "LoadedTensors[%d, %s]".formatted(held.size(), closed ? "closed" : "open");
    }
}
