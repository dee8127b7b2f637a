package io.gds4j.loader;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.load.DestinationBlock;
import io.gds4j.loader.internal.load.Layout;
import io.gds4j.loader.internal.load.LoadJob.PlacedTensors;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryRange;
import io.gds4j.source.FileVersion;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Owns tensors in memory. {@link #close} frees all of them except those that were taken.
 *
 * <pre>{@code
 * try (LoadedTensors tensors = plan.load(driver)) {
 *     for (LoadedTensor tensor : tensors) {
 *         System.out.println(tensor.name() + " " + tensor.shape());
 *     }
 *     MemoryAllocation mine = tensors.take("lm_head.weight");   // survives close; the program closes it
 * }
 * }</pre>
 *
 * <p>
 * Tensors of one file, or of consecutive small files, share one allocation. It is freed after {@code close} was called and every tensor
 * taken from it is closed. A small tensor that is taken therefore keeps the memory of all; copy the tensor to avoid that. Tensors that
 * are the same bytes of a file, such as tied weights, have the same address: a change of one changes the other.
 * Thread-safe.
 *
 * @since 0.1
 */
public final class LoadedTensors implements Iterable<LoadedTensor>, AutoCloseable {
    private static final String FUNCTION = "LoadedTensors";

    private final Map<String, Held> held = new LinkedHashMap<>();
    private final List<DestinationBlock> blocks = new ArrayList<>();
    private final @Nullable MemoryAllocator allocator;
    private final LoadReport report;
    private final Map<Path, FileVersion> versions;
    /** A driver that only these tensors keep open; null if the program opened it. */
    private @Nullable CuFileDriver driver;
    private boolean closed;

    /** A tensor, the block that contains it, and the bytes of the file that it consists of. */
    record Held(LoadedTensor tensor, DestinationBlock block, TensorSlice slice) {
    }

    /** Takes the tensors of a rank, and its memory. */
    LoadedTensors(PlacedTensors placed, int rank, LoadReport report) {
        Layout layout = placed.layout();
        this.allocator = placed.allocator();
        this.report = report;
        this.versions = placed.versions();
        for (Layout.Placed one : layout.slices()) {
            TensorSlice slice = one.slice();
            if (slice.rank() == rank) {
                DestinationBlock block = placed.blocks().get(one.block());
                MemoryRange range = block.range(one.offset(), slice.bytes());
                TensorInfo info = info(slice, layout.names());
                held.put(info.name(), new Held(new LoadedTensor(info, range, allocator), block, slice));
            }
        }
        for (int i = 0; i < placed.blocks().size(); i++) {
            if (layout.blocks().get(i).rank() == rank) {
                blocks.add(placed.blocks().get(i));
            }
        }
    }

    /** Loads by a driver that only the tensors keep open. */
    static LoadedTensors byOwnDriver(Function<CuFileDriver, LoadedTensors> load) {
        CuFileDriver driver = CuFileDriver.open();
        return Undo.ifFails(driver::close, () -> load.apply(driver).keeping(driver));
    }

    /** Closes a driver when these tensors and all memory that was taken from them are closed. */
    synchronized LoadedTensors keeping(CuFileDriver own) {
        driver = own;
        return this;
    }

    /** Describes a slice as a tensor, under its new name if there is one. */
    static TensorInfo info(TensorSlice slice, Map<String, String> names) {
        TensorInfo whole = slice.tensor();
        String name = names.getOrDefault(whole.name(), whole.name());
        if (slice.isWhole() && name.equals(whole.name())) {
            return whole;
        }
        if (slice.isWhole()) {
            return whole.renamed(name);
        }
        boolean empty = slice.copies().isEmpty();
        long offset = empty ? whole.fileOffset() : slice.copies().getFirst().fileOffset();
        Path file = empty ? whole.file() : slice.file(slice.copies().getFirst());
        return new TensorInfo(name, whole.dtype(), slice.shape(), file, offset, slice.bytes(), whole.order());
    }

    /** Returns the names of the tensors that were not taken, file by file in the order of their data. */
    public synchronized Set<String> names() {
        return new LinkedHashSet<>(held.keySet());
    }

    /** Returns the number of tensors that were not taken; 0 after close. */
    public synchronized int size() {
        return held.size();
    }

    /**
     * Returns the tensors that were not taken, in the order of {@link #names}.
     *
     * @throws CuFileException CUDA_POINTER_INVALID after close
     */
    public synchronized List<LoadedTensor> tensors() {
        checkOpen();
        return held.values().stream().map(Held::tensor).toList();
    }

    /**
     * Returns an iterator of {@link #tensors} as they are now. A tensor that is taken meanwhile stays in it. It cannot remove tensors.
     *
     * @throws CuFileException CUDA_POINTER_INVALID after close
     */
    @Override
    public Iterator<LoadedTensor> iterator() {
        return tensors().iterator();
    }

    /**
     * Returns a stream of {@link #tensors} as they are now. A tensor that is taken meanwhile stays in it.
     *
     * @throws CuFileException CUDA_POINTER_INVALID after close
     */
    public Stream<LoadedTensor> stream() {
        return tensors().stream();
    }

    /**
     * Returns a tensor by name.
     *
     * @throws CuFileException INVALID_VALUE if there is no such tensor or it was taken, CUDA_POINTER_INVALID after close
     */
    public synchronized LoadedTensor get(String name) {
        return held(name).tensor();
    }

    /**
     * Returns a tensor by name; empty if there is no such tensor or it was taken.
     *
     * @throws CuFileException CUDA_POINTER_INVALID after close
     */
    public synchronized Optional<LoadedTensor> find(String name) {
        checkOpen();
        return Optional.ofNullable(held.get(name)).map(Held::tensor);
    }

    /** Returns the bytes of the file that a tensor consists of; throws as {@link #get} does. */
    synchronized TensorSlice slice(String name) {
        return held(name).slice();
    }

    /** Returns the version of a file from which a tensor came. */
    FileVersion version(Path file) {
        return Objects.requireNonNull(versions.get(file), "the file of no tensor");
    }

    /** Returns the address of a tensor; throws as {@link #get} does. */
    public long address(String name) {
        return get(name).address();
    }

    /** Returns the memory of a tensor, which I/O may use until close; throws as {@link #get} does. */
    public MemoryRange range(String name) {
        return get(name).range();
    }

    /**
     * Returns a tensor in host memory as a segment, which is accessible until close.
     *
     * @throws CuFileException CUDA_MEMORY_TYPE_INVALID for memory of a GPU, which the host cannot address; otherwise as
     *         {@link #get}
     */
    public MemorySegment segment(String name) {
        return get(name).segment();
    }

    /**
     * Copies the bytes of a tensor, in its {@link io.gds4j.loader.format.TensorInfo#order}, to the start of host memory, native or
     * array.
     *
     * @throws CuFileException INVALID_VALUE if {@code to} is shorter than the tensor; otherwise as {@link #get}
     */
    public void copyToHost(String name, MemorySegment to) {
        MemoryRange range = range(name);
        if (to.byteSize() < range.length()) {
            throw CuFileException.invalid(FUNCTION,
                    "tensor %s has %s bytes, the segment %s"
                            .formatted(CheckpointException.quote(name), range.length(), to.byteSize()));
        }
        get(name).copyToHost(0, to.asSlice(0, range.length()));
    }

    /**
     * Transfers a tensor to the caller, who must close it. The memory of its file stays allocated until then.
     *
     * @throws CuFileException INVALID_VALUE if the memory already belongs to the caller ({@link LoadPlan#into},
     *         {@link LoadPlan#destinations}) or is a mapped file ({@link LoadPlan#map}); otherwise as {@link #get}
     */
    public synchronized MemoryAllocation take(String name) {
        Held one = held(name);
        if (one.block.isCallerOwned()) {
            throw CuFileException.invalid(FUNCTION, "the memory of these tensors already belongs to the caller");
        }
        MemoryRange range = one.tensor.range();
        if (!range.isWritable()) {
            throw CuFileException.invalid(FUNCTION, "the tensors are in mapped files; load gives memory to take");
        }
        DestinationBlock block = one.block;
        CuFileDriver share = driver == null ? null : driver.share();
        block.hold();
        MemoryAllocation taken = MemoryAllocation.of(range, () -> release(block, share));
        if (allocator != null) {
            MemoryAccess.copiedBy(allocator, taken);
        }
        held.remove(name);
        return taken;
    }

    private static void release(DestinationBlock block, @Nullable CuFileDriver share) {
        try {
            block.release();
        } finally {
            if (share != null) {
                share.close();
            }
        }
    }

    /**
     * Lends all tensors that were not taken to native code that keeps their addresses. Until the loan is closed, {@link #close} throws
     * EBUSY.
     *
     * @throws CuFileException as {@link LoadedTensor#lend}; then nothing is lent
     */
    public synchronized TensorLoan lend() {
        checkOpen();
        held.values().forEach(one -> one.tensor.requireAligned());
        return TensorLoan.of("LoadedTensors.lend()", blocks.stream().map(DestinationBlock::memory).toList());
    }

    /** Returns what the load did. */
    public LoadReport report() {
        return report;
    }

    /** Returns true until {@link #close}. */
    public synchronized boolean isOpen() {
        return !closed;
    }

    /**
     * Waits for I/O on the tensors, then frees the tensors that were not taken. Idempotent.
     *
     * @throws CuFileException IO_NOT_SUPPORTED (EBUSY), and nothing has changed, while their memory is lent or registered with a driver;
     *         call it again after the loan or the registration is closed
     */
    @Override
    public void close() {
        synchronized (this) {
            if (!closed) {
                blocks.forEach(DestinationBlock::checkUnclaimed);
                closed = true;
                held.clear();
            }
        }
        synchronized (blocks) {
            while (!blocks.isEmpty()) {
                blocks.getLast().release();
                blocks.removeLast();
            }
        }
        if (driver != null) {
            driver.close();
        }
    }

    private Held held(String name) {
        checkOpen();
        Held one = held.get(name);
        if (one == null) {
            throw CuFileException.invalid(FUNCTION,
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
        return "LoadedTensors[%s, %s]".formatted(held.size(), closed ? "closed" : "open");
    }
}
