package io.gds4j.tools;

import io.gds4j.tools.load.LoadArguments;
import io.gds4j.tools.load.LoadRun;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gds load}. */
@Command(
        name = "load",
        description = "Load a checkpoint into GPU or host memory and say how fast.",
        synopsisHeading = "Usage: ",
        descriptionHeading = "%n",
        parameterListHeading = "%n",
        optionListHeading = "%nOptions:%n",
        footerHeading = "%nExamples:%n",
        footer = {
                "  gds load model.safetensors                  to gpu:0, or host memory",
                "  gds load Llama-3-8B/ --target gpu:1         an index and its shards",
                "  gds load Llama-3-8B/ --list                 reads the headers only",
                "  gds load model.safetensors --verify         compares with a second read",
                "  gds load model.safetensors --tensor 'layers\\.0\\.' --target host",
                "  gds load model.safetensors --digest --json > loaded.json",
                "",
                "GB are 10^9 bytes. Time runs from the first header byte to the last tensor in",
                "place, with allocation of its memory. gds help exit-codes explains the status."})
final class LoadCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Mixin
    private final OutputOptions output = new OutputOptions();

    @Mixin
    private final StatisticsOption statistics = new StatisticsOption();

    @Parameters(
            paramLabel = "PATH",
            converter = PathConverter.class,
            description = "A .safetensors file, a model.safetensors.index.json, or a folder that holds either.")
    @SuppressWarnings("NullAway.Init")
    private Path path;

    @Option(
            names = {"-t", "--target"},
            paramLabel = "gpu:N|host",
            converter = TargetConverter.class,
            description = "Where the tensors go: the memory of a GPU, or page-aligned host memory. Default:"
                    + " gpu:0 if there is a GPU, else host.")
    private @Nullable Target target;

    @Option(names = "--backend", paramLabel = "NAME", converter = BackendConverter.class, defaultValue = "auto",
            description = "auto, compat (gds4j's own engine) or libcufile (NVIDIA's library). Default: auto.")
    private String backend = "auto";

    @Option(names = "--tensor", paramLabel = "REGEX", converter = PatternConverter.class,
            description = "Load only tensors in whose name this regular expression is found.")
    private @Nullable Pattern tensor;

    @Option(names = "--verify",
            description = "Read the file a second time, plainly, and compare every byte with what was loaded.")
    private boolean verify;

    @Option(names = "--digest",
            description = "Print the SHA-256 of every tensor as it stands in the target.")
    private boolean digest;

    @Option(names = "--list",
            description = "Read the headers only, load nothing, list the tensors.")
    private boolean list;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Print this help and exit.")
    private boolean help;

    LoadCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() throws IOException {
        LoadArguments arguments = new LoadArguments(path, target, backend, tensor, verify, digest, list);
        return LoadRun.run(arguments, terminal, statistics.with(output.mode()), Schemas.of("load")).code();
    }
}
