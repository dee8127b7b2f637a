package io.gds4j.loader;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.jspecify.annotations.Nullable;

/**
 * Which tensors of a checkpoint go where, and in which requests. Immutable: each method that changes something returns a
 * new plan; the others say what {@link #load} would do.
 *
 * <pre>{@code
 * LoadPlan plan = checkpoint.plan().include("^model\\.layers\\.").to(MemoryKind.CUDA_DEVICE, 0);
 * System.out.println(plan.bytes() + " bytes in " + plan.requests().size() + " requests");
 * try (LoadedTensors tensors = plan.load(driver)) {
 *     use(tensors.address("model.layers.0.mlp.up_proj.weight"));
 * }
 * }</pre>
 *
 * <p>
 * Unless told otherwise there is one allocation (a slab) for each file, in which every tensor stands at a multiple of
 * {@link #alignment(long)}. The bytes are read in few large requests that begin at page boundaries of the file, several of
 * them in flight. Thread-safe.
 *
 * @since 0.1
 */
public final class LoadPlan {
    private static final String FUNCTION = "LoadPlan";
    private static final long PAGE = 4096;
    private static final long LEAST_ALIGNMENT = 256;
    private static final long MOST_ALIGNMENT = 1L << 30;
    private static final long LEAST_REQUEST = 1L << 20;
    private static final int MOST_IN_FLIGHT = 64;
    private static final long LEAST_STAGING_PER_REQUEST = 128L << 10;

    private final Checkpoint checkpoint;
    private final LoadOptions options;
    private volatile @Nullable Layout layout;

    LoadPlan(Checkpoint checkpoint, LoadOptions options) {
        this.checkpoint = checkpoint;
        this.options = options;
    }

    private LoadPlan with(LoadOptions changed) {
        return new LoadPlan(checkpoint, changed);
    }

    /** The checkpoint to load from. */
    public Checkpoint checkpoint() {
        return checkpoint;
    }

    /**
     * Only tensors in whose name the expression is found ({@link java.util.regex.Matcher#find}); narrows what was chosen
     * before.
     *
     * @throws CuFileException INVALID_VALUE for a malformed expression
     */
    public LoadPlan include(String regex) {
        Pattern pattern;
        try {
            pattern = Pattern.compile(regex);
        } catch (PatternSyntaxException e) {
            throw invalid("not a regular expression: %s at %d of %s"
                    .formatted(e.getDescription(), e.getIndex(), CheckpointException.quote(regex)));
        }
        return select(tensor -> pattern.matcher(tensor.name()).find());
    }

    /** Only tensors that pass; narrows what was chosen before. May be called on any thread, more than once for a tensor. */
    public LoadPlan select(Predicate<TensorInfo> filter) {
        return with(options.withFilter(Objects.requireNonNull(filter, "filter")));
    }

    /** Into memory of this kind, of GPU 0 or of the host. */
    public LoadPlan to(MemoryKind kind) {
        return to(kind, kind.isCuda() ? 0 : MemoryRange.NO_DEVICE);
    }

    /**
     * Into memory of this kind, allocated by the load and owned by its {@link LoadedTensors}.
     *
     * @param device ordinal of the GPU; {@link MemoryRange#NO_DEVICE} for host kinds that need none
     * @throws CuFileException INVALID_VALUE for a GPU's memory without a GPU
     */
    public LoadPlan to(MemoryKind kind, int device) {
        if (kind.isCuda() && device < 0) {
            throw invalid(kind + " needs a device, got " + device);
        }
        return with(options.withTarget(kind, device));
    }

    /**
     * Into one range of the caller's, file behind file; it has to hold {@link #destinationBytes}. The caller keeps it
     * allocated while the tensors are in use, and frees it.
     *
     * @throws CuFileException PERMISSION_DENIED for a range over a read-only segment; {@link #load} and whatever inspects the
     *         plan throw CUDA_POINTER_RANGE_ERROR if it is too small
     */
    public LoadPlan into(MemoryRange destination) {
        if (!destination.isWritable()) {
            throw CuFileException.of(
                    CuFileError.PERMISSION_DENIED, FUNCTION, "the destination is a read-only segment");
        }
        return with(options.withInto(destination));
    }

