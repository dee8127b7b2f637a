package io.gds4j.tools.load;

import io.gds4j.CuFileDriver;
import io.gds4j.config.DirectStorage;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.http.HttpClients;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadListener;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadReport;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.ParallelLoadPlan;
import io.gds4j.loader.ParallelTensors;
import io.gds4j.loader.TensorDigest;
import io.gds4j.loader.TensorInTurn;
import io.gds4j.loader.TensorsInTurn;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.tools.load.LoadResult.Inspection;
import io.gds4j.tools.stats.RunStatistics;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Patience;
import io.gds4j.tools.terminal.Progress;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Runs {@code gds load}. */
public final class LoadRun {
    /** Part of a budget that a load in turn sets aside for bounce buffers, as a divisor. */
    private static final long BOUNCE_DIVISOR = 4;

    private final LoadArguments arguments;
    private final Output output;

    /** Headers are read while GPUs are found and the driver opens: of all parts of a first load, these take longest. */
    private final CompletableFuture<LoadPlan> planned;

    /** What {@link #await} last waited for them. */
    private double headerSeconds;

    private LoadRun(LoadArguments arguments, Output output) {
        this.arguments = arguments;
        this.output = output;
        this.planned = CompletableFuture.supplyAsync(
                () -> plan(arguments, output),
                task -> Thread.ofPlatform().daemon().name("gds-headers").start(task));
    }

    /** Loads or lists the checkpoint and prints the result. */
    public static ExitStatus run(LoadArguments arguments, Output output)
            throws IOException {
        LoadRun run = new LoadRun(arguments, output);
        return switch (arguments.action()) {
            case LIST -> run.list();
            case MAP -> run.map();
            case LOAD -> arguments.isParallel() ? run.loadParallel()
                    : arguments.turns().isPresent() ? run.loadInTurn(arguments.turns().get()) : run.load();
        };
    }

    private ExitStatus load() throws IOException {
        Targets target = targets(arguments).getFirst();
        CompletableFuture<LoadPlan> placed = planned.thenApply(plan -> placed(plan, target));
        OpenedDriver opened = open(List.of(target));
        LoadResult result = Undo.ifFails(opened::close, () -> {
            MemoryAllocator memory = opened.driver().allocator();
            LoadPlan plan = await(placed);
            OpenedDriver ready = opened.after(() -> target.checkRoom(memory, plan.destinationBytes()));
            LoadedTensors tensors = load(plan, opened.driver(), output);
            LoadResult loaded = Undo.ifFails(tensors::close, () -> result(plan, tensors.report(), ready, target,
                    Inspection.of(tensors, arguments.verify(), arguments.digest(), output)));
            output.terminal().leave(tensors, LoadedTensors::close);
            print(loaded, plan.checkpoint(), opened.driver());
            return loaded;
        });
        output.terminal().leave(opened, OpenedDriver::close);
        return status(result, output);
    }

    /** Returns a plan with the place of each tensor, which takes a tenth of a second for 10,000 files. */
    private static LoadPlan placed(LoadPlan plan, Targets target) {
        LoadPlan there = plan.to(target.target().kind(), target.device());
        there.destinationBytes();
        return there;
    }

    private ExitStatus loadInTurn(LoadArguments.Turns turns) throws IOException {
        Targets target = targets(arguments).getFirst();
        try (OpenedDriver opened = open(List.of(target))) {
            LoadPlan plan = plan().to(target.target().kind(), target.device());
            OpenedDriver ready = opened.after(() -> target.checkRoom(
                    opened.driver().allocator(), Math.min(turns.budget().bytes(), plan.destinationBytes())));
            List<TensorInfo> loaded = new ArrayList<>();
            Map<String, String> digests = new LinkedHashMap<>();
            LoadReport report = withProgress(plan, output, listener -> {
                try (TensorsInTurn tensors = turns.of(plan).inTurn(
                        opened.driver(), turns.budget(), plan.tensors().stream().map(TensorInfo::name).toList(),
                        listener)) {
                    for (TensorInTurn turn : tensors) {
                        loaded.add(turn.tensor().info());
                        if (arguments.digest()) {
                            digests.put(turn.tensor().name(), TensorDigest.sha256(turn.tensor()));
                        }
                    }
                    return tensors.report().orElseThrow();
                }
            });
            LoadResult result = result(plan, report, ready, target,
                    new Inspection(loaded, null, arguments.digest() ? digests : null));
            print(result, plan.checkpoint(), opened.driver());
            return ExitStatus.DONE;
        }
    }

    private LoadResult result(
            LoadPlan plan, LoadReport report, OpenedDriver opened, Targets target, Inspection inspection) {
        return new LoadResult(arguments.path().toString(), plan.checkpoint().format().id(), report, opened.seconds(),
                headerSeconds, target, opened.driver().backendName(), inspection);
    }

