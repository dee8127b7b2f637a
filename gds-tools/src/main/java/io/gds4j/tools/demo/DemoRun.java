package io.gds4j.tools.demo;

import io.gds4j.CuFileDriver;
import io.gds4j.internal.file.OwnFolder;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SaveListener;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.tools.load.LoadResult;
import io.gds4j.tools.load.LoadResult.Inspection;
import io.gds4j.tools.load.LoadRun;
import io.gds4j.tools.load.OpenedDriver;
import io.gds4j.tools.load.Targets;
import io.gds4j.tools.stats.RunStatistics;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Progress;
import io.gds4j.tools.terminal.TemporaryFolder;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One run of {@code gds demo}.
 *
 * @param size size of the checkpoint, bytes; null for 1 GiB or less, as disk and memory allow
 * @param dir existing folder for the checkpoint; null for the project's target folder
 * @param keep whether to leave the checkpoint, in a subfolder with a fixed name
 * @param output where the result goes
 */
public record DemoRun(@Nullable Long size, @Nullable Path dir, boolean keep, Output output) {

    private static final long DEFAULT_BYTES = 1L << 30;
    private static final int PART_OF_FREE_SPACE = 4;
    private static final long SEED = 2026;
    private static final int MAX_WRITERS = 16;
    private static final int ROUNDS = 5;
    private static final String KEPT_FOLDER = "gds-demo";
    private static final String MODEL = "model.safetensors";
    private static final String CONFIG = "config.json";

    /** Creates, loads, verifies, compares and deletes or keeps the checkpoint, and prints the result. */
    public ExitStatus run() throws IOException {
        Path parent = TemporaryFolder.parent(dir).toAbsolutePath();
        Targets target = Targets.resolve(null);
        try (OpenedDriver opened = OpenedDriver.open("auto", output)) {
            LlamaShape shape = LlamaShape.ofSize(size(parent, target, opened.driver().allocator()));
            DemoResult result;
            Path kept = null;
            try (TemporaryFolder folder = TemporaryFolder.in(parent, "gds-demo-")) {
                Path file = folder.inside(MODEL);
                Path shown = folder.path().resolve(MODEL);
                output.say(Text.row("creating", "%s, %s".formatted(shown, Units.bytes(shape.bytes()))));
                output.say(
                        Text.row(
                                "",
                                "shaped like Llama: %s, %s layers, width %s".formatted(
                                        Units.count(shape.tensors().size(), "tensor"),
                                        shape.layers(),
                                        shape.hiddenSize())));
                write(shape, file, opened.driver());
                result = measure(file, shown, target, opened);
                if (keep) {
                    kept = keep(file, Files.writeString(folder.inside(CONFIG), shape.config()), parent);
                }
            }
            print(result, kept, opened.driver());
            return LoadRun.status(result.verified(), output);
        }
    }

    /**
     * Moves the checkpoint to its lasting place. Only a loaded checkpoint gets there, so a run that is interrupted leaves an earlier
     * one as it was. Between the moves the checkpoint has no configuration, rather than that of another one.
     */
    private static Path keep(Path file, Path config, Path parent) throws IOException {
        Path name = Files.createDirectories(parent.resolve(KEPT_FOLDER));
        try (OwnFolder folder = OwnFolder.open(name)) {
            Files.deleteIfExists(folder.path().resolve(CONFIG));
            Files.move(file, folder.path().resolve(MODEL), StandardCopyOption.ATOMIC_MOVE);
            Files.move(config, folder.path().resolve(CONFIG), StandardCopyOption.ATOMIC_MOVE);
        }
        return name.resolve(MODEL);
    }

    /**
     * Alternates loads and plain reads, so that both run under the same conditions. The first round does not count: in
     * it the hypervisor provides untouched memory, and the JVM loads classes.
     */
    private DemoResult measure(Path file, Path shown, Targets target, OpenedDriver opened) throws IOException {
        List<LoadResult> loads = new ArrayList<>();
        List<PlainRead> plainReads = new ArrayList<>();
        for (int round = 0; round <= ROUNDS; round++) {
            LoadResult load = load(file, shown, target, opened, round == ROUNDS);
            PlainRead plain = PlainRead.of(file, target.target(), opened.driver().allocator());
            if (round > 0) {
                loads.add(load);
                plainReads.add(plain);
            }
        }
        return new DemoResult(loads, plainReads);
    }

