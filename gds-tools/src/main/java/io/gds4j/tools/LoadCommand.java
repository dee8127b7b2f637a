package io.gds4j.tools;

import io.gds4j.loader.parallel.AttentionHeads;
import io.gds4j.tools.load.LoadArguments;
import io.gds4j.tools.load.LoadRun;
import io.gds4j.tools.load.ParallelMode;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Options and help of {@code gds load}. */
@Command(
        name = "load",
        description = "Load a checkpoint into GPU or host memory, and report the speed.",
        synopsisHeading = "Usage: ",
        descriptionHeading = "%n",
        parameterListHeading = "%n",
        optionListHeading = "%nOptions:%n",
        footerHeading = "%nExamples:%n",
        footer = {
                "  gds load model.safetensors                  to gpu:0, or host memory",
                "  gds load Llama-3-8B/ --target gpu:1         index and shards, to gpu:1",
                "  gds load Llama-3-8B/ --target gpu:0,gpu:1 --parallel column",
                "  gds load Llama-3-8B/ --list                 reads only the headers",
                "  gds load https://example.com/m.safetensors  by ranges, from an HTTP server",
                "  gds load s3://bucket/Llama-3-8B/            index and shards, from S3",
                "  gds load model.safetensors --verify         compares with a second read",
                "  gds load model.safetensors --tensor 'layers\\.0\\.' --target host",
                "  gds load model.safetensors --digest --json > loaded.json",
                "",
                "1 GB is 10^9 bytes. The time runs from the first header byte to the last",
                "tensor in memory and includes allocation. gds help exit-codes explains the exit",
                "status."})
final class LoadCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Mixin
    private final OutputOptions output = new OutputOptions();

    @Mixin
    private final StatisticsOption statistics = new StatisticsOption();

    @Parameters(
            paramLabel = "PATH",
            description = "A file of safetensors, GGUF, PyTorch (.pt, .bin) or NumPy (.npy, .npz), a list of extents"
                    + " (JSON), an index of shards (model.safetensors.index.json), the first part of a split GGUF set,"
                    + " or a folder that contains one of these. Content decides, not the name."
                    + " An http, https or s3 URL of such a file or index, or an s3 URL of a folder, is read by ranges.")
    @SuppressWarnings("NullAway.Init")
    private String path;

    @Option(
            names = {"-t", "--target"},
            paramLabel = "gpu:N|host",
            split = ",",
            converter = TargetConverter.class,
            description = "Destination of the tensors: GPU memory or page-aligned host memory. Several targets,"
                    + " separated by commas, share one read of the files. A GPU has a number, a PCI"
                    + " address (gpu:0000:3b:00.0) or a UUID (gpu:GPU-5b1c). Default: gpu:0 if there is a GPU, else host.")
    private List<Target> targets = List.of();

    @Option(names = "--parallel", paramLabel = "MODE", converter = ParallelModeConverter.class,
            description = "How targets share the tensors: replicate (all to each), column (slices for tensor"
                    + " parallelism, for models with the names of Llama) or plan:FILE (JSON in the vocabulary of"
                    + " base_model_tp_plan). Default: replicate.")
    private @Nullable ParallelMode parallel;

    @Option(names = "--heads", paramLabel = "QUERY[,KEY_VALUE]", converter = HeadsConverter.class,
            description = "Attention heads of the model, such as 32,8, for slices that never cut a head. Default:"
                    + " those in config.json beside the checkpoint, or in the keys of a GGUF file.")
    private @Nullable AttentionHeads heads;

    @Mixin
    private final BackendOption backend = new BackendOption();

    @Mixin
    private final DirectStorageOption directStorage = new DirectStorageOption();

    @Mixin
    private final LinksOption links = new LinksOption();

    @Option(names = "--tensor", paramLabel = "REGEX", converter = PatternConverter.class,
            description = "Load only tensors whose name contains a match of this regular expression.")
    private @Nullable Pattern tensor;

    @Option(names = "--verify",
            description = "Read the files again with plain reads, and compare every byte with the loaded tensors.")
    private boolean verify;

    @Option(names = "--digest",
            description = "Print the SHA-256 of every tensor, computed from the loaded bytes.")
    private boolean digest;

    @Option(names = "--list",
            description = "List the tensors without loading them; reads only the headers.")
    private boolean list;

    LoadCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() throws IOException {
        if (heads != null && (parallel == null || !parallel.divides())) {
            throw CommandFailure.usage("--heads is for slices: it needs --parallel column or --parallel plan:FILE");
        }
        LoadArguments arguments = new LoadArguments(
                CheckpointPath.of(path, terminal.environment()), links.value(), List.copyOf(targets), parallel,
                Optional.ofNullable(heads), backend.value(),
                directStorage.value(), tensor, verify, digest, list);
        return LoadRun.run(arguments, statistics.with(output.of(terminal, "load"))).code();
    }
}
