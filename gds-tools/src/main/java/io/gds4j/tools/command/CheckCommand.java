package io.gds4j.tools.command;

import io.gds4j.tools.check.CheckRun;
import io.gds4j.tools.check.CheckRun.Requirement;
import io.gds4j.tools.terminal.Terminal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Options and help of {@code gds check}. */
@Command(
        name = "check",
        description = "Show the platform, driver, GPUs, RDMA devices, libcufile and configuration of this machine."
                + " For each path, show its file system, and the I/O path that serves it and why.",
        footer = {
                "  gds check                                 this machine",
                "  gds check /models/llama.safetensors       also show what serves this file",
                "  gds check /mnt/nvme /dev/shm              also show what serves these folders",
                "  gds check --print-config > cufile.json    a commented file to start with",
                "  gds check --require gpu,odirect /mnt/nvme for scripts: status 4 if missing",
                "  gds check --bundle problem.zip /models   also write a file for a report",
                "",
                "Configuration, highest precedence first: CUFILE_* variables, the file that",
                "CUFILE_ENV_PATH_JSON names (else /etc/cufile.json), defaults."})
final class CheckCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Mixin
    private final OutputOptions output = new OutputOptions();

    @Parameters(arity = "0..*", paramLabel = "PATH",
            description = "Files, folders or block devices to examine.")
    private List<Path> paths = new ArrayList<>();

    @Mixin
    private final DirectStorageOption directStorage = new DirectStorageOption();

    @Option(names = "--print-config",
            description = "Print the default configuration file with every key explained, and exit.")
    private boolean printConfig;

    @Option(
            names = {"-v", "--verbose"},
            description = "Show all configuration values, not only changed ones, the folders searched for libcufile,"
                    + " and the parameters and counters of nvidia-fs.")
    private boolean verbose;

    @Option(names = "--require", paramLabel = "WHAT", split = ",", completionCandidates = Candidates.Requirements.class,
            description = "Exit with status 4 if any is missing: gpu, libcufile, nvfs, p2pdma, odirect (on each PATH).")
    private List<Requirement> required = new ArrayList<>();

    @Option(names = "--bundle", paramLabel = "FILE.zip",
            description = "Also write what a report of a problem needs: versions, this report, and the last errors of"
                    + " cufile.log. Lists the content first.")
    private @Nullable Path bundle;

    CheckCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() {
        return new CheckRun(
                paths, directStorage.value(), printConfig, verbose, required, Optional.ofNullable(bundle),
                output.of(terminal, "check")).run()
                .code();
    }
}
