package io.gds4j.tools.report;

import io.gds4j.tools.check.CheckRun;
import io.gds4j.tools.check.CheckRun.Machine;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.OutputFile;
import io.gds4j.tools.terminal.TemporaryFolder;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import jdk.jfr.Recording;
import jdk.jfr.RecordingState;
import org.jspecify.annotations.Nullable;

/** Records a run of a command and writes a page about it. */
public final class Report {
    /** Most bytes of events; older ones are dropped. */
    private static final long MAX_BYTES = 256L << 20;
    /** A chunk of the flight recorder and its copy. */
    private static final long MIN_FREE_BYTES = 32L << 20;

    private final Path file;
    private final String command;
    private final List<Path> subjects;
    private final String version;
    private Map<String, @Nullable Object> fields = Map.of();
    private List<String> lines = List.of();

    /** A run of a command. */
    public interface Body {
        /** Runs the command and returns its status. */
        int run(Output output) throws IOException;
    }

    /**
     * Creates a report.
     *
     * @param file where the page goes
     * @param command name of the command
     * @param subjects the files of its command line
     * @param version version of gds4j
     */
    public Report(Path file, String command, List<Path> subjects, String version) {
        this.file = file;
        this.command = command;
        this.subjects = List.copyOf(subjects);
        this.version = version;
    }

    /**
     * Runs the command and writes the page, unless the command fails.
     *
     * @throws CommandFailure before the command runs, if the page could not be written
     * @throws IOException if the command throws it, or writing fails
     */
    public int of(Output output, Body body) throws IOException {
        checkPlace();
        try (Recording recording = recording()) {
            recording.setName("gds --report");
            recording.setMaxSize(MAX_BYTES);
            TimelineReader.events().forEach(name -> recording.enable(name).withoutStackTrace());
            recording.start();
            int status = body.run(output.told((object, text) -> {
                fields = new LinkedHashMap<>(object);
                lines = text;
                if (output.json()) {
                    finish(recording, output); // before the object is printed: if this fails, another object says so
                }
            }));
            finish(recording, output);
            return status;
        }
    }

    /** Writes the page, once. */
    private void finish(Recording recording, Output output) {
        if (recording.getState() == RecordingState.RUNNING) {
            recording.stop();
            try {
                write(timeline(recording), output);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /** Creates a recording. The flight recorder ends the process if the disk of its events is full. */
    private static Recording recording() {
        Path folder = temporaries();
        try {
            if (Files.getFileStore(folder).getUsableSpace() < MIN_FREE_BYTES) {
                throw CommandFailure.device("NO_SPACE",
                        "%s: a report needs %s there for its events; TMPDIR names another folder"
                                .formatted(folder, Units.bytes(MIN_FREE_BYTES)));
            }
            return new Recording();
        } catch (IOException | IllegalStateException e) {
            throw CommandFailure.device("IO_ERROR",
                    "%s: a report cannot keep its events there; TMPDIR names another folder"
                            .formatted(folder));
        }
    }

    private static Path temporaries() {
        return Path.of(System.getProperty("java.io.tmpdir"));
    }

    private void checkPlace() {
        OutputFile.checkPlace(file, "report");
        String name = file.toString().toLowerCase(Locale.ROOT);
        if (!name.endsWith(".html") && !name.endsWith(".htm")) {
            throw CommandFailure.usage("--report %s: a page's name ends in .html".formatted(file)); // it may be a file of data
        }
    }

    private static Timeline timeline(Recording recording) throws IOException {
        try (TemporaryFolder folder = TemporaryFolder.in(temporaries(), "gds-report-")) {
            Path dump = folder.inside("events.jfr");
            recording.dump(dump);
            return TimelineReader.read(dump);
        }
    }

    private void write(Timeline timeline, Output output) throws IOException {
        List<Path> local = subjects.stream()
                .filter(path -> path.getFileSystem().equals(FileSystems.getDefault()) && Files.exists(path))
                .toList();
        Machine machine = CheckRun.machine(local, output.environment());
        String page = new ReportPage(
                command, subjects.stream().map(Text::name).toList(), fields, lines, timeline, machine, version).html();
        OutputFile.replace(file, page.getBytes(StandardCharsets.UTF_8));
        output.note("the report is in " + Text.name(file));
    }

    /** Runs a command with or without a report. */
    public static int of(Optional<Report> report, Output output, Body body) throws IOException {
        return report.isPresent() ? report.get().of(output, body) : body.run(output);
    }
}
