package io.gds4j.tools;

import io.gds4j.engine.machine.SystemFiles;
import io.gds4j.internal.text.InertText;
import io.gds4j.tools.check.LibCuFile;
import io.gds4j.tools.command.Converters;
import io.gds4j.tools.command.Subcommands;
import io.gds4j.tools.terminal.BuildInfo;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ErrorReport;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Fields;
import io.gds4j.tools.terminal.Nearest;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.ShutdownState;
import io.gds4j.tools.terminal.Terminal;
import io.gds4j.tools.terminal.Text;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.UsageMessageSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The {@code gds} command: picks the subcommand and turns failures into messages and exit statuses. */
@Command(
        name = "gds",
        description = "Load model checkpoints from files into GPU or host memory, at the speed of the storage.",
        synopsisHeading = "Usage: ",
        customSynopsis = {"gds COMMAND [OPTION...]", "       gds --version | --help"},
        descriptionHeading = "%n",
        optionListHeading = "%nOptions:%n",
        commandListHeading = "%nCommands:%n",
        footerHeading = "%nStart here:%n",
        footer = {
                "  gds demo                     load and verify a generated checkpoint",
                "  gds check                    show this machine and its storage paths",
                "  gds load model.safetensors   load your own checkpoint",
                "  gds explain MODEL            tell what a load would do, and how long",
                "  gds convert SRC DST          write a checkpoint aligned, for fast loads",
                "  gds top                      watch what running programs move",
                "  gds io -f FILE               measure storage, with gdsio's options",
                "  gds sample --list            list example programs",
                "  gds help load                explain a command",
                "  gds help exit-codes          explain the exit status",
                "",
                "Tensors go to GPU memory if there is a GPU, else to page-aligned host memory."})
public final class GdsCommand implements Runnable {
    /** Makes java.util.logging print one line per record, like all other output on standard error. */
    private static final String LOG_FORMAT = "java.util.logging.SimpleFormatter.format";
    private static final String JSON_OPTION = "--json";
    /** Property with locations to load first, each on a line: the run that makes the archive of classes loads them, too. */
    private static final String TRAINING = "gds4j.training";

    private final Terminal terminal;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    @Option(
            names = {"-V", "--version"},
            description = "Print the version of gds4j, the JDK and libcufile, and exit.")
    private boolean version;

    @Option(
            names = {"-h", "--help"},
            usageHelp = true,
            description = "Print this help and exit.")
    private boolean help;

    @Option(names = JSON_OPTION, description = "With --version: print a JSON object.")
    private boolean json;

    private GdsCommand(Terminal terminal) {
        this.terminal = terminal;
    }

    /** Entry point of the process. */
    public static void main(String[] args) {
        if (System.getProperty(LOG_FORMAT) == null) {
            System.setProperty(LOG_FORMAT, "gds: %4$s: %5$s%n");
        }
        String training = System.getProperty(TRAINING);
        if (training != null) {
            training.lines()
                    .forEach(location -> run(Terminal.ofProcess(), "load", location, "-t", "host", JSON_OPTION));
        }
        HeadStart start = HeadStart.of(args);
        Terminal terminal = Terminal.ofProcess();
        if (args.length > 0 && args[0].equals(HeadStart.LOAD)) {
            terminal = terminal.ofLastRun();
        }
        int status = run(terminal, args);
        start.await();
        Reference.reachabilityFence(terminal);
        System.exit(status);
    }

    /**
     * Runs one command line.
     *
     * @return exit status
     */
    public static int run(Terminal terminal, String... args) {
        int status;
        try {
            status = isVersion(args) ? printVersion(terminal, args.length > 1) : execute(terminal, args);
        } catch (Throwable failure) {
            // Catches errors too: OutOfMemoryError or a missing native library must not bypass the exit status.
            status = failure instanceof LinkageError && lacksDescriptors()
                    ? withoutDescriptors(terminal)
                    : fail(terminal, args, failure);
        }
        terminal.out().flush();
        terminal.err().flush();
        return terminal.out().checkError() ? lost(terminal, status) : status;
    }

