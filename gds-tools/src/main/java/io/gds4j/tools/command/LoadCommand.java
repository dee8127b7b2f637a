package io.gds4j.tools.command;

import io.gds4j.loader.format.DType;
import io.gds4j.tools.load.LoadArguments;
import io.gds4j.tools.load.LoadArguments.Action;
import io.gds4j.tools.load.LoadRun;
import io.gds4j.tools.report.Report;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options and help of {@code gds load}. */
@Command(
        name = "load",
        description = "Load a checkpoint into GPU or host memory, and report the speed.",
        footer = {
                "  gds load model.safetensors                  to gpu:0, or host memory",
                "  gds load Llama-3-8B/ --target gpu:1         index and shards, to gpu:1",
                "  gds load Llama-3-8B/ --target gpu:0,gpu:1 --parallel column",
                "  gds load Llama-3-8B/ --list                 reads only the headers",
                "  gds load https://example.com/m.safetensors  by ranges, from an HTTP server",
                "  gds load s3://bucket/Llama-3-8B/            index and shards, from S3",
                "  gds load hf://org/model                     from the hub of Hugging Face",
                "  gds load model.safetensors --verify         compares with a second read",
                "  gds load model.gguf --map                   times a map of the file",
                "  gds load Llama-3-70B/ --budget 8G           tensors in turn, in 8 GiB",
                "  gds load model.safetensors --tensor 'layers\\.0\\.' --target host",
                "  gds load model.safetensors --digest --json > loaded.json",
                "",
                "1 GB is 10^9 bytes. The time runs from the open driver to the last tensor in",
                "memory and includes allocation. gds help exit-codes explains the exit status."})
final class LoadCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Mixin
    private final CountedOutputOptions output = new CountedOutputOptions();

    @Mixin
    private final ReportOption report = new ReportOption();

    @Mixin
    private final LoadOptions load = new LoadOptions();

    @Option(names = "--verify",
            description = "Read the files again with plain reads, and compare every byte with the loaded tensors.")
    private boolean verify;

    @Option(names = "--digest",
            description = "Print the SHA-256 of every tensor, computed from the loaded bytes.")
    private boolean digest;

    @Option(names = "--list",
            description = "List the tensors without loading them; reads only the headers.")
    private boolean list;

    @Option(names = "--map",
            description = "Map the files instead of loading them: the page cache holds what is used, for all processes."
                    + " Needs neither a driver nor native access.")
    private boolean map;

    @Option(names = "--budget", paramLabel = "BYTES", converter = Converters.Size.class,
            description = "Load tensors one after the other through memory of this size, with K, M or G; it includes"
                    + " staging and bounce buffers. Default: all tensors at once.")
    private @Nullable Long budget;

    @Option(names = "--as", paramLabel = "TYPE",
            description = "With --budget: make F32, F16 or BF16 of floats and of blocks of GGUF; a GPU converts in its memory.")
    private @Nullable DType as;

    LoadCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() throws IOException {
        CommandFailure.usageIf(map && list, "--map and --list exclude each other");
        CommandFailure.usageIf(budget != null && (map || list || verify),
                "--budget keeps no tensor: it is not allowed with --map, --list or --verify");
        Action action = map ? Action.MAP : list ? Action.LIST : Action.LOAD;
        LoadArguments arguments = load.arguments(terminal.environment(), verify, digest, action).within(budget, as);
        Output to = output.of(terminal, "load");
        CommandFailure.usageIf(action != Action.LOAD && report.isGiven(),
                "--report is about a load: it is not allowed with --list or --map");
        CommandFailure.usageIf(map && to.statistics(), "--stats is about a driver: it is not allowed with --map");
        return Report.of(
                report.of("load", List.of(arguments.path())), to,
                out -> LoadRun.run(arguments, out).code());
    }
}