    private ExitStatus map() {
        LoadPlan plan = plan();
        LoadResult result;
        try (LoadedTensors tensors = plan.map()) {
            result = new LoadResult(
                    arguments.path().toString(),
                    plan.checkpoint().format().id(),
                    tensors.report(),
                    0,
                    headerSeconds,
                    new Targets(Target.HOST, "the page cache, as tensors are used"),
                    LoadResult.MAP,
                    Inspection.of(tensors, arguments.verify(), arguments.digest(), output));
        }
        output.print(fields(result, plan.checkpoint()), () -> lines(result));
        return status(result, output);
    }

    private ExitStatus loadParallel() throws IOException {
        List<Targets> targets = targets(arguments);
        try (OpenedDriver opened = open(targets)) {
            LoadPlan base = plan();
            ParallelLoadPlan plan = base.across(
                    targets.stream().map(Targets::destination).toList(), arguments.mode().rules(arguments.heads()));
            checkRoom(targets, plan, opened.driver().allocator());
            ParallelResult result;
            try (ParallelTensors tensors = load(plan, opened.driver())) {
                ParallelInspection inspection = ParallelInspection.of(
                        tensors, arguments.verify(), arguments.digest(), output);
                LoadResult load = new LoadResult(
                        arguments.path().toString(),
                        base.checkpoint().format().id(),
                        tensors.report().load(),
                        opened.seconds(),
                        headerSeconds,
                        new Targets(targets.getFirst().target(), descriptions(targets)),
                        opened.driver().backendName(),
                        new Inspection(List.of(), inspection.verification(), null));
                result = new ParallelResult(load, targets, arguments.mode(), tensors.report(), inspection);
            }
            print(result, base.checkpoint(), opened.driver());
            return status(result.load(), output);
        }
    }

    private static String descriptions(List<Targets> targets) {
        return targets.stream().map(Targets::description).distinct().collect(Collectors.joining("; "));
    }

    /** Refuses a load that does not fit: ranks on the same target need room together. */
    private static void checkRoom(List<Targets> targets, ParallelLoadPlan plan, MemoryAllocator allocator) {
        Map<Target, Long> bytes = new LinkedHashMap<>();
        for (int rank : plan.ranks()) {
            bytes.merge(targets.get(rank).target(), plan.destinationBytes(rank), Long::sum);
        }
        for (Targets target : targets) {
            target.checkRoom(allocator, bytes.getOrDefault(target.target(), 0L));
        }
    }

    private ParallelTensors load(ParallelLoadPlan plan, CuFileDriver driver) {
        try (Progress progress = output.start("loading", plan.deliveredBytes())) {
            return plan.load(driver, now -> progress.advanceTo(now.bytesDone()));
        }
    }

    private void print(ParallelResult result, Checkpoint checkpoint, CuFileDriver driver) {
        List<ParallelInspection.Digested> slices = Objects.requireNonNullElse(result.inspection().slices(), List.of());
        RunStatistics.print(output, driver, object -> {
            object.putAll(result.toJson());
            object.put("warnings", checkpoint.warnings());
        }, () -> lines(result.rows(), slices.stream().map(
                slice -> "%s  %s  %s".formatted(slice.sha256(), slice.rank(), Text.name(slice.slice().name())))));
    }

    private void print(LoadResult result, Checkpoint checkpoint, CuFileDriver driver) {
        RunStatistics.print(output, driver, fields(result, checkpoint), () -> lines(result));
    }

    private static Consumer<Map<String, @Nullable Object>> fields(LoadResult result, Checkpoint checkpoint) {
        return object -> {
            object.putAll(result.toJson());
            object.put("warnings", checkpoint.warnings());
        };
    }

    private List<String> lines(LoadResult result) {
        Map<String, String> digests = Objects.requireNonNullElse(result.inspection().digests(), Map.of());
        return lines(result.rows(), result.inspection().tensors().stream()
                .map(tensor -> digests.get(tensor.name()) + "  " + Text.name(tensor.name())));
    }

    private List<String> lines(List<String> rows, Stream<String> digests) {
        List<String> lines = new ArrayList<>(rows);
        if (arguments.digest()) {
            lines.add("");
            lines.addAll(digests.toList());
        }
        return lines;
    }

    /** Loads a checkpoint and shows progress. */
    public static LoadedTensors load(LoadPlan plan, CuFileDriver driver, Output output) {
        return withProgress(plan, output, listener -> plan.load(driver, listener));
    }

    private static <T> T withProgress(LoadPlan plan, Output output, Function<LoadListener, T> load) {
        if (!output.showsProgress()) {
            return load.apply(LoadListener.NONE);
        }
        Map<String, Long> files = new LinkedHashMap<>();
        plan.tensors().forEach(tensor -> tensor.boxes().forEach(box -> files.merge(
                name(box.file()), tensor.dtype().bytes(box.shape()).orElse(0), Long::sum)));
        try (Progress progress = output.start("loading", files)) {
            return load.apply(now -> progress.advanceTo(now.bytesDone(), name(now.file())));
        }
    }

    private static String name(Path file) {
        Path name = file.getFileName();
        return Text.name(name == null ? file : name);
    }

