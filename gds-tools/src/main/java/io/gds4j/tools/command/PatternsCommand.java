package io.gds4j.tools.command;

import io.gds4j.tools.io.IoJob.Sizes;
import io.gds4j.tools.sample.PatternsRun;
import io.gds4j.tools.sample.PatternsRun.Arguments;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options and help of {@code gds patterns}. */
@Command(
        name = "patterns",
        description = "Compare I/O patterns: run their samples in turn for each request size, and chart the"
                + " results, such as the cost of registering memory in a loop.",
        footer = {
                "  gds patterns -o patterns.svg                   1 to 3: registration",
                "  gds patterns -p 2,4 -o aligned.svg             aligned and unaligned",
                "  gds patterns -p 2,6 -i 4K:64K:*4 -o batch.svg  one by one and batches",
                "",
                "Charts need fonts (apt install fontconfig fonts-dejavu-core), but no display."})
final class PatternsCommand implements Callable<Integer> {
    private static final int MAX_ROUNDS = 99;

    private final Terminal terminal;

    @Mixin
    private final CountedOutputOptions output = new CountedOutputOptions();

    @Option(names = {"-p", "--patterns"}, paramLabel = "N", split = ",",
            description = "Numbers of the patterns to run. Default: 1,2,3.")
    private List<Integer> patterns = List.of(1, 2, 3);

    @Option(names = {"-i", "--io"}, paramLabel = "SIZES",
            description = "Request size in bytes: SIZE, MIN:MAX:STEP or MIN:MAX:*FACTOR. Default: 64K:16M:*4.")
    private Sizes ioSizes = Sizes.parse("64K:16M:*4");

    @Option(names = {"-s", "--size"}, paramLabel = "BYTES", converter = Converters.Size.class,
            description = "Bytes that each run moves. Default: 64M.")
    private long size = 64L << 20;

    @Option(names = {"-r", "--rounds"}, paramLabel = "N",
            description = "Runs per measurement, which reports their median. Default: 5.")
    private int rounds = 5;

    @Option(names = "--memory", paramLabel = "KIND", description = "Kind of memory, as in gds sample.")
    private @Nullable String memory;

    @Mixin
    private final BackendOption backend = new BackendOption();

    @Option(names = "--dir", paramLabel = "DIR",
            description = "Folder for the files. Default: target/, or the current folder without one.")
    private @Nullable Path dir;

    @Option(names = "--from", paramLabel = "RESULT.json",
            description = "Show and draw the --json output of an earlier run instead of measuring.")
    private @Nullable Path from;

    @Option(names = {"-o", "--output"}, paramLabel = "FILE",
            description = "Chart to write; the name ends in .svg or .png.")
    private @Nullable Path chart;

    PatternsCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        CommandFailure.usageIf(rounds < 1 || rounds > MAX_ROUNDS,
                "--rounds is %s, allowed: 1 to %s", rounds, MAX_ROUNDS);
        List<String> options = new ArrayList<>();
        if (memory != null) {
            options.addAll(List.of("--memory", memory));
        }
        options.addAll(List.of("--backend", backend.value()));
        Arguments arguments =
                new Arguments(patterns, size, ioSizes.sizes(), rounds, options, dir, from, chart);
        return new PatternsRun(arguments, output.of(terminal, "patterns")).run()
                .code();
    }
}