    private LoadResult load(Path file, Path shown, Targets target, OpenedDriver opened, boolean verify) {
        LoadPlan plan = Checkpoint.open(file).plan().to(target.target().kind(), target.device());
        try (LoadedTensors tensors = LoadRun.load(plan, opened.driver(), output)) {
            return new LoadResult(
                    shown.toString(),
                    plan.checkpoint().format().id(),
                    tensors.report(),
                    opened.seconds(),
                    tensors.report().headerSeconds(),
                    target,
                    opened.driver().backendName(),
                    Inspection.of(tensors, verify, false, output));
        }
    }

    private long size(Path parent, Targets target, MemoryAllocator allocator) throws IOException {
        long disk = Files.getFileStore(parent).getUsableSpace() / PART_OF_FREE_SPACE;
        long memory = Math.min(
                allocator.available(MemoryKind.HOST, MemoryRange.NO_DEVICE),
                allocator.available(target.target().kind(), target.device())) / PART_OF_FREE_SPACE;
        long most = Math.min(disk, memory);
        if (most < LlamaShape.MIN_BYTES) {
            throw CommandFailure.device(
                    "NO_SPACE",
                    "%s: a demo needs four times %s of free disk space and memory".formatted(
                            parent, Units.bytes(LlamaShape.MIN_BYTES)));
        }
        if (size == null) {
            return Math.min(DEFAULT_BYTES, most);
        }
        long wanted = size;
        if (wanted < LlamaShape.MIN_BYTES || wanted > most) {
            throw CommandFailure.usage(
                    "--size %s: allowed here is %s to %s, a quarter of the free %s".formatted(
                            wanted,
                            LlamaShape.MIN_BYTES,
                            most,
                            disk < memory ? "disk space of " + parent : "memory"));
        }
        return wanted;
    }

    /** The layout is that of other writers, so that loads show what they do with it. The file stays in the page cache. */
    private void write(LlamaShape shape, Path file, CuFileDriver driver) {
        SaveOptions options = SaveOptions.DEFAULTS.withAlign(Long.BYTES).withDirect(false)
                .withWritesInFlight(Math.min(MAX_WRITERS, Runtime.getRuntime().availableProcessors()));
        SavePlan.Builder builder = SavePlan.builder().options(options);
        TensorPattern pattern = new TensorPattern(SEED);
        for (LlamaShape.Tensor tensor : shape.tensors()) {
            long[] dimensions = tensor.shape().stream().mapToLong(Long::longValue).toArray();
            builder.generated(tensor.name(), DType.BF16, pattern, dimensions);
        }
        SavePlan plan = builder.toFile(file);
        try (Progress progress = output.start("creating", plan.bytes())) {
            plan.save(driver, new SaveListener() {
                @Override
                public void progress(long bytesDone, long bytesTotal) {
                    progress.advanceTo(Math.min(bytesDone, plan.bytes()));
                }
            });
        }
    }

    /** Returns the path as the user would type it in the current folder, if the file is inside. */
    private static String shown(Path file) {
        Path here = Path.of("").toAbsolutePath();
        return (file.startsWith(here) ? here.relativize(file) : file).toString();
    }

    private void print(DemoResult result, @Nullable Path kept, CuFileDriver driver) {
        RunStatistics.print(output, driver, object -> {
            object.putAll(result.toJson());
            object.put("kept", kept == null ? null : kept.toString());
        }, () -> {
            List<String> lines = new ArrayList<>(result.rows());
            if (kept == null) {
                lines.add(Text.row("deleted", result.verified().path()));
            } else {
                lines.add(Text.row("kept", shown(kept)));
                lines.add(Text.row("", "next: gds load " + shown(kept)));
            }
            return lines;
        });
    }
}
