package io.gds4j.loader;

import io.gds4j.CuFileDriver;
import io.gds4j.config.DirectStorage;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.Conversion;
import io.gds4j.loader.internal.load.DestinationBlock;
import io.gds4j.loader.internal.load.Layout;
import io.gds4j.loader.internal.load.LayoutPlanner;
import io.gds4j.loader.internal.load.LoadFuture;
import io.gds4j.loader.internal.load.LoadJob;
import io.gds4j.loader.internal.load.LoadJob.PlacedTensors;
import io.gds4j.loader.internal.load.LoadOptions;
import io.gds4j.loader.internal.load.LoadOptions.Io;
import io.gds4j.loader.internal.load.LoadOptions.Target;
import io.gds4j.loader.internal.load.LoadRun;
import io.gds4j.loader.internal.load.MappedFiles;
import io.gds4j.loader.internal.load.Ranges;
import io.gds4j.loader.internal.load.TurnRing;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Describes which tensors of a checkpoint to load, into which memory, and by which requests. Immutable: methods that change an
 * option return a new plan; the other methods describe what {@link #load} would do.
 *
 * <pre>{@code
 * LoadPlan plan = checkpoint.plan().include("^model\\.layers\\.").toGpu(0);
 * System.out.println(plan.bytes() + " bytes in " + plan.requests().size() + " requests");
 * try (LoadedTensors tensors = plan.load(driver)) {
 *     use(tensors.address("model.layers.0.mlp.up_proj.weight"));
 * }
 * }</pre>
 *
 * <p>
 * By default the load makes one allocation for each file, or for consecutive files of at most 1 MiB until they fill 16 MiB, and places
 * every tensor at a multiple of {@link #alignment(long)}. It reads the bytes by few large requests that begin at page boundaries of
 * the file, several of them at a time. Thread-safe.
 *
 * @since 0.1
 */
public final class LoadPlan {
    /** An expression whose search in the names of a checkpoint takes too many steps; see {@link #include}. */
    public static final CheckpointRule SEARCH_LIMIT = NameSearch.LIMIT;

    private static final String FUNCTION = "LoadPlan";
    private static final long MIN_ALIGNMENT = 256;
    private static final long MAX_ALIGNMENT = 1L << 30;
    private static final long MIN_REQUEST = 1L << 20;
    private static final int MAX_IN_FLIGHT = 64;
    private static final long MIN_STAGING_PER_REQUEST = 128L << 10;

    private final Checkpoint checkpoint;
    private final LoadOptions options;
    private volatile @Nullable Layout layout;

    LoadPlan(Checkpoint checkpoint, LoadOptions options) {
        this.checkpoint = checkpoint;
        this.options = options;
    }

    LoadPlan with(LoadOptions changed) {
        return new LoadPlan(checkpoint, changed);
    }

    /** Returns the checkpoint to load from. */
    public Checkpoint checkpoint() {
        return checkpoint;
    }

    /**
     * Keeps only tensors in whose name the expression is found ({@link java.util.regex.Matcher#find}). Narrows the current
     * choice. If no tensor is left, {@link #tensors} is empty and {@link #load} throws.
     *
     * @throws CuFileException INVALID_VALUE for a malformed expression
     * @throws CheckpointException SEARCH_LIMIT if names of the checkpoint make the search take too many steps
     */
    public LoadPlan include(String regex) {
        Set<String> found = NameSearch.of(regex).find(checkpoint.tensors().values());
        return select(tensor -> found.contains(tensor.name()));
    }

    /**
     * Leaves out tensors in whose name the expression is found ({@link java.util.regex.Matcher#find}), the opposite of {@link #include}.
     * Narrows the current choice. If no tensor is left, {@link #tensors} is empty and {@link #load} throws.
     *
     * @throws CuFileException INVALID_VALUE for a malformed expression
     * @throws CheckpointException SEARCH_LIMIT if names of the checkpoint make the search take too many steps
     */
    public LoadPlan exclude(String regex) {
        Set<String> found = NameSearch.of(regex).find(checkpoint.tensors().values());
        return select(tensor -> !found.contains(tensor.name()));
    }

    /**
     * Keeps only tensors that the filter accepts. Narrows the current choice. If no tensor is left, {@link #tensors} is empty
     * and {@link #load} throws.
     *
     * @param filter called on any thread, possibly several times for a tensor
     */
    public LoadPlan select(Predicate<TensorInfo> filter) {
        return with(options.with(Objects.requireNonNull(filter, "filter")));
    }

    /**
     * Keeps only tensors whose names the filter accepts, as {@link #select} does.
     *
     * @param names called on any thread, possibly several times for a name
     */
    public LoadPlan filter(Predicate<String> names) {
        Objects.requireNonNull(names, "names");
        return select(tensor -> names.test(tensor.name()));
    }

    /**
     * Gives loaded tensors other names, such as an engine expects. {@link LoadedTensors} and {@link LoadedTensor#info} have the new
     * names. Filters, destinations, rules of ranks and listeners see those of the checkpoint. The operator of a second call receives the
     * names that the first one gave. If two chosen tensors would have one name, {@link #load} and the methods that inspect the plan
     * throw INVALID_VALUE before anything is read; the message names both tensors.
     *
     * <pre>{@code
     * LoadPlan plan = checkpoint.plan().rename(name -> name.replace("model.", ""));
     * }</pre>
     *
     * @param names returns the new name, not null; called on any thread, once for each chosen tensor of a plan
     */
    public LoadPlan rename(UnaryOperator<String> names) {
        return with(options.withRenaming(Objects.requireNonNull(names, "names")));
    }

    /** Loads into memory of this kind, of GPU 0 or of the host. */
    public LoadPlan to(MemoryKind kind) {
        return to(kind, kind.isCuda() ? 0 : MemoryRange.NO_DEVICE);
    }

    /**
     * Loads into memory of a GPU ({@link MemoryKind#CUDA_DEVICE}).
     *
     * @param device ordinal of the GPU, 0 or more
     * @throws CuFileException INVALID_VALUE for a negative ordinal
     */
    public LoadPlan toGpu(int device) {
        return to(MemoryKind.CUDA_DEVICE, device);
    }

    /** Loads into memory of the host, as a new plan does, also on a machine with a GPU ({@link MemoryKind#HOST}). */
    public LoadPlan toHost() {
        return to(MemoryKind.HOST);
    }

    /**
     * Loads into memory of GPU 0, or into host memory where the driver has no GPU
     * ({@link io.gds4j.memory.MemoryAllocator#best}).
     *
     * @param driver the driver that loads
     */
    public LoadPlan toBest(CuFileDriver driver) {
        return to(driver.allocator().best());
    }

    /**
     * Loads into memory of this kind. The load allocates it, and its {@link LoadedTensors} own it.
     *
     * @param device ordinal of the GPU; {@link MemoryRange#NO_DEVICE} for host kinds that need none
     * @throws CuFileException INVALID_VALUE for a CUDA kind without a device
     */
    public LoadPlan to(MemoryKind kind, int device) {
        if (kind.isCuda() && device < 0) {
            throw CuFileException.invalid(FUNCTION, kind + " needs a device, got " + device);
        }
        return with(options.with(new Target(kind, device, null, null)));
    }

    /**
     * Loads all files, one after the other, into memory of the caller. The caller keeps it allocated while the tensors are in
     * use, and frees it. Threads of the loader write to it, so it must not be a segment of a confined arena.
     *
     * @param destination at least {@link #destinationBytes} bytes
     * @throws CuFileException PERMISSION_DENIED for a read-only segment, CUDA_POINTER_INVALID for a segment of a confined
     *         arena. If the range is too small, {@link #load} and the methods that inspect the plan throw
     *         CUDA_POINTER_RANGE_ERROR
     */
    public LoadPlan into(MemoryRange destination) {
        if (!destination.isWritable()) {
            throw CuFileException.of(
                    CuFileError.PERMISSION_DENIED, FUNCTION, "the destination is a read-only segment");
        }
        DestinationBlock.checkAccess(destination);
        return with(options.with(new Target(destination.kind(), destination.device(), destination, null)));
    }

    /**
     * Loads each tensor into memory of the caller, at any address, for runtimes that allocate their own arrays.
     * {@link #alignment(long)} has no effect then. {@link #load} and the methods that inspect the plan throw
     * CUDA_POINTER_RANGE_ERROR for memory that is too small, CUDA_POINTER_INVALID for a segment of a confined arena, and
     * INVALID_VALUE if tensors would overlap that are not the same bytes of a file.
     *
     * @param destinations returns the memory of a tensor, {@link TensorInfo#length} bytes or more; called once for each chosen
     *        tensor
     */
    public LoadPlan destinations(Function<TensorInfo, MemoryRange> destinations) {
        Objects.requireNonNull(destinations, "destinations");
        return with(options.with(new Target(kind(), device(), null, destinations)));
    }

    /**
     * Places tensors at addresses that are multiples of {@code bytes}.
     *
     * @param bytes a power of two, 256 (the default) to 2^30
     * @throws CuFileException INVALID_VALUE otherwise
     */
    public LoadPlan alignment(long bytes) {
        if (bytes < MIN_ALIGNMENT || bytes > MAX_ALIGNMENT || Long.bitCount(bytes) != 1) {
            throw CuFileException.invalid(FUNCTION,
                    "alignment must be a power of two from %s to %s: %s"
                            .formatted(MIN_ALIGNMENT, MAX_ALIGNMENT, bytes));
        }
        return with(options.withAlignment(bytes));
    }

    /**
     * Limits the host memory of the loader for gathered tensors. The driver's bounce buffers are not included.
     *
     * @param bytes at least 128 KiB for each request in flight; 64 MiB by default
     * @throws CuFileException INVALID_VALUE for less
     */
    public LoadPlan stagingBudget(long bytes) {
        Io io = options.io();
        return with(new Io(bytes, io.requestSize(), io.requestsInFlight(), io.direct()));
    }

    /**
     * Sets the largest size of a read.
     *
     * @param bytes at least 1 MiB; rounded down to a multiple of 4096. By default the rest of the load divided by twice the
     *        requests in flight, within 128 to 256 MiB, so sizes shrink towards the end
     * @throws CuFileException INVALID_VALUE for less
     */
    public LoadPlan requestSize(long bytes) {
        if (bytes < MIN_REQUEST) {
            throw CuFileException.invalid(FUNCTION,
                    "request size must be at least %s bytes: %s".formatted(MIN_REQUEST, bytes));
        }
        Io io = options.io();
        return with(new Io(io.stagingBudget(), Pages.down(bytes), io.requestsInFlight(), io.direct()));
    }

    /**
     * Sets the number of simultaneous reads. Each runs on its own thread, so the driver's pipeline stays full between reads.
     *
     * @param count 1 to 64; by default 4, or up to 16 where 4 reads of this load are shorter than 512 MiB together
     * @throws CuFileException INVALID_VALUE otherwise
     */
    public LoadPlan requestsInFlight(int count) {
        if (count < 1 || count > MAX_IN_FLIGHT) {
            throw CuFileException.invalid(FUNCTION,
                    "requests in flight must be 1 to %s: %s".formatted(MAX_IN_FLIGHT, count));
        }
        Io io = options.io();
        return with(new Io(io.stagingBudget(), io.requestSize(), count, io.direct()));
    }

    /**
     * Sets whether files are opened with O_DIRECT, which bypasses the page cache.
     *
     * @param direct false by default: the driver then decides by which bytes are cached
     */
    public LoadPlan direct(boolean direct) {
        Io io = options.io();
        return with(new Io(io.stagingBudget(), io.requestSize(), io.requestsInFlight(), direct));
    }

    /**
     * Sets what the load demands of the driver. With {@link DirectStorage#REQUIRE} {@link #load} throws before it allocates or
     * reads, if the destination is host memory or if the driver would not serve a file by GPUDirect Storage. With
     * {@link DirectStorage#OFF} it throws if the driver would serve a file by it: open such a driver with the same value. Slices and
     * replicas pass from GPU to GPU then, and through bounded memory of a GPU ({@link ParallelLoadPlan#load}).
     *
     * @param demand {@link DirectStorage#AUTO} by default: the driver decides
     */
    public LoadPlan directStorage(DirectStorage demand) {
        return with(options.with(Objects.requireNonNull(demand, "demand")));
    }

    /**
     * Converts tensors that come {@linkplain #inTurn(CuFileDriver, Budget) in turn}: those of the types that
     * {@link LoadedTensor#toFloatArray} decodes. Others stay as they are. Values are rounded to the nearest one, ties to even. A GPU converts
     * what comes into its memory. A turn has memory for both forms.
     *
     * <pre>{@code
     * plan.as(DType.F32).inTurn(driver, Budget.bytes(4L << 30))   // BF16, F16 and Q4_K tensors come as F32
     * }</pre>
     *
     * @param type F32, F16 or BF16
     * @throws CuFileException INVALID_VALUE for another type. {@link #load} and {@link #map} refuse a plan that converts
     */
    public LoadPlan as(DType type) {
        if (!Conversion.isTarget(type)) {
            throw CuFileException.invalid(FUNCTION, "tensors become F32, F16 or BF16, not " + type);
        }
        return with(options.with(type));
    }

    private LoadPlan with(Io io) {
        long least = MIN_STAGING_PER_REQUEST * io.leastInFlight();
        if (io.stagingBudget() < least) {
            throw CuFileException.invalid(FUNCTION,
                    "staging budget must be at least %s bytes for %s requests in flight: %s"
                            .formatted(least, io.leastInFlight(), io.stagingBudget()));
        }
        return with(options.with(io));
    }

    /** Returns the chosen tensors, file by file in the order of their data. */
    public List<TensorInfo> tensors() {
        return layout().tensors();
    }

    /**
     * Returns the bytes of the chosen tensors. Bytes that several tensors share count once, unless the load places them several
     * times: in memory of the caller, and where their offsets disagree modulo the alignment.
     */
    public long bytes() {
        return layout().tensorBytes();
    }

    /** Returns the files that contain a chosen tensor. */
    public List<CheckpointFile> files() {
        return layout().files();
    }

    /**
     * Returns the bytes of destination memory: the tensors, gaps for alignment, and room to begin at an aligned address
     * anywhere in memory.
     */
    public long destinationBytes() {
        return layout().destinationBytes(0);
    }

    /** Returns the kind of the destination memory; meaningless after {@link #destinations}. */
    public MemoryKind kind() {
        return options.target().kind();
    }

    /** Returns the GPU of the destination memory, or {@link MemoryRange#NO_DEVICE}. */
    public int device() {
        return options.target().device();
    }

    /** Returns the alignment of tensor addresses in bytes. */
    public long alignment() {
        return options.alignment();
    }

    /** Returns the reads of {@link #load} in the order in which they start; several run at a time. */
    public List<LoadRequest> requests() {
        return requests(layout());
    }

    static List<LoadRequest> requests(Layout layout) {
        List<LoadRequest> requests = new ArrayList<>();
        layout.forEachRead((file, fileOffset, length, gathered) -> requests
                .add(new LoadRequest(file, fileOffset, length, gathered)));
        return List.copyOf(requests);
    }

    /** Returns how tensors reach aligned addresses. */
    public AlignmentReport alignmentReport() {
        Layout plan = layout();
        int gathered = 0;
        long gatheredBytes = 0;
        for (Layout.Work work : plan.works()) {
            if (work instanceof Layout.Gather gather) {
                gathered += gather.tensors().length;
                gatheredBytes += gather.tensorBytes();
            }
        }
        long aligned = plan.tensors().stream()
                .filter(tensor -> tensor.fileOffset() % options.alignment() == 0)
                .count();
        int tensors = plan.tensors().size();
        return new AlignmentReportParts(
                options.alignment(), tensors, (int) aligned, tensors - gathered, gathered, gatheredBytes);
    }

    /**
     * Loads with a driver of its own, into host memory unless the plan says otherwise. The tensors, and memory that was taken from them,
     * keep the driver open until they are closed.
     *
     * @return the tensors, which the caller closes
     * @throws CheckpointException as {@link #load(CuFileDriver, LoadListener)}
     * @throws CuFileException as {@link #load(CuFileDriver, LoadListener)} and {@link CuFileDriver#open()}
     */
    public LoadedTensors load() {
        return LoadedTensors.byOwnDriver(this::load);
    }

    /** Loads without a listener; see {@link #load(CuFileDriver, LoadListener)}. */
    public LoadedTensors load(CuFileDriver driver) {
        return load(driver, LoadListener.NONE);
    }

    /**
     * Loads all chosen tensors, or throws and leaves nothing allocated. Reads run on threads of the loader. After an
     * interrupt of the calling thread the load waits for the pieces in flight, frees everything and throws.
     *
     * <p>
     * Every file must be the one whose header was read, until the end. If a save replaced shards of an index meanwhile, the load
     * begins once more, with the shards that the index names now; they must describe the same tensors and metadata.
     *
     * @param listener receives progress; an exception of it ends the load and is thrown as it is
     * @throws CuFileException INVALID_VALUE if the choice leaves none of the checkpoint's tensors; IO_NOT_SUPPORTED if the driver
     *         does not meet {@link #directStorage}
     * @throws CheckpointException FILE_CHANGED if a file is gone or changed after its header was read
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     * @throws CuFileException as {@link io.gds4j.memory.MemoryAllocator#allocate}: memory for later files is allocated while the first is read;
     *         as {@link CuFileDriver#openFile} and {@link io.gds4j.CuFileHandle#read}
     */
    public LoadedTensors load(CuFileDriver driver, LoadListener listener) {
        Objects.requireNonNull(driver, "driver");
        Objects.requireNonNull(listener, "listener");
        return run(driver, listener).run();
    }

    /** Loads without a listener; see {@link #loadAsync(CuFileDriver, LoadListener)}. */
    public CompletableFuture<LoadedTensors> loadAsync(CuFileDriver driver) {
        return loadAsync(driver, LoadListener.NONE);
    }

    /**
     * Starts a load and returns its future. {@code cancel} of this future (not of a dependent one) waits for the pieces in
     * flight and frees everything before it returns; its argument has no effect. The future is done then, not before, unless a
     * listener cancels. It returns false if the tensors came first: then
     * they belong to the program, which closes them. If the program completes the future by other means, the load frees its tensors.
     *
     * @throws CuFileException INVALID_VALUE if the choice leaves none of the checkpoint's tensors; the future reports what
     *         {@link #load} throws
     */
    public CompletableFuture<LoadedTensors> loadAsync(CuFileDriver driver, LoadListener listener) {
        Objects.requireNonNull(driver, "driver");
        Objects.requireNonNull(listener, "listener");
        return LoadFuture.start(run(driver, listener));
    }

    /** Starts a load whose tensors close the driver, as a load that fails or is cancelled does. */
    CompletableFuture<LoadedTensors> loadAsyncKeeping(CuFileDriver own, LoadListener listener) {
        return LoadFuture.start(run(own, listener), tensors -> tensors.keeping(own), own::close);
    }

    /**
     * Maps the files instead of reading them, for engines that compute on the host. Nothing is read until a tensor is used; then the
     * page cache serves it, which all processes share. Needs neither a driver nor native access. The tensors are read-only, lie as they
     * lie in their file, and begin there at any address. {@link LoadedTensors#close} unmaps them; a later access throws
     * IllegalStateException.
     *
     * <pre>{@code
     * try (LoadedTensors tensors = checkpoint.plan().map()) {
     *     engine.run(name -> tensors.segment(name));
     * }
     * }</pre>
     *
     * <p>
     * Every file must be the one whose header was read, as for {@link #load}. Nobody may cut or write it while it is mapped: Java throws
     * InternalError where a mapped byte is gone, native code ends the process, and new bytes of the same file show. A save of gds4j
     * replaces files, and leaves those that are mapped as they are.
     *
     * @throws CuFileException INVALID_VALUE for what only {@link #load} can do: other memory than that of the host, {@link #into},
     *         {@link #destinations}, {@link #alignment(long)}, {@link #direct} and {@link DirectStorage#REQUIRE}; INVALID_VALUE if the
     *         choice leaves none of the checkpoint's tensors; IO_NOT_SUPPORTED for files of a server; NOMEM_ERROR if the system maps no
     *         more
     * @throws CheckpointException FILE_CHANGED if a file is gone or changed after its header was read
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public LoadedTensors map() {
        options.refusedByMap().ifPresent(option -> {
            throw CuFileException.of(CuFileError.INVALID_VALUE, FUNCTION, checkpoint.path(),
                    "a map leaves the tensors in the page cache as their files have them; %s is for load"
                            .formatted(option));
        });
        try {
            return mapOnce();
        } catch (CheckpointException e) {
            if (e.rule() != CheckpointRule.FILE_CHANGED) {
                throw e;
            }
            return again(e).mapOnce();
        }
    }

    private LoadedTensors mapOnce() {
        long start = System.nanoTime();
        Layout chosen = layout();
        requireChoice(chosen.tensors().size());
        PlacedTensors mapped = MappedFiles.map(chosen);
        double seconds = (System.nanoTime() - start) / 1e9;
        double headerSeconds = checkpoint.headerNanos() / 1e9;
        return new LoadedTensors(mapped, 0, new LoadReportParts(
                chosen.files().size(), chosen.tensors().size(), bytes(), 0, headerSeconds + seconds, headerSeconds,
                seconds,
                Map.of(), 0, Optional.empty(), 0, "mapped files"));
    }

    /**
     * Loads the chosen tensors in turn, file by file in the order of their data; see
     * {@link #inTurn(CuFileDriver, Budget, List, LoadListener)}.
     */
    public TensorsInTurn inTurn(CuFileDriver driver, Budget budget) {
        return inTurn(driver, budget, List.copyOf(slices().keySet()), LoadListener.NONE);
    }

    /**
     * Loads tensors one after the other through memory of a limited size, for models that are larger than memory, and for engines that
     * copy or convert what they receive. The loader reads ahead as far as the budget reaches. Memory is used again when its tensor is
     * closed; small neighbours share memory, which is used again when all of them are closed.
     *
     * <pre>{@code
     * try (TensorsInTurn tensors = plan.inTurn(driver, Budget.bytes(2L << 30))) {
     *     for (TensorInTurn turn : tensors) {
     *         engine.upload(turn.tensor().name(), turn.tensor().segment());
     *     }
     * }
     * }</pre>
     *
     * <p>
     * Files are checked as by {@link #load(CuFileDriver, LoadListener)}; a change that shows only at the end fails the call after the last
     * tensor.
     *
     * @param budget limits the memory for tensors, of the kind of this plan, with the host memory of the loader and bounce buffers
     * @param names names in the checkpoint, in the order of the turns; each at most once. Neighbours in a file that follow each other are
     *        read together
     * @param listener receives progress, as by {@link #load(CuFileDriver, LoadListener)}
     * @return the tensors; reading has begun
     * @throws CuFileException INVALID_VALUE if the budget is too small for the largest tensor, and says how many bytes it lacks; for a name
     *         that is not chosen or comes twice; for memory of the caller ({@link #into}, {@link #destinations}); if the choice leaves none
     *         of the checkpoint's tensors. Failures of the load are thrown by {@link TensorsInTurn#next}
     */
    public TensorsInTurn inTurn(CuFileDriver driver, Budget budget, List<String> names, LoadListener listener) {
        return TensorsInTurn.start(this, driver, budget, listener, choice(List.copyOf(names)));
    }

    TensorsInTurn.Choice choice(List<String> names) {
        requireChoice(names.size());
        return new TensorsInTurn.Choice(
                plan -> plan.inOrder(names), new TreeMap<>(Map.of(0, options.target())), Ranges.EACH);
    }

    /** Returns the chosen tensors by name, file by file in the order of their data. */
    private Map<String, TensorSlice> slices() {
        Map<String, TensorSlice> slices = new LinkedHashMap<>();
        checkpoint.files().forEach(file -> file.tensors().stream().filter(options.filter())
                .forEach(tensor -> slices.put(tensor.name(), TensorSlice.whole(tensor, 0))));
        return slices;
    }

    private List<TensorSlice> inOrder(List<String> names) {
        Map<String, TensorSlice> slices = slices();
        Set<String> taken = new HashSet<>();
        return names.stream().map(name -> {
            TensorSlice slice = slices.get(name);
            if (slice == null || !taken.add(name)) {
                throw CuFileException.of(CuFileError.INVALID_VALUE, FUNCTION, checkpoint.path(),
                        (slice == null ? "no tensor %s is chosen" : "tensor %s comes twice")
                                .formatted(CheckpointException.quote(name)));
            }
            return slice;
        }).toList();
    }

    private LoadRun<LoadedTensors> run(CuFileDriver driver, LoadListener listener) {
        return new LoadRun<>(job(driver, listener), changed -> again(changed).job(driver, listener));
    }

    private LoadJob<LoadedTensors> job(CuFileDriver driver, LoadListener listener) {
        Target target = options.target();
        if (target.into() == null && target.destinations() == null && driver.isOpen()) {
            driver.allocator().expect(target.kind(), target.device()); // a context takes 0.1 s, which planning can use
        }
        Layout chosen = layout();
        requireChoice(chosen.tensors().size());
        return new LoadJob<>(
                order(chosen, null, chosen.tensors().size(), bytes(), listener, () -> listener.started(this),
                        (job, report) -> new LoadedTensors(job.placed(), 0, report)),
                driver);
    }

    /** Describes a load by the options of this plan. */
    <R extends AutoCloseable> LoadJob.Order<R> order(
            Layout layout, @Nullable TurnRing ring, int tensors, long bytes, ProgressListener listener,
            Runnable started,
            BiFunction<LoadJob<R>, LoadReport, R> result) {
        if (ring == null) {
            refuseConversion();
        }
        Layout.Listener progress = new Layout.Listener() {
            @Override
            public void moved(long done, long total, Path file, long nanos) {
                listener.progress(new LoadProgress(done, total, file, nanos));
            }

            @Override
            public void placed(TensorInfo tensor) {
                listener.tensorPlaced(tensor);
            }
        };
        return new LoadJob.Order<>(
                checkpoint.path(), checkpoint.headerNanos(), layout, options, ring, tensors, bytes, progress, started,
                (job, outcome) -> result.apply(job, new LoadReportParts(
                        layout.files().size(), tensors, bytes, outcome.requests(), outcome.nanos() / 1e9,
                        checkpoint.headerNanos() / 1e9, outcome.memoryNanos() / 1e9,
                        outcome.moved().byPath(), outcome.moved().asked(), outcome.moved().whyNotDirect(),
                        outcome.peakStagingBytes(), layout.targets())));
    }

    /** Refuses a plan that converts, where only turns do. */
    private void refuseConversion() {
        if (options.type() != null) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, FUNCTION, checkpoint.path(),
                    "as(%s) is for tensors that come in turn".formatted(options.type()));
        }
    }

    /** Returns this plan for what is there after a save replaced the files; throws the exception if that does not fit. */
    LoadPlan again(CheckpointException changed) {
        return new LoadPlan(checkpoint.again(changed), options);
    }

    /**
     * Returns a plan that loads for several ranks at once: rank {@code i} receives its slices at destination {@code i}. Options of
     * this plan apply, except those of its destination. Each byte of a file is read at most once. The rules take from the model what
     * they lack ({@link ParallelPlan#forModel}).
     *
     * @param destinations memory of the ranks, 1 or more; memory of the caller must not overlap
     * @param rules how ranks share the tensors; the rules must fit the whole checkpoint
     * @throws CheckpointException if the rules do not fit ({@link ParallelPlan#slice(java.nio.file.Path, List, int)})
     * @throws CuFileException INVALID_VALUE for destinations that overlap, for none, or if the choice leaves none of the
     *         checkpoint's tensors; CUDA_POINTER_RANGE_ERROR for memory of the caller that is too small
     */
    public ParallelLoadPlan across(List<LoadDestination> destinations, ParallelPlan rules) {
        return ParallelLoadPlan.across(this, List.copyOf(destinations), Objects.requireNonNull(rules, "rules"));
    }

    /**
     * Returns a plan that divides a model with the names of Llama among GPUs 0 to {@code gpus - 1}; other models need rules
     * ({@link #across}). The heads are those of the model's {@code config.json} or of GGUF.
     *
     * @param gpus number of GPUs, 1 or more
     * @throws CheckpointException PLAN_MISMATCH for a tensor with another name; otherwise as {@link #across}
     * @throws CuFileException INVALID_VALUE for a number below 1; otherwise as {@link #across}
     */
    public ParallelLoadPlan tensorParallel(int gpus) {
        ParallelPlan.checkWorld(gpus);
        return across(IntStream.range(0, gpus).mapToObj(LoadDestination::gpu).toList(), ParallelPlan.llama());
    }

    /**
     * Returns a plan that loads the slices of one rank into this plan's destination, for programs with a process for each rank.
     * Reads only what the rank needs: whole rows where the parts of rows are shorter than 128 KiB. {@link #destinations} has no
     * effect.
     *
     * @param rank the rank, 0 to {@code world - 1}
     * @param world number of ranks
     * @param rules how ranks share the tensors
     * @throws CheckpointException as {@link #across}
     * @throws CuFileException INVALID_VALUE for a rank or a number of ranks out of range; otherwise as {@link #across}
     */
    public ParallelLoadPlan rank(int rank, int world, ParallelPlan rules) {
        return ParallelLoadPlan.rank(this, rank, world, Objects.requireNonNull(rules, "rules"));
    }

    LoadOptions options() {
        return options;
    }

    /** Refuses a choice that leaves nothing of a checkpoint with tensors. */
    void requireChoice(int chosen) {
        int all = checkpoint.tensors().size();
        if (chosen == 0 && all > 0) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, FUNCTION, checkpoint.path(),
                    "the choice matches none of the checkpoint's tensors (%s)".formatted(all));
        }
    }

    private Layout layout() {
        Layout known = layout;
        if (known == null) {
            synchronized (this) {
                known = layout;
                if (known == null) {
                    known = LayoutPlanner.plan(checkpoint.files(), options);
                    layout = known;
                }
            }
        }
        return known;
    }

    @Override
    public String toString() {
        Layout plan = layout();
        return "LoadPlan[%s tensors, %s bytes from %s files to %s, %s requests]"
                .formatted(
                        plan.tensors().size(),
                        bytes(),
                        plan.files().size(),
                        options.target().destinations() == null ? options.target().kind() : "memory of the caller",
                        requests().size());
    }
}
