package io.gds4j.loader;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.load.Layout;
import io.gds4j.loader.internal.load.LayoutPlanner;
import io.gds4j.loader.internal.load.LoadFuture;
import io.gds4j.loader.internal.load.LoadJob;
import io.gds4j.loader.internal.load.LoadOptions;
import io.gds4j.loader.internal.load.LoadRun;
import io.gds4j.loader.internal.load.Ranges;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryRange;
import java.nio.file.FileVisitOption;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/**
 * Describes a load whose tensors several ranks share. Each byte of a file is read at most once, whatever the number of ranks.
 *
 * <pre>{@code
 * ParallelPlan rules = ParallelPlan.llama();
 * ParallelLoadPlan plan = checkpoint.plan().across(List.of(LoadDestination.gpu(0), LoadDestination.gpu(1)), rules);
 * try (ParallelTensors tensors = plan.load(driver)) {
 *     tensors.rank(1).address("model.layers.0.mlp.up_proj.weight");
 * }
 * }</pre>
 *
 * <p>
 * {@link LoadPlan#across} and {@link LoadPlan#rank} create plans, and check everything that needs no I/O. Immutable and
 * thread-safe.
 *
 * @since 0.1
 */
public final class ParallelLoadPlan {
    private static final String FUNCTION = "LoadPlan";
    private static final long KIB = 1024;
    /** Bytes that a backend without its own way to scatter stages for each request. */
    private static final long STAGED_BYTES = 4L << 20;

    private static final ProgressListener NO_LISTENER = progress -> {
    };

    private final LoadPlan plan;
    private final int world;
    private final SortedMap<Integer, LoadDestination> destinations;
    private final ParallelPlan rules;
    private final Layout layout;
    private final long bytes;

    private ParallelLoadPlan(
            LoadPlan plan, int world, SortedMap<Integer, LoadDestination> destinations, ParallelPlan rules) {
        this.plan = plan;
        this.world = world;
        this.destinations = destinations;
        this.rules = rules;
        Checkpoint checkpoint = plan.checkpoint();
        List<TensorInfo> tensors = List.copyOf(checkpoint.tensors().values());
        Set<TensorInfo> chosen = new LinkedHashSet<>();
        for (TensorInfo tensor : tensors) {
            if (plan.options().filter().test(tensor)) {
                chosen.add(tensor);
            }
        }
        plan.requireChoice(chosen.size());
        ParallelPlan ofModel = world == 1
                ? rules
                : rules.forModel(checkpoint.path(), checkpoint.typedMetadata(),
                        checkpoint.links().toArray(FileVisitOption[]::new));
        this.layout = LayoutPlanner.plan(
                checkpoint.files(),
                ofModel.slice(checkpoint.path(), tensors, chosen::contains, world),
                targets(),
                plan.options());
        this.bytes = layout.tensors().stream().mapToLong(TensorInfo::length).sum();
    }

    static ParallelLoadPlan across(LoadPlan plan, List<LoadDestination> destinations, ParallelPlan rules) {
        if (destinations.isEmpty()) {
            throw CuFileException.invalid(FUNCTION,
                    "there are no destinations; allowed are 1 to %s".formatted(ParallelPlan.MAX_WORLD));
        }
        TreeMap<Integer, LoadDestination> byRank = new TreeMap<>();
        for (LoadDestination destination : destinations) {
            byRank.put(byRank.size(), destination);
        }
        checkDisjoint(destinations);
        return new ParallelLoadPlan(plan, destinations.size(), byRank, rules);
    }

    static ParallelLoadPlan rank(LoadPlan plan, int rank, int world, ParallelPlan rules) {
        ParallelPlan.checkWorld(world);
        if (rank < 0 || rank >= world) {
            throw CuFileException.invalid(FUNCTION,
                    "the rank is %s; %s ranks are 0 to %s".formatted(rank, world, world - 1));
        }
        LoadOptions.Target target = plan.options().target();
        LoadDestination destination = target.into() == null
                ? LoadDestination.of(target.kind(), target.device())
                : LoadDestination.into(target.into());
        return new ParallelLoadPlan(plan, world, new TreeMap<>(Map.of(rank, destination)), rules);
    }

