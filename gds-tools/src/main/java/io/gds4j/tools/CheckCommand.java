package io.gds4j.tools;

import io.gds4j.tools.check.CheckArguments;
import io.gds4j.tools.check.CheckRun;
import io.gds4j.tools.check.Requirement;
import io.gds4j.tools.terminal.Terminal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code gds check}. */
@Command(
        name = "check",
        description = "Say what this machine has (platform, driver, GPUs, libcufile, configuration) and, for each"
                + " path, which file system it is on, what will serve it and why.",
        synopsisHeading = "Usage: ",
        descriptionHeading = "%n",
        parameterListHeading = "%n",
        optionListHeading = "%nOptions:%n",
        footerHeading = "%nExamples:%n",
        footer = {
                "  gds check                                 this machine",
                "  gds check /models/llama.safetensors       and what serves this file",
                "  gds check /mnt/nvme /dev/shm              and these folders",
                "  gds check --print-config > cufile.json    a commented file to start from",
                "  gds check --require gpu,odirect /mnt/nvme for scripts: status 4 if it lacks",
                "",
                "Configuration, strongest first: CUFILE_* variables, the file that",
                "CUFILE_ENV_PATH_JSON names (else /etc/cufile.json), defaults."})
final class CheckCommand implements Callable<Integer> {
    private final Terminal terminal;

    @Mixin
    private final OutputOptions output = new OutputOptions();

    @Parameters(arity = "0..*", paramLabel = "PATH", converter = PathConverter.class,
            description = "Files, folders or block devices to look at.")
    private List<Path> paths = new ArrayList<>();

    @Option(names = "--print-config",
            description = "Print the default configuration file, every key explained, and exit.")
    private boolean printConfig;

    @Option(
            names = {"-v", "--verbose"},
            description = "Show every configuration value, not only those that somebody set, and where libcufile"
                    + " was looked for.")
    private boolean verbose;

    @Option(names = "--require", paramLabel = "WHAT", split = ",",
            description = "End with status 4 if it is not there: gpu, libcufile, nvfs, p2pdma, odirect (on each PATH).")
    private List<Requirement> required = new ArrayList<>();

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Print this help and exit.")
    private boolean help;

    CheckCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    @Override
    public Integer call() {
        CheckArguments arguments = new CheckArguments(List.copyOf(paths), printConfig, verbose, required);
        return CheckRun.run(arguments, terminal, output.mode(), Schemas.of("check")).code();
    }
}
