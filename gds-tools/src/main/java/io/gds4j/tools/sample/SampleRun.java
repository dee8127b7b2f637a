package io.gds4j.tools.sample;

import io.gds4j.samples.SampleArguments;
import io.gds4j.samples.SampleResult;
import io.gds4j.samples.Samples;
import io.gds4j.samples.Samples.Named;
import io.gds4j.tools.load.OpenedDriver;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ErrorReport;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Fields;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.TemporaryFolder;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One run of {@code gds sample}.
 *
 * @param names samples to run
 * @param list whether to list the samples instead
 * @param all whether to run all samples
 * @param options options of the samples, alternating names and values
 * @param dir folder for the files, null for the default
 * @param output where results go
 */
public record SampleRun(
        List<String> names, boolean list, boolean all, List<String> options, @Nullable Path dir, Output output) {
    /** Copies the lists. */
    public SampleRun {
        names = List.copyOf(names);
        options = List.copyOf(options);
    }

    /** Lists or runs samples. */
    public ExitStatus run() throws IOException, InterruptedException {
        if (list) {
            printNames();
            return ExitStatus.DONE;
        }
        List<Named> chosen = chosen();
        Path parent = TemporaryFolder.parent(dir).toAbsolutePath();
        OpenedDriver.require(arguments(parent, new ArrayList<>()).backend(), output.environment());
        List<Outcome> outcomes = new ArrayList<>();
        for (Named sample : chosen) {
            outcomes.add(run(sample, parent));
        }
        boolean several = all || chosen.size() > 1;
        output.print(object -> {
            if (several) {
                object.put("verified", outcomes.stream().allMatch(Outcome::verified));
                object.put("samples", outcomes.stream().map(SampleRun::fields).toList());
            } else {
                object.putAll(fields(outcomes.getFirst()));
            }
        }, () -> several ? summary(outcomes) : List.of());
        return status(outcomes);
    }

    private List<Named> chosen() {
        if (all) {
            return Samples.all();
        }
        if (names.isEmpty()) {
            throw CommandFailure.usage("no sample given: name one or use --all; gds sample --list shows the samples");
        }
        return names.stream().map(SampleRun::named).toList();
    }

    private static Named named(String name) {
        return Samples.named(name).orElseThrow(() -> CommandFailure.usage(
                "there is no sample '%s'; gds sample --list shows the samples".formatted(Text.oneLine(name))));
    }

    private Outcome run(Named sample, Path parent) throws IOException, InterruptedException {
        output.say("%s: %s".formatted(sample.name(), sample.summary()));
        List<String> lines = new ArrayList<>();
        Outcome outcome;
        try (TemporaryFolder folder = TemporaryFolder.in(parent, "gds-sample-");
                CountingDrivers drivers = new CountingDrivers(output)) {
            SampleResult result = sample.sample().run(drivers.with(sample, arguments(folder.inside(""), lines)));
            outcome = new Outcome(sample, lines, drivers.objects(), result, null);
            result.lines().forEach(line -> output.say("  " + line));
            drivers.lines().forEach(line -> output.say(line.isEmpty() ? line : "  " + line));
        } catch (IOException | RuntimeException e) {
            ErrorReport report = ErrorReport.of(e);
            if (!all || report.status() == ExitStatus.INTERNAL_ERROR) {
                throw e;
            }
            outcome = new Outcome(sample, lines, Map.of(), null, report);
            output.warn(sample.name() + ": " + report.message());
        }
        output.say("");
        return outcome;
    }

    private SampleArguments arguments(Path folder, List<String> lines) {
        return arguments(folder, options, line -> {
            lines.add(line);
            output.say("  " + line);
        });
    }

    /** Reads options of a sample as those of the command line. */
    static SampleArguments arguments(Path folder, List<String> options, Consumer<String> listener) {
        try {
            return SampleArguments.read(folder, listener, options.toArray(String[]::new));
        } catch (IllegalArgumentException e) {
            throw CommandFailure.usage(e.getMessage());
        }
    }

    private static ExitStatus status(List<Outcome> outcomes) {
        for (Outcome outcome : outcomes) {
            if (outcome.failure() != null) {
                return outcome.failure().status();
            }
        }
        boolean verified = outcomes.stream().allMatch(Outcome::verified);
        return verified ? ExitStatus.DONE : ExitStatus.DIFFERENCE;
    }

    private void printNames() {
        output.print(
                object -> object.put("samples", Samples.all().stream().map(SampleRun::description).toList()),
                () -> Text.table(Samples.all().stream()
                        .map(sample -> List.of(sample.name(), sample.summary()))
                        .toList(), false, false));
    }

    private static List<String> summary(List<Outcome> outcomes) {
        List<List<String>> rows = new ArrayList<>();
        for (Outcome outcome : outcomes) {
            SampleResult result = outcome.result();
            rows.add(List.of(
                    outcome.sample().name(),
                    result == null ? "" : Units.bytes(result.bytes()),
                    result == null ? "" : Units.rate(result.bytesPerSecond()),
                    result == null ? "failed" : result.verified() ? "verified" : "DIFFERENT"));
        }
        return Text.table(rows, false, true, true, false);
    }

    private static Map<String, @Nullable Object> description(Named sample) {
        return Fields.of("name", sample.name())
                .and("summary", sample.summary())
                .and("topics", sample.topics())
                .and("program", sample.program().getName()).map();
    }

    private static Map<String, @Nullable Object> fields(Outcome outcome) {
        Map<String, @Nullable Object> fields = description(outcome.sample());
        SampleResult result = outcome.result();
        if (result != null) {
            fields.put("bytes", result.bytes());
            fields.put("seconds", result.seconds());
            fields.put("bytesPerSecond", result.bytesPerSecond());
            fields.put("verified", result.verified());
            fields.put("ioPaths", result.paths());
            fields.put("lesson", result.lesson());
        }
        fields.put("lines", outcome.lines());
        outcome.counted().values().forEach(stats -> fields.put("stats", stats));
        if (outcome.failure() != null) {
            fields.put("error", outcome.failure().message());
        }
        return fields;
    }

    /**
     * Outcome of a sample.
     *
     * @param sample the sample
     * @param lines lines that it printed
     * @param counted statistics of its driver, under its name; empty without {@code --stats}
     * @param result its result; null if it failed
     * @param failure its failure; null if it succeeded
     */
    private record Outcome(
            Named sample,
            List<String> lines,
            Map<String, @Nullable Object> counted,
            @Nullable SampleResult result,
            @Nullable ErrorReport failure) {
        Outcome {
            lines = List.copyOf(lines);
        }

        boolean verified() {
            return result != null && result.verified();
        }
    }
}