    private static int printVersion(Terminal terminal, boolean json) {
        BuildInfo build = BuildInfo.read();
        LibCuFile library = LibCuFile.find(SystemFiles.ofMachine(), terminal.environment());
        String jdk = System.getProperty("java.runtime.version");
        String vendor = System.getProperty("java.vendor");
        if (json) {
            terminal.printJson(Fields.of("schema", Output.schema("version"))
                    .and("version", build.version())
                    .and("commit", build.commit())
                    .and("jdk", jdk)
                    .and("jdkVendor", vendor)
                    .and("libcufile", library.version())
                    .and("libcufilePath", library.path().map(Path::toString)).map());
        } else {
            terminal.out().println("gds4j " + build.version() + " (commit " + build.commit() + ")");
            terminal.out().println(Text.row("JDK", jdk + ", " + vendor));
            terminal.out().println(Text.row("libcufile", library.describe()));
        }
        return ExitStatus.DONE.code();
    }

    /** True if this process can open no file more: then classes are not found either. */
    private static boolean lacksDescriptors() {
        File device = new File("/dev/null");
        try {
            new FileInputStream(device).close();
            return false;
        } catch (IOException e) {
            return device.exists();
        }
    }

    /** Uses no class that is not loaded. */
    private static int withoutDescriptors(Terminal terminal) {
        terminal.err().println("gds: too many open files in this process: ulimit -n allows too few");
        return 4; // of ExitStatus.IO_FAILURE
    }

    /**
     * Handles a failed write to standard output. Silent if the reader closed the pipe; success becomes an I/O failure.
     */
    private static int lost(Terminal terminal, int status) {
        terminal.failure().ifPresent(failure -> terminal.err().println("gds: standard output: " + failure));
        return status == ExitStatus.DONE.code() ? ExitStatus.IO_FAILURE.code() : status;
    }

    /** True for {@code --version} alone, which is answered before picocli is loaded. */
    private static boolean isVersion(String... args) {
        return args.length > 0
                && args.length <= 2
                && ("--version".equals(args[0]) || "-V".equals(args[0]))
                && (args.length == 1 || JSON_OPTION.equals(args[1]));
    }

    /** Returns the command with the subcommand that the arguments name, else with all. Making all takes longer than some of them run. */
    public static CommandLine commandLine(Terminal terminal, String... args) {
        boolean one = args.length > 0 && Subcommands.isAlone(args[0]);
        CommandLine line = new CommandLine(new GdsCommand(terminal));
        for (String name : one ? List.of(args[0]) : Subcommands.NAMES) {
            line.addSubcommand(Subcommands.of(name, terminal, words -> run(terminal, words)));
        }
        Converters.register(line);
        line.getSubcommands().values().forEach(command -> addHeadings(command.getCommandSpec().usageMessage()));
        return line;
    }

    private static void addHeadings(UsageMessageSpec help) {
        help.synopsisHeading("Usage: ")
                .descriptionHeading("%n")
                .parameterListHeading("%n")
                .optionListHeading("%nOptions:%n");
        if (help.footer().length > 0) {
            help.footerHeading("%nExamples:%n");
        }
    }

    private static int execute(Terminal terminal, String... args) {
        CommandLine line = commandLine(terminal, args);
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setOut(new PrintWriter(terminal.out(), true, terminal.out().charset()))
                .setErr(new PrintWriter(terminal.err(), true, terminal.err().charset()))
                .setUsageHelpLongOptionsMaxWidth(30)
                .setExpandAtFiles(false)
                .setExecutionStrategy(parsed -> {
                    checkLists(parsed);
                    return new CommandLine.RunLast().execute(parsed);
                })
                .setExecutionExceptionHandler((failure, command, parsed) -> fail(terminal, args, failure))
                .setParameterExceptionHandler((failure, given) -> fail(terminal, args, usage(failure)));
        return line.execute(args);
    }

