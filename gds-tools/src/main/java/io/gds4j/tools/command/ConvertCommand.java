package io.gds4j.tools.command;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.tools.convert.ConvertRun;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.report.Report;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Options and help of {@code gds convert}. */
@Command(
        name = "convert",
        description = "Write a checkpoint as safetensors files that load fast, and replace an old one safely.",
        footer = {
                "  gds convert model.safetensors aligned/       tensors at page boundaries",
                "  gds convert Llama/ shards/ --max-shard 5G    files of 5 GiB, and an index",
                "  gds convert Llama/ out/ --align 8            the reference writer's layout",
                "  gds convert Llama/ out/ --checksums          checksums, read back",
                "  gds convert Llama/ s3://bucket/llama/        to S3, the index last",
                "",
                "Whatever happens, the folder holds a complete checkpoint, old or new."})
final class ConvertCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Mixin
    private final CountedOutputOptions output = new CountedOutputOptions();

    @Mixin
    private final ReportOption report = new ReportOption();

    @Parameters(
            index = "0",
            paramLabel = "SRC",
            description = "A checkpoint as gds load takes it.")
    @SuppressWarnings("NullAway.Init")
    private String source;

    @Parameters(
            index = "1",
            paramLabel = "DST",
            description = "A folder, which is created if necessary. A checkpoint named model in it is replaced; other files"
                    + " remain. An s3 or az URL of a folder receives the bytes from memory, and replaces no object.")
    @SuppressWarnings("NullAway.Init")
    private String destination;

    @Mixin
    private final OpeningOptions opening = new OpeningOptions();

    @Option(names = "--max-shard", paramLabel = "BYTES", converter = Converters.Size.class,
            description = "Largest sum of tensor bytes in a file. Default: 50,000,000,000.")
    private long maxShard = SaveOptions.DEFAULTS.maxShardBytes();

    @Option(names = "--align", paramLabel = "BYTES", converter = Converters.Size.class,
            description = "Data begins at a multiple of it, and as many tensors as possible do: a power of two from 8 to"
                    + " 2M. Default: 4096.")
    private long align = SaveOptions.DEFAULTS.align();

    @Option(names = "--checksums",
            description = "Write the CRC32C of each tensor into the headers, then read the files back past the page cache and"
                    + " compare.")
    private boolean checksums;

    @Option(names = "--all-names",
            description = "Write tensors that share bytes, such as tied weights, once for each name. Default: once, with the"
                    + " further names in the metadata, where only gds4j finds them.")
    private boolean allNames;

    @Option(names = "--gpu", paramLabel = "N", converter = Converters.Device.class,
            description = "Copy by way of the memory of this GPU. Default: host memory.")
    private @Nullable Target gpu;

    @Mixin
    private final BackendOption backend = new BackendOption();

    ConvertCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() throws IOException {
        Path from = CheckpointPath.of(source, terminal.environment());
        Path folder = CheckpointPath.of(destination, terminal.environment());
        SaveOptions layout = options();
        return Report.of(
                report.of("convert", List.of(from, folder)), output.of(terminal, "convert"),
                to -> new ConvertRun(
                        from, opening.value(), folder, backend.value(), layout,
                        allNames ? ConvertRun.TiedWeights.ALL_NAMES : ConvertRun.TiedWeights.ONCE, to).run().code());
    }

    private SaveOptions options() {
        try {
            return SaveOptions.DEFAULTS
                    .withAlign(align)
                    .withMaxShardBytes(maxShard)
                    .withChecksums(checksums)
                    .withStagingDevice(gpu == null ? Target.HOST.device() : gpu.device());
        } catch (CuFileException e) {
            throw CommandFailure.usage("%s (gds convert --help shows the usage)".formatted(e.detail()));
        }
    }
}
