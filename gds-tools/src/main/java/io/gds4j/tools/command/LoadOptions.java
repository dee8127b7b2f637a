package io.gds4j.tools.command;

import io.gds4j.loader.parallel.AttentionHeads;
import io.gds4j.tools.load.LoadArguments;
import io.gds4j.tools.load.LoadArguments.Action;
import io.gds4j.tools.load.LoadArguments.ParallelMode;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.terminal.CommandFailure;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The checkpoint, what is loaded of it, and where to: of the commands that load, and that tell of a load. */
final class LoadOptions {
    @Parameters(
            paramLabel = "PATH",
            description = "A file of safetensors, GGUF, PyTorch (.pt, .bin) or NumPy (.npy, .npz), a list of extents"
                    + " (JSON), an index of shards (model.safetensors.index.json), the first part of a split GGUF set,"
                    + " or a folder that contains one of these. Content decides, not the name."
                    + " An http, https, s3, az or hf URL of such a file or index, or an s3, az or hf URL of a folder, is read by ranges.")
    @SuppressWarnings("NullAway.Init")
    private String path;

    @Option(
            names = {"-t", "--target"},
            paramLabel = "gpu:N|host",
            split = ",",

            completionCandidates = Candidates.Targets.class,
            description = "Destination of the tensors: GPU memory or page-aligned host memory. Several targets,"
                    + " separated by commas, share one read of the files. A GPU has a number, a PCI"
                    + " address (gpu:0000:3b:00.0) or a UUID (gpu:GPU-5b1c). Default: gpu:0 if there is a GPU, else host.")
    private List<Target> targets = List.of();

    @Option(names = "--parallel", paramLabel = "MODE",
            completionCandidates = Candidates.Modes.class,
            description = "How targets share the tensors: replicate (all to each), column (slices for tensor"
                    + " parallelism, for models with the names of Llama) or plan:FILE (JSON in the vocabulary of"
                    + " base_model_tp_plan). Default: replicate.")
    private @Nullable ParallelMode parallel;

    @Option(names = "--heads", paramLabel = "QUERY[,KEY_VALUE]",
            description = "Attention heads of the model, such as 32,8, for slices that never cut a head. Default:"
                    + " those in config.json beside the checkpoint, or in the keys of a GGUF file. Without KEY_VALUE"
                    + " the shapes of the layers must tell it.")
    private @Nullable AttentionHeads heads;

    @Mixin
    private final BackendOption backend = new BackendOption();

    @Mixin
    private final DirectStorageOption directStorage = new DirectStorageOption();

    @Mixin
    private final OpeningOptions opening = new OpeningOptions();

    @Option(names = "--tensor", paramLabel = "REGEX",
            description = "Load only tensors whose name contains a match of this regular expression.")
    private @Nullable Pattern tensor;

    /** Returns the arguments of a load. */
    LoadArguments arguments(Map<String, String> environment, boolean verify, boolean digest, Action action) {
        CommandFailure.usageIf(action == Action.MAP && !isPlain(),
                "--map leaves the tensors on the host, in their files: it is not allowed with a target on a GPU, several"
                        + " targets, --parallel, --backend or --direct-storage");
        CommandFailure.usageIf(heads != null && (parallel == null || !parallel.divides()),
                "--heads is for slices: it needs --parallel column or --parallel plan:FILE");
        return new LoadArguments(
                CheckpointPath.of(path, environment), opening.value(), List.copyOf(targets), parallel,
                Optional.ofNullable(heads), backend.value(), directStorage.value(), tensor, verify, digest,
                Optional.empty(), action);
    }

    /** Returns whether one copy on the host is asked for, by any way. */
    private boolean isPlain() {
        return parallel == null && targets.size() < 2 && targets.stream().noneMatch(Target::isGpu)
                && backend.isAuto() && directStorage.value().isEmpty();
    }
}
