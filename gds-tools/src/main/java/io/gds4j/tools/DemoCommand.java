package io.gds4j.tools;

import io.gds4j.tools.demo.DemoArguments;
import io.gds4j.tools.demo.DemoRun;
import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code gds demo}. */
@Command(
        name = "demo",
        description = {
                "Make a checkpoint shaped like a Llama model, load it, verify every tensor, compare"
                        + " with a plain read, remove it.",
                "",
                "Needs nothing but disk space: without a GPU the tensors go to page-aligned host memory."},
        synopsisHeading = "Usage: ",
        descriptionHeading = "%n",
        optionListHeading = "%nOptions:%n",
        footerHeading = "%nExamples:%n",
        footer = {
                "  gds demo                      1 GiB",
                "  gds demo --size 8G            8 GiB",
                "  gds demo --dir /mnt/nvme      on another disk",
                "  gds demo --json               the same for a script",
                "",
                "Loads and plain reads take turns, five of each after one that does not count;",
                "the fastest of each is shown. The file was just written: both read it from the",
                "page cache."})
final class DemoCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Mixin
    private final OutputOptions output = new OutputOptions();

    @Mixin
    private final StatisticsOption statistics = new StatisticsOption();

    @Option(
            names = {"-s", "--size"},
            paramLabel = "BYTES",
            converter = SizeConverter.class,
            description = "Size of the checkpoint: bytes, or with K, M, G (powers of 1024). Default: 1G, or a"
                    + " quarter of the free disk space or memory where that is less.")
    private @Nullable Long size;

    @Option(
            names = {"-d", "--dir"},
            paramLabel = "DIR",
            converter = PathConverter.class,
            description = "Folder for the checkpoint, which is always removed again. Default: target/ of the project.")
    private @Nullable Path dir;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Print this help and exit.")
    private boolean help;

    DemoCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() throws IOException {
        return DemoRun.run(new DemoArguments(size, dir), terminal, statistics.with(output.mode()), Schemas.of("demo"))
                .code();
    }
}
