package io.gds4j.tools.command;

import io.gds4j.tools.demo.DemoRun;
import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options and help of {@code gds demo}. */
@Command(
        name = "demo",
        description = {
                "Create a checkpoint shaped like a Llama model, load it, verify every tensor, compare the"
                        + " speed with a plain read, and delete the checkpoint (unless --keep).",
                "",
                "Needs only disk space and memory: without a GPU, tensors go to page-aligned host memory."},
        footer = {
                "  gds demo                      1 GiB",
                "  gds demo --size 8G            8 GiB",
                "  gds demo --dir /mnt/nvme      on another disk",
                "  gds demo --keep               leaves target/gds-demo/model.safetensors",
                "  gds demo --json               prints JSON, for scripts",
                "",
                "Loads and plain reads alternate: one warm-up round, then five measured rounds.",
                "The output shows the fastest of each. Both read the new file from the page",
                "cache."})
final class DemoCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Mixin
    private final CountedOutputOptions output = new CountedOutputOptions();

    @Option(
            names = {"-s", "--size"},
            paramLabel = "BYTES",
            converter = Converters.Size.class,
            description = "Size of the checkpoint: bytes, or a number with K, M, G (powers of 1024). Default: 1G, but"
                    + " at most a quarter of the free disk space and memory.")
    private @Nullable Long size;

    @Option(
            names = {"-d", "--dir"},
            paramLabel = "DIR",

            description = "Folder for the checkpoint. Default: target/, or the current folder without one.")
    private @Nullable Path dir;

    @Option(
            names = {"-k", "--keep"},
            description = "Leave the checkpoint as gds-demo/model.safetensors in the folder, in place of an earlier one.")
    private boolean keep;

    DemoCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() throws IOException {
        return new DemoRun(size, dir, keep, output.of(terminal, "demo")).run().code();
    }
}