    /**
     * Each tensor into memory of the caller's, at whatever address that has: for runtimes that allocate their own arrays.
     * {@link #alignment(long)} has no effect then.
     *
     * @param destinations gives each chosen tensor its memory, {@link TensorInfo#length} bytes or more; asked once a plan
     */
    public LoadPlan destinations(Function<TensorInfo, MemoryRange> destinations) {
        return with(options.withDestinations(Objects.requireNonNull(destinations, "destinations")));
    }

    /**
     * Addresses are multiples of this many bytes.
     *
     * @param bytes a power of two, 256 (the default) to 2^30
     * @throws CuFileException INVALID_VALUE otherwise
     */
    public LoadPlan alignment(long bytes) {
        if (bytes < LEAST_ALIGNMENT || bytes > MOST_ALIGNMENT || Long.bitCount(bytes) != 1) {
            throw invalid("alignment has to be a power of two from %d to %d: %d"
                    .formatted(LEAST_ALIGNMENT, MOST_ALIGNMENT, bytes));
        }
        return with(options.withAlignment(bytes));
    }

    /**
     * Host memory that the loader itself may take for tensors that are gathered; the driver's bounce buffers come on top.
     *
     * @param bytes 128 KiB for each request in flight, or more; 64 MiB by default
     * @throws CuFileException INVALID_VALUE for less
     */
    public LoadPlan stagingBudget(long bytes) {
        return io(bytes, options.requestSize(), options.requestsInFlight(), options.direct());
    }

    /**
     * Bytes of one read at most.
     *
     * @param bytes 1 MiB or more, rounded down to a multiple of 4096; by default what is left of the load divided by twice the
     *        requests in flight, from 32 to 256 MiB: large while much is left, smaller towards the end
     * @throws CuFileException INVALID_VALUE for less
     */
    public LoadPlan requestSize(long bytes) {
        if (bytes < LEAST_REQUEST) {
            throw invalid("request size has to be %d bytes or more: %d".formatted(LEAST_REQUEST, bytes));
        }
        return io(options.stagingBudget(), bytes & -PAGE, options.requestsInFlight(), options.direct());
    }

    /**
     * Reads under way at a time, each on a thread of its own, so that the driver's pipeline never drains between two.
     *
     * @param count 1 to 64; 4 by default
     * @throws CuFileException INVALID_VALUE otherwise
     */
    public LoadPlan requestsInFlight(int count) {
        if (count < 1 || count > MOST_IN_FLIGHT) {
            throw invalid("requests in flight have to be 1 to %d: %d".formatted(MOST_IN_FLIGHT, count));
        }
        return io(options.stagingBudget(), options.requestSize(), count, options.direct());
    }

    /** Whether files are opened with O_DIRECT, past the page cache; by default the driver decides by what is cached. */
    public LoadPlan direct(boolean direct) {
        return io(options.stagingBudget(), options.requestSize(), options.requestsInFlight(), direct);
    }

    private LoadPlan io(long budget, long requestSize, int inFlight, boolean direct) {
        if (budget < LEAST_STAGING_PER_REQUEST * inFlight) {
            throw invalid("staging budget has to be %d bytes or more for %d requests in flight: %d"
                    .formatted(LEAST_STAGING_PER_REQUEST * inFlight, inFlight, budget));
        }
        return with(options.withIo(budget, requestSize, inFlight, direct));
    }

    /** The chosen tensors, file by file in the order of their data. */
    public List<TensorInfo> tensors() {
        List<TensorInfo> tensors = new ArrayList<>();
        for (Layout.Placed placed : layout().tensors()) {
            tensors.add(placed.tensor());
        }
        return List.copyOf(tensors);
    }

    /** Bytes of the chosen tensors. */
    public long bytes() {
        return layout().tensorBytes();
    }

    /** Files with a chosen tensor. */
    public List<CheckpointFile> files() {
        return layout().files();
    }

    /**
     * Bytes of destination memory: the tensors, gaps for alignment, and room to begin at an aligned address wherever the
     * memory lies.
     */
    public long destinationBytes() {
        return layout().destinationBytes();
    }

    /** Kind of the destination memory; of no meaning where each tensor has its own. */
    public MemoryKind kind() {
        return options.kind();
    }

