package io.gds4j.tools.command;

import io.gds4j.tools.io.IoJob;
import io.gds4j.tools.io.IoRun;
import io.gds4j.tools.io.IoRun.Arguments;
import io.gds4j.tools.io.JobFile;
import io.gds4j.tools.report.Report;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.InputFile;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Terminal;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Options and help of {@code gds io}, its job files and its series. */
@Command(
        name = "io",
        description = "Measure reads and writes between files and GPU or host memory, with the options of gdsio.",
        customSynopsis = {
                "gds io (-f FILE | -D DIR) [OPTION...]",
                "       gds io [OPTION...] JOBS.gdsio",
                "       gds io [OPTION...] --series FILE"},
        sortOptions = false,
        footer = {
                "  gds io -f data -s 1G -I 1 -i 16M             write a 1 GiB file",
                "  gds io -f data -i 1G --hot -O 1              calls of 1 GiB, page cache",
                "  gds io -f data -w 8 -i 16M --cold            eight threads, disk",
                "  gds io -f data -i 4K:16M:*4 -T 1 --json > r  for gds plot r -o r.svg",
                "  gds io -f data -I 2 -w 16 -i 64K -T 5        random reads",
                "  gds io -f data -s 64M -I 1 -V                write, read back, compare",
                "",
                "Threads divide a shared file among themselves. The measured time runs from the",
                "start of the first thread to the end of the last; warm-up does not count.",
                "1 GB is 10^9 bytes."})
final class IoCommand implements Callable<Integer> {
    private static final String SERIES = "--series";
    private static final int MAX_LINE_CHARACTERS = 1 << 16;

    private final Terminal terminal;
    private final ToIntFunction<String[]> lines;

    @Spec
    @SuppressWarnings("NullAway.Init")
    private CommandSpec spec;

    @Mixin
    private final IoOptions options = new IoOptions();

    @Parameters(arity = "0..1", paramLabel = "JOBS.gdsio",
            description = "A job file in gdsio's format. The options of its sections add to those of the command line.")
    private @Nullable Path jobFile;

    @Option(names = SERIES, paramLabel = "FILE",
            description = "Run once for each line of the file, in sequence in this process, so that the JVM is warm. A line"
                    + " holds options that add to those given here. /dev/stdin runs lines as they arrive.")
    private @Nullable Path series;

    @Option(names = "--overwrite",
            description = "Let a job file write to existing files that gds io did not make. Default: refuse them.")
    private boolean overwrite;

    @Mixin
    private final CountedOutputOptions output = new CountedOutputOptions();

    @Mixin
    private final ReportOption report = new ReportOption();

    /**
     * Sets what the command is run with.
     *
     * @param lines runs a line of a series, as the process does
     */
    IoCommand(Terminal terminal, ToIntFunction<String[]> lines) {
        this.terminal = terminal;
        this.lines = lines;
    }

    @Override
    public Integer call() throws IOException {
        CommandFailure.usageIf(series != null && report.isGiven(),
                "--report is about one run: it is not allowed with " + SERIES);
        if (series != null) {
            return runSeries(series);
        }
        Output to = output.of(terminal, "io");
        Arguments arguments = arguments(to);
        return Report.of(
                report.of("io", arguments.jobs().stream().map(IoJob::path).distinct().toList()), to,
                told -> IoRun.run(arguments, told).code());
    }

    /** Runs each line of a file; returns the status of the last line that failed, or 0. */
    private int runSeries(Path file) throws IOException {
        List<String> common = new ArrayList<>();
        common.add(spec.name());
        List<String> given = spec.commandLine().getParseResult().originalArgs();
        for (int i = 0; i < given.size(); i++) {
            if (given.get(i).equals(SERIES)) {
                i++;
            } else if (!given.get(i).startsWith(SERIES + "=") && (i > 0 || !given.get(i).equals(spec.name()))) {
                common.add(given.get(i));
            }
        }
        int status = 0;
        try (BufferedReader reader = new BufferedReader(
                new InputStreamReader(InputFile.open(file, "a series"), StandardCharsets.UTF_8))) {
            for (String line = line(reader, file); line != null; line = line(reader, file)) {
                if (!line.isBlank()) {
                    List<String> words = new ArrayList<>(common);
                    words.addAll(List.of(line.strip().split("\\s+")));
                    int result = lines.applyAsInt(words.toArray(String[]::new));
                    status = result == 0 ? status : result;
                }
            }
        } catch (NoSuchFileException e) {
            throw CommandFailure.badInput(file.toString(), file + ": no such file");
        }
        return status;
    }

    /** Reads a line, null at the end of the file. Limits its length: a stream of zeros has no line break. */
    private static @Nullable String line(BufferedReader reader, Path file) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = reader.read(); c >= 0; c = reader.read()) {
            if (c == '\n') {
                return line.toString();
            }
            if (line.length() == MAX_LINE_CHARACTERS) {
                throw CommandFailure.badInput(
                        file.toString(),
                        "%s: has a line of more than %s characters".formatted(file, MAX_LINE_CHARACTERS));
            }
            line.append((char) c);
        }
        return line.isEmpty() ? null : line.toString();
    }

    private Arguments arguments(Output to) throws IOException {
        if (jobFile == null) {
            options.notes().forEach(to::note);
            return options.arguments(List.of(options.job("job")), true);
        }
        List<IoJob> jobs = new ArrayList<>();
        IoOptions first = options;
        for (JobFile.Section section : JobFile.read(jobFile)) {
            IoOptions own = optionsOf(jobFile, section);
            own.notes().forEach(to::note);
            if (jobs.isEmpty()) {
                first = own;
            }
            jobs.add(named(jobFile, section, own));
        }
        return first.arguments(jobs, overwrite);
    }

    private IoOptions optionsOf(Path file, JobFile.Section section) {
        List<String> words = new ArrayList<>(spec.commandLine().getParseResult().originalArgs());
        words.addAll(section.options());
        IoOptions own = new IoOptions();
        try {
            Converters.register(
                    new CommandLine(CommandSpec.create().addMixin("options", CommandSpec.forAnnotatedObject(own))))
                    .setOverwrittenOptionsAllowed(true)
                    .setUnmatchedArgumentsAllowed(true)
                    .parseArgs(words.toArray(String[]::new));
        } catch (ParameterException e) {
            throw CommandFailure.badInput(
                    file.toString(), "%s: [%s]: %s".formatted(file, section.name(), e.getMessage()));
        }
        return own;
    }

    private static IoJob named(Path file, JobFile.Section section, IoOptions own) {
        try {
            return own.job(section.name());
        } catch (CommandFailure e) {
            throw CommandFailure.badInput(
                    file.toString(), "%s: [%s]: %s".formatted(file, section.name(), e.getMessage()));
        }
    }
}