    private static void checkDisjoint(List<LoadDestination> destinations) {
        for (int i = 0; i < destinations.size(); i++) {
            for (int j = 0; j < i; j++) {
                MemoryRange one = destinations.get(j).memory().orElse(null);
                MemoryRange other = destinations.get(i).memory().orElse(null);
                if (one != null
                        && other != null
                        && one.address() < other.address() + other.length()
                        && other.address() < one.address() + one.length()) {
                    throw CuFileException.invalid(FUNCTION,
                            "the destinations of ranks %s and %s overlap".formatted(j, i));
                }
            }
        }
    }

    /** Returns the alignment of tensor addresses in bytes. */
    public long alignment() {
        return plan.options().alignment();
    }

    /** Returns the number of ranks that share the checkpoint. */
    public int world() {
        return world;
    }

    /** Returns the ranks that this plan loads, in ascending order. */
    public List<Integer> ranks() {
        return List.copyOf(destinations.keySet());
    }

    /**
     * Returns the destination of a rank.
     *
     * @throws CuFileException INVALID_VALUE for a rank that this plan does not load
     */
    public LoadDestination destination(int rank) {
        checkRank(rank);
        return Objects.requireNonNull(destinations.get(rank));
    }

    /**
     * Returns the slices of a rank, file by file in the order of their data.
     *
     * @throws CuFileException INVALID_VALUE for a rank that this plan does not load
     */
    public List<TensorSlice> slices(int rank) {
        checkRank(rank);
        return layout.slices(rank);
    }

    /** Returns the number of tensors of which a loaded rank keeps a slice. */
    public int tensors() {
        return layout.tensors().size();
    }

    /** Returns the bytes of these tensors in the checkpoint. */
    public long bytes() {
        return bytes;
    }

    /**
     * Returns the bytes of a rank's slices.
     *
     * @throws CuFileException INVALID_VALUE for a rank that this plan does not load
     */
    public long bytes(int rank) {
        return slices(rank).stream().mapToLong(TensorSlice::bytes).sum();
    }

    /** Returns the bytes that all ranks together receive. */
    public long deliveredBytes() {
        long sum = 0;
        for (int rank : destinations.keySet()) {
            sum += bytes(rank);
        }
        return sum;
    }

    /**
     * Returns the bytes of memory that the load takes at a rank's destination: the slices, and gaps for alignment.
     *
     * @throws CuFileException INVALID_VALUE for a rank that this plan does not load
     */
    public long destinationBytes(int rank) {
        checkRank(rank);
        return layout.destinationBytes(rank);
    }

    /**
     * Returns the largest number of bytes of host memory that a load uses in addition to its destinations: the bounce buffers of
     * the driver, and for each request in flight 4 MiB where libcufile reads for host memory, and the memory in which the loader
     * gathers small slices.
     *
     * @param config configuration with which the driver was opened
     */
    public long stagingBytes(CuFileConfig config) {
        List<Long> sizes = config.get(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB);
        List<Long> counts = config.get(CuFileKeys.POSIX_POOL_SLAB_COUNT);
        long pool = 0;
        for (int i = 0; i < sizes.size(); i++) {
            pool += Math.max(4, sizes.get(i)) * KIB * counts.get(i);
        }
        return pool + (STAGED_BYTES + 2 * layout.gatherBytes())
                * plan.options().io().inFlight(layout, Runtime.getRuntime().availableProcessors());
    }

    /** Returns the bytes that the load requests from the files. */
    public long storageBytes() {
        return layout.storageBytes();
    }

    /** Returns the reads of {@link #load} in the order in which they start; several run at a time. */
    public List<LoadRequest> requests() {
        return LoadPlan.requests(layout);
    }

    /** Loads without a listener; see {@link #load(CuFileDriver, ProgressListener)}. */
    public ParallelTensors load(CuFileDriver driver) {
        return load(driver, NO_LISTENER);
    }

    /**
     * Loads the slices of all ranks, or throws and leaves nothing allocated at any destination. Interrupts as of
     * {@link LoadPlan#load(CuFileDriver, LoadListener)}. Where libcufile serves a file, it reads into memory of one GPU, and copies
     * between GPUs follow. Parts of rows then pass through up to 64 MiB of each GPU, which the driver keeps.
     *
     * @param listener receives progress, in bytes that all ranks together received; {@code tensorPlaced} is called when
     *        all slices of a tensor are in place
     * @throws io.gds4j.loader.format.CheckpointException FILE_CHANGED as of {@link LoadPlan#load}
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     * @throws CuFileException as {@link io.gds4j.memory.MemoryAllocator#allocate}: memory for later files is allocated while the first is read;
     *         as {@link CuFileDriver#openFile} and {@link io.gds4j.CuFileHandle#readScattered}; IO_NOT_SUPPORTED as of
     *         {@link LoadPlan#directStorage}
     */
    public ParallelTensors load(CuFileDriver driver, ProgressListener listener) {
        Objects.requireNonNull(driver, "driver");
        Objects.requireNonNull(listener, "listener");
        return run(driver, listener).run();
    }

