package io.gds4j.tools.command;

import io.gds4j.tools.explain.ExplainRun;
import io.gds4j.tools.load.LoadArguments;
import io.gds4j.tools.load.LoadArguments.Action;
import io.gds4j.tools.terminal.Terminal;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Options and help of {@code gds explain}. */
@Command(
        name = "explain",
        description = "Tell before a load what it would do: which path serves each file and why, the expected time, the"
                + " memory of each rank, and what would make it faster.",
        footer = {
                "  gds explain Llama-3-8B/                  to gpu:0, or host memory",
                "  gds explain Llama-3-8B/ --target gpu:0,gpu:1 --parallel column",
                "",
                "Reads headers, a fifth of a second from each device, and tensors that are in",
                "the page cache, or a generated checkpoint in /dev/shm. Writes nothing else.",
                "What could not be measured is unknown."})
final class ExplainCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Mixin
    private final OutputOptions output = new OutputOptions();

    @Mixin
    private final LoadOptions load = new LoadOptions();

    ExplainCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() throws InterruptedException {
        LoadArguments arguments = load.arguments(terminal.environment(), false, false, Action.LOAD);
        return ExplainRun.run(arguments, output.of(terminal, "explain")).code();
    }
}
