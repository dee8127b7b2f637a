package io.gds4j.tools.command;

import io.gds4j.tools.stats.StatsRun;
import io.gds4j.tools.terminal.Terminal;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Options and help of {@code gds stats}. */
@Command(
        name = "stats",
        description = "Print the statistics of a running JVM that uses gds4j, as gds_stats does for libcufile.",
        footer = {
                "  gds stats 4711              all statistics of the process",
                "  gds stats 4711 --json       as JSON, for scripts",
                "",
                "The process must collect statistics: either profile.cufile_stats in cufile.json",
                "is 1, 2 or 3, or the program calls driver.statistics().setLevel and start. It",
                "must belong to the same user; root can name --any-user."})
final class StatsCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Mixin
    private final OutputOptions output = new OutputOptions();

    @Parameters(paramLabel = "PID", description = "Process ID.")
    private long pid;

    @Option(
            names = "--any-user",
            description = "Also connect to a process of another user, as only root can. It chooses what is shown.")
    private boolean anyUser;

    StatsCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() {
        return StatsRun.run(pid, anyUser, output.of(terminal, "stats")).code();
    }
}
