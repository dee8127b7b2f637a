package io.gds4j.tools.command;

import io.gds4j.tools.plot.PlotRun;
import io.gds4j.tools.plot.PlotRun.PlottedFile;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Terminal;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Options and help of {@code gds plot}. */
@Command(
        name = "plot",
        description = "Draw results of gds io: throughput and latency by request size.",
        footer = {
                "  gds io -f data -i 4K:16M:*4 -T 1 --json > gds4j.json",
                "  gds io -f data -i 4K:16M:*4 -T 1 -x 1 --json > pread.json",
                "  gds plot gds4j.json plain=pread.json -o compared.svg",
                "",
                "Needs fonts (apt install fontconfig fonts-dejavu-core), but no display."})
final class PlotCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Mixin
    private final OutputOptions output = new OutputOptions();

    @Parameters(arity = "1..*", paramLabel = "[NAME=]RESULT.json",
            description = "Output of gds io --json or gds rdma --json; each file becomes a line of the chart, with NAME in"
                    + " the legend. Default: the file and what was measured.")
    private List<PlottedFile> results = new ArrayList<>();

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FILE",
            required = true,

            description = "Chart to write; the name ends in .svg or .png.")
    @SuppressWarnings("NullAway.Init")
    private Path chart;

    @Option(names = "--title", paramLabel = "TEXT", description = "Title above the charts.")
    private String title = "";

    PlotCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() throws IOException {
        return new PlotRun(results, chart, title, output.of(terminal, "plot")).run().code();
    }
}