    /** Starts a load without a listener; see {@link #loadAsync(CuFileDriver, ProgressListener)}. */
    public CompletableFuture<ParallelTensors> loadAsync(CuFileDriver driver) {
        return loadAsync(driver, NO_LISTENER);
    }

    /**
     * Starts a load and returns its future, which cancels as that of {@link LoadPlan#loadAsync(CuFileDriver, LoadListener)}.
     */
    public CompletableFuture<ParallelTensors> loadAsync(CuFileDriver driver, ProgressListener listener) {
        Objects.requireNonNull(driver, "driver");
        Objects.requireNonNull(listener, "listener");
        return LoadFuture.start(run(driver, listener));
    }

    /**
     * Loads the slices of the only rank in turn, file by file in the order of their data, as
     * {@link LoadPlan#inTurn(CuFileDriver, Budget, List, LoadListener)} loads tensors.
     *
     * @throws CuFileException INVALID_VALUE for a plan of several ranks, for memory of the caller, and if the budget is too small for the
     *         largest slice
     */
    public TensorsInTurn inTurn(CuFileDriver driver, Budget budget, ProgressListener listener) {
        if (destinations.size() > 1) {
            throw CuFileException.invalid(FUNCTION,
                    "%s ranks cannot take turns: each needs a plan of its own, by rank()"
                            .formatted(destinations.size()));
        }
        int rank = destinations.firstKey();
        return TensorsInTurn.start(plan, driver, budget, listener,
                new TensorsInTurn.Choice(
                        again -> again == plan ? slices(rank)
                                : new ParallelLoadPlan(again, world, destinations, rules).slices(rank),
                        targets(), Ranges.UNITED));
    }

    private SortedMap<Integer, LoadOptions.Target> targets() {
        SortedMap<Integer, LoadOptions.Target> targets = new TreeMap<>();
        destinations.forEach((rank, to) -> targets.put(
                rank, new LoadOptions.Target(to.kind(), to.device(), to.memory().orElse(null), null)));
        return targets;
    }

    private LoadRun<ParallelTensors> run(CuFileDriver driver, ProgressListener listener) {
        return new LoadRun<>(
                job(driver, listener),
                changed -> new ParallelLoadPlan(plan.again(changed), world, destinations, rules).job(driver, listener));
    }

    private LoadJob<ParallelTensors> job(CuFileDriver driver, ProgressListener listener) {
        return new LoadJob<>(plan.order(layout, null, tensors(), bytes, listener, () -> {
        }, this::result), driver);
    }

    private ParallelTensors result(LoadJob<ParallelTensors> job, LoadReport all) {
        TreeMap<Integer, LoadedTensors> ranks = new TreeMap<>();
        List<RankReport> reports = new ArrayList<>();
        for (int rank : ranks()) {
            RankReport own = new RankReportParts(rank, slices(rank).size(), bytes(rank));
            reports.add(own);
            ranks.put(rank, new LoadedTensors(job.placed(), rank, new LoadReportParts(
                    all.files(), own.tensors(), own.bytes(), all.requests(), all.seconds(), all.headerSeconds(),
                    all.memorySeconds(), all.ioPaths(), all.bytesAsked(), all.whyNotDirect(),
                    all.peakStagingBytes(), layout.targets())));
        }
        return new ParallelTensors(ranks, new ParallelReport(all, storageBytes(), reports));
    }

    private void checkRank(int rank) {
        if (!destinations.containsKey(rank)) {
            throw CuFileException.invalid(FUNCTION,
                    "rank %s is not loaded; the loaded ranks are %s to %s"
                            .formatted(rank, destinations.firstKey(), destinations.lastKey()));
        }
    }

    @Override
    public String toString() {
        return "ParallelLoadPlan[%s tensors to ranks %s of %s, %s bytes from storage, %s requests]"
                .formatted(tensors(), destinations.keySet(), world, storageBytes(), requests().size());
    }
}