    /** GPU of the destination memory, or {@link MemoryRange#NO_DEVICE}. */
    public int device() {
        return options.device();
    }

    /** Bytes to whose multiples addresses are placed. */
    public long alignment() {
        return options.alignment();
    }

    /** The reads that {@link #load} will ask of the driver, in this order, several of them at a time. */
    public List<LoadRequest> requests() {
        Layout plan = layout();
        List<LoadRequest> requests = new ArrayList<>(plan.works().size());
        for (Layout.Work work : plan.works()) {
            var path = plan.files().get(work.file()).path();
            if (work instanceof Layout.Direct direct) {
                requests.add(new LoadRequest(path, direct.fileOffset(), direct.length(), false));
            } else if (work instanceof Layout.Gather gather) {
                for (Layout.Extent extent : gather.extents()) {
                    requests.add(new LoadRequest(path, extent.fileOffset(), extent.length(), true));
                }
            }
        }
        return List.copyOf(requests);
    }

    /** How tensors reach aligned addresses. */
    public AlignmentReport alignmentReport() {
        Layout plan = layout();
        int gathered = 0;
        long gatheredBytes = 0;
        for (Layout.Work work : plan.works()) {
            if (work instanceof Layout.Gather gather) {
                gathered += gather.pieces().size();
                gatheredBytes += gather.tensorBytes();
            }
        }
        long aligned = plan.tensors().stream()
                .filter(placed -> placed.tensor().fileOffset() % options.alignment() == 0)
                .count();
        int tensors = plan.tensors().size();
        return new AlignmentReport(
                options.alignment(), tensors, (int) aligned, tensors - gathered, gathered, gatheredBytes);
    }

    /** Loads; {@link #load(CuFileDriver, LoadListener)} without a listener. */
    public LoadedTensors load(CuFileDriver driver) {
        return load(driver, LoadListener.NONE);
    }

    /**
     * Loads the chosen tensors: all of them, or an exception and nothing. Reads run on threads of the loader; an interrupt
     * of the calling thread lets the pieces in flight end, frees everything and throws.
     *
     * @throws CheckpointException FILE_CHANGED if a file is no longer what its header said, or ends early
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     * @throws CuFileException NOMEM_ERROR and others of {@link io.gds4j.memory.MemoryAllocator#allocate} before anything is
     *         read; those of {@link CuFileDriver#openFile} and {@link io.gds4j.CuFileHandle#read}
     */
    public LoadedTensors load(CuFileDriver driver, LoadListener listener) {
        Objects.requireNonNull(driver, "driver");
        Objects.requireNonNull(listener, "listener");
        return new LoadJob(this, layout(), driver, listener).run();
    }

    /** {@link #loadAsync(CuFileDriver, LoadListener)} without a listener. */
    public CompletableFuture<LoadedTensors> loadAsync(CuFileDriver driver) {
        return loadAsync(driver, LoadListener.NONE);
    }

    /**
     * Loads on threads of the loader's own. {@code cancel} of the future itself (not of one that depends on it) lets the
     * pieces in flight end and frees everything before it returns; whether it is told to interrupt makes no difference.
     * Tensors of a load that nobody waits for any more, because the future was completed otherwise, are freed.
     */
    public CompletableFuture<LoadedTensors> loadAsync(CuFileDriver driver, LoadListener listener) {
        Objects.requireNonNull(driver, "driver");
        Objects.requireNonNull(listener, "listener");
        return LoadFuture.start(new LoadJob(this, layout(), driver, listener));
    }

    LoadOptions options() {
        return options;
    }

    private Layout layout() {
        Layout known = layout;
        if (known == null) {
            synchronized (this) {
                known = layout;
                if (known == null) {
                    known = LayoutPlanner.plan(checkpoint, options);
                    layout = known;
                }
            }
        }
        return known;
    }

    private static CuFileException invalid(String detail) {
        return CuFileException.of(CuFileError.INVALID_VALUE, FUNCTION, detail);
    }

    @Override
    public String toString() {
        Layout plan = layout();
        return "LoadPlan[%d tensors, %d bytes from %d files to %s, %d requests]"
                .formatted(
                        plan.tensors().size(),
                        bytes(),
                        plan.files().size(),
                        options.destinations() == null ? options.kind() : "memory of the caller",
                        requests().size());
    }
}
