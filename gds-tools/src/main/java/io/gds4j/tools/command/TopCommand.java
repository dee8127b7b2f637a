package io.gds4j.tools.command;

import io.gds4j.tools.stats.TopRun;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Terminal;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Options and help of {@code gds top}. */
@Command(
        name = "top",
        description = "Show what the JVMs of this user move with gds4j: speeds by I/O path and GPU, staging memory and"
                + " requests, redrawn each second.",
        footer = {
                "  gds top                     every JVM that has a driver open",
                "  gds top 4711                one process",
                "  gds top -n 5 -i 2 | cat     five blocks of lines, two seconds apart",
                "  gds top --json              one sample as JSON",
                "",
                "q or Ctrl-C ends it, s sorts, / filters, ? shows the keys. Speeds of GPUs need",
                "statistics level 3, which gds top never switches on. A session appears five",
                "seconds after it was opened, or at once if it counts statistics."})
final class TopCommand implements Callable<Integer> {
    private static final double MIN_SECONDS = 0.1;
    private static final double MAX_SECONDS = 3600;

    private final Terminal terminal;

    @Mixin
    private final OutputOptions output = new OutputOptions();

    @Parameters(paramLabel = "PID", arity = "0..1", description = "Process ID. Default: all JVMs of this user.")
    private @Nullable Long pid;

    @Option(
            names = {"-i", "--interval"},
            paramLabel = "SECONDS",
            defaultValue = "1",
            description = "Time between two rounds, 0.1 to 3600. Default: ${DEFAULT-VALUE}.")
    private double interval;

    @Option(
            names = {"-n", "--count"},
            paramLabel = "N",
            description = "End after N rounds. Default: no end; 1 with --json.")
    private @Nullable Integer count;

    @Option(
            names = "--any-user",
            description = "Also connect to a process of another user, as only root can. It chooses what is shown.")
    private boolean anyUser;

    TopCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() {
        CommandFailure.usageIf(!(interval >= MIN_SECONDS && interval <= MAX_SECONDS),
                "--interval is %s, allowed: 0.1 to 3600 seconds", interval);
        CommandFailure.usageIf(count != null && count < 1, "--count is %s, allowed: 1 or more", count);
        return new TopRun(
                pid == null ? OptionalLong.empty() : OptionalLong.of(pid), anyUser, interval,
                count == null ? OptionalInt.empty() : OptionalInt.of(count), output.of(terminal, "top")).run().code();
    }
}