    /** Refuses a list without values, such as a comma alone: the command would do nothing, and succeed. */
    private static void checkLists(CommandLine.ParseResult parsed) {
        for (CommandLine.Model.OptionSpec option : parsed.matchedOptions()) {
            if (!option.splitRegex().isEmpty() && option.stringValues().isEmpty()) {
                throw new ParameterException(parsed.commandSpec().commandLine(),
                        "Invalid value for option '%s': the list is empty".formatted(option.longestName()));
            }
        }
        if (parsed.hasSubcommand()) {
            checkLists(parsed.subcommand());
        }
    }

    private static CommandFailure usage(ParameterException failure) {
        String message = Text.withoutSecrets(failure.getMessage());
        List<String> suggestions = List.of();
        if (failure instanceof CommandLine.UnmatchedArgumentException unmatched) {
            String first = unmatched.getUnmatched().getFirst();
            suggestions = nearest(first, failure.getCommandLine());
            if (suggestions.isEmpty()) {
                suggestions = unmatched.getSuggestions();
            }
            if (suggestions.contains(first.replaceFirst("=.*", ""))) { // it stands behind --
                suggestions = List.of();
                message = "one argument too many: '%s'".formatted(Text.withoutSecrets(first));
            }
            if (failure.getCommandLine().getParent() == null && !first.startsWith("-")) {
                message = "unknown command '" + Text.withoutSecrets(first) + "'";
            }
        }
        String hint = suggestions.isEmpty() ? "" : "; did you mean %s?".formatted(String.join(" or ", suggestions));
        String command = failure.getCommandLine().getCommandSpec().qualifiedName();
        return CommandFailure.usage("%s%s (%s --help shows the usage)".formatted(message, hint, command));
    }

    /** Returns the option or command that is most like a word, or nothing if none is. */
    private static List<String> nearest(String word, CommandLine command) {
        List<String> known = new ArrayList<>();
        if (word.matches("--gpus?(=.*)?") && command.getCommandSpec().findOption("--target") != null) {
            return List.of("--target gpu:N");
        }
        if (word.startsWith("-")) {
            command.getCommandSpec().options().forEach(option -> known.addAll(List.of(option.names())));
        } else if (command.getParent() == null) {
            known.addAll(Subcommands.NAMES);
        }
        return Nearest.to(word.replaceFirst("=.*", ""), known).map(List::of).orElse(List.of());
    }

    private static int fail(Terminal terminal, String[] args, Throwable failure) {
        if (ShutdownState.begun()) {
            return ExitStatus.SIGINT.code();
        }
        ErrorReport report = ErrorReport.of(failure);
        if (report.status() == ExitStatus.INTERNAL_ERROR) {
            StringWriter trace = new StringWriter();
            failure.printStackTrace(new PrintWriter(trace));
            // its messages may quote names from files
            trace.toString().lines().map(line -> InertText.line(line.replace("\t", "    ")))
                    .forEach(terminal.err()::println);
        }
        terminal.err().println("gds: " + report.message());
        if (report.status() == ExitStatus.INTERNAL_ERROR) {
            terminal.err().println(
                    "gds: this is a fault in gds4j: please report it with the lines above and the output of gds --version");
        }
        if (List.of(args).contains(JSON_OPTION)) {
            terminal.printJson(report.toJson(schema(args)));
        }
        return report.status().code();
    }

    private static String schema(String... args) {
        return Stream.of(args)
                .filter(word -> !word.startsWith("-"))
                .findFirst()
                .filter(Subcommands.NAMES::contains)
                .map(Output::schema)
                .orElse(Output.schema("error"));
    }

    @Override
    public void run() {
        if (version) {
            printVersion(terminal, json);
            return;
        }
        throw new ParameterException(spec.commandLine(), "a command is missing: for example gds demo, load or check");
    }
}