    /** Returns the exit status; prints a line to standard error if verification found a difference. */
    public static ExitStatus status(LoadResult result, Output output) {
        if (Boolean.FALSE.equals(result.verified())) {
            output.warn(Text.oneLine(result.mismatchLine()));
            return ExitStatus.DIFFERENCE;
        }
        return ExitStatus.DONE;
    }

    /** Opens the driver while headers are read. Of two failures the checkpoint's is thrown. */
    private OpenedDriver open(List<Targets> targets) {
        try {
            OpenedDriver opened = OpenedDriver
                    .open(arguments.backend(), output, settings -> {
                        arguments.directStorage().ifPresent(settings::directStorage);
                        if (targets.size() == 1 && targets.getFirst().target().isGpu() && arguments.turns().isEmpty()) {
                            OpenedDriver.onlyLargeBounceBuffers(settings);
                        }
                        arguments.turns().ifPresent(turns -> OpenedDriver.limitBounceBuffers(
                                settings, turns.budget().bytes() / BOUNCE_DIVISOR));
                    })
                    .preparedFor(targets);
            // the time of a context that is not there yet is the driver's, not that of headers
            return Undo.ifFails(opened::close, () -> planned.isDone() ? opened
                    : opened.after(() -> targets.getFirst().available(opened.driver().allocator())));
        } catch (RuntimeException e) {
            plan();
            if (e instanceof CuFileException refusal && refusal.error() == CuFileError.PLATFORM_NOT_SUPPORTED) {
                throw CuFileException.of(refusal.error(), refusal.function(),
                        refusal.detail() + ": gds load --map and --list, gds convert");
            }
            throw e;
        }
    }

    /** Returns the plan once the headers are read. */
    private LoadPlan plan() {
        return await(planned);
    }

    private LoadPlan await(CompletableFuture<LoadPlan> wanted) {
        long start = System.nanoTime();
        try {
            LoadPlan plan = wanted.join();
            headerSeconds = (System.nanoTime() - start) / 1e9;
            return plan;
        } catch (CompletionException e) {
            throw e.getCause() instanceof RuntimeException cause ? cause : e;
        }
    }

    /** Returns the named targets, which exist; the best one if none is named. */
    public static List<Targets> targets(LoadArguments arguments) {
        List<@Nullable Target> asked = new ArrayList<>(arguments.targets());
        if (asked.isEmpty()) {
            asked.add(null);
        }
        return asked.stream().map(Targets::resolve).toList();
    }

    /** Opens the checkpoint and chooses the tensors; prints notes about them. */
    public static LoadPlan plan(LoadArguments arguments, Output output) {
        Checkpoint checkpoint = arguments.opening().open(arguments.path());
        checkpoint.warnings().forEach(warning -> output.note(Text.oneLine(warning)));
        LoadPlan whole = checkpoint.plan().directStorage(arguments.directStorage().orElse(DirectStorage.AUTO));
        if (arguments.tensor() == null) {
            Growth.note(output, whole);
            return whole;
        }
        LoadPlan plan = whole.include(arguments.tensor().pattern());
        if (plan.tensors().isEmpty()) {
            throw CommandFailure.badInput(
                    arguments.path().toString(),
                    "%s: '%s' matches none of its %s; --list shows their names".formatted(
                            Text.name(arguments.path()), arguments.tensor(),
                            Units.count(checkpoint.tensors().size(), "tensor")));
        }
        Growth.note(output, plan);
        return plan;
    }

    private ExitStatus list() {
        LoadPlan plan = new Patience().with(this::plan);
        List<TensorInfo> tensors = plan.tensors();
        output.print(object -> {
            object.put("path", arguments.path().toString());
            object.put("format", plan.checkpoint().format().id());
            object.put("files", plan.files().size());
            object.put("tensors", tensors.size());
            object.put("bytes", plan.bytes());
            for (String measured : List.of(
                    "seconds", "driverOpenSeconds", "bytesPerSecond", "target", "backend", "ioPaths", "verified",
                    "peakStagingBytes")) {
                object.put(measured, null);
            }
            object.put("httpClients", HttpClients.used());
            object.put("warnings", plan.checkpoint().warnings());
            object.put("metadata", MetadataJson.of(plan.checkpoint().typedMetadata()));
            object.put("tensorList", tensors.stream().map(LoadResult::describe).toList());
        }, () -> {
            List<String> lines = new ArrayList<>(Text.table(tensors.stream()
                    .map(tensor -> List.of(
                            tensor.name(), tensor.dtype().toString(), shape(tensor), Units.bytes(tensor.length())))
                    .toList(), false, false, false, true));
            lines.add("");
            lines.add("  %s, %s, %s, %s".formatted(
                    plan.checkpoint().format().id(),
                    Units.count(tensors.size(), "tensor"),
                    Units.bytes(plan.bytes()),
                    Units.count(plan.files().size(), "file")));
            return lines;
        });
        return ExitStatus.DONE;
    }

    private static String shape(TensorInfo tensor) {
        String shape = tensor.shape().stream().map(Long::toUnsignedString).collect(Collectors.joining(", ", "[", "]"));
        return tensor.order().isRowMajor() ? shape : shape + " " + tensor.order();
    }
}
