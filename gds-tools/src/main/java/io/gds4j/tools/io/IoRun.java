package io.gds4j.tools.io;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DirectStorage;
import io.gds4j.statistics.IoPath;
import io.gds4j.tools.load.OpenedDriver;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.load.Targets;
import io.gds4j.tools.stats.RunStatistics;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Json;
import io.gds4j.tools.terminal.OutputMode;
import io.gds4j.tools.terminal.Terminal;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One run of {@code gds io}. */
public final class IoRun {
    private final IoArguments arguments;
    private final Terminal terminal;
    private final OutputMode mode;
    private final String schema;
    private final Map<IoPath, Long> ioPaths = new EnumMap<>(IoPath.class);
    private final List<Map<IoPath, Long>> ioPathsOfRounds = new ArrayList<>();

    private IoRun(IoArguments arguments, Terminal terminal, OutputMode mode, String schema) {
        this.arguments = arguments;
        this.terminal = terminal;
        this.mode = mode;
        this.schema = schema;
    }

    /**
     * Runs all rounds and prints the results.
     *
     * @param schema schema name of the JSON object
     */
    public static ExitStatus run(IoArguments arguments, Terminal terminal, OutputMode mode, String schema)
            throws IOException {
        return new IoRun(arguments, terminal, mode, schema).run();
    }

    private ExitStatus run() throws IOException {
        List<Targets> targets = new ArrayList<>();
        for (IoJob job : arguments.jobs()) {
            boolean hostOnly = job.transfer() == TransferType.CPU_ONLY;
            Targets target = Targets.resolve(hostOnly ? Target.HOST : job.target());
            job.kind(target.target());
            targets.add(target);
        }
        try (OpenedDriver opened = OpenedDriver.open(
                arguments.backend(), terminal.environment(), mode, this::configure)) {
            CuFileDriver driver = opened.driver();
            checkDirect(targets);
            List<List<IoResult>> rounds = new ArrayList<>();
            for (int round = 0; round < arguments.rounds(); round++) {
                rounds.add(repeat(driver, targets, round));
            }
            print(rounds, targets, opened);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while measuring", e);
        }
        return ExitStatus.DONE;
    }

    /** Refuses jobs whose bytes cannot take GPUDirect Storage although the command line requires it. */
    private void checkDirect(List<Targets> targets) {
        if (arguments.directStorage().filter(DirectStorage.REQUIRE::equals).isEmpty()) {
            return;
        }
        for (int i = 0; i < targets.size(); i++) {
            TransferType transfer = arguments.jobs().get(i).transfer();
            if (!targets.get(i).target().isGpu() || !transfer.usesApi()) {
                throw CommandFailure.device(
                        "NO_DIRECT_STORAGE",
                        "GPUDirect Storage is required, but %s; use -x 0, 5, 6 or 7 and -d GPU".formatted(
                                transfer.usesApi() ? "the target is host memory" : "-x " + transfer.ordinal()
                                        + " copies through host memory"));
            }
        }
    }

    private void configure(CuFileConfig.Builder settings) {
        arguments.directStorage().ifPresent(settings::directStorage);
        String policy = arguments.policy();
        if (policy != null) {
            settings.set(CuFileKeys.IO_POLICY, policy);
        }
        if (arguments.ioUring()) {
            settings.set(CuFileKeys.PREFER_IOURING, true);
        }
    }

    /** Measures as often as requested. Returns one result per job, each combined from all repetitions. */
    private List<IoResult> repeat(CuFileDriver driver, List<Targets> targets, int round)
            throws IOException, InterruptedException {
        ioPathsOfRounds.add(new EnumMap<>(IoPath.class));
        List<List<IoResult>> runs = new ArrayList<>();
        for (int run = 0; run < arguments.repeat(); run++) {
            runs.add(measure(driver, targets, round));
        }
        List<IoResult> results = new ArrayList<>();
        for (int i = 0; i < runs.getFirst().size(); i++) {
            int job = i;
            results.add(IoResults.repeated(runs.stream().map(run -> run.get(job)).toList()));
        }
        return results;
    }

    private List<IoResult> measure(CuFileDriver driver, List<Targets> targets, int round)
            throws IOException, InterruptedException {
        List<JobRig> rigs = new ArrayList<>();
        List<Long> sizes = new ArrayList<>();
        List<Long> dataSets = new ArrayList<>();
        try {
            for (int i = 0; i < arguments.jobs().size(); i++) {
                IoJob job = arguments.jobs().get(i);
                long size = job.sizes().ofRound(round);
                rigs.add(JobRig.of(job, arguments, driver, targets.get(i), size, i));
                sizes.add(size);
                dataSets.add(JobRig.dataSet(job));
            }
            Round measured = new Round(arguments, driver, rigs, dataSets);
            List<IoResult> results = measured.run(sizes);
            measured.ioPaths().forEach((path, bytes) -> {
                ioPaths.merge(path, bytes, Long::sum);
                ioPathsOfRounds.getLast().merge(path, bytes, Long::sum);
            });
            return results;
        } finally {
            rigs.reversed().forEach(JobRig::close);
        }
    }

    private void print(List<List<IoResult>> rounds, List<Targets> targets, OpenedDriver opened) {
        IoResult total = IoResults.afterEachOther(rounds.stream().map(List::getLast).toList());
        if (mode.json()) {
            terminal.out().println(Json.line(object(rounds, total, targets, opened)));
        } else if (arguments.gdsioFormat()) {
            for (IoResult result : shown(rounds)) {
                terminal.out().println(result.gdsioLine());
            }
        } else if (mode.table()) {
            IoJob job = total.job();
            terminal.out().println(Text.row("file", job.path() + (job.filePerThread() ? ", one per thread" : "")));
            terminal.out().println(
                    Text.row("operation", "%s, %s, %s".formatted(
                            job.operation(), Units.count(total.threads(), "thread"), job.transfer().meaning())));
            terminal.out().println(Text.row("memory", targets.getFirst().description()));
            terminal.out().println(Text.row("served by", servedBy(opened.driver())));
            terminal.out().println();
            IoResult.table(shown(rounds)).forEach(terminal.out()::println);
            if (arguments.verify()) {
                terminal.out().println();
                terminal.out()
                        .println(Text.row("verified", "every byte of " + Units.count(total.operations(), "request")
                                + "; the comparison lowers the throughput"));
            }
            RunStatistics.lines(opened.driver(), mode).forEach(terminal.out()::println);
        }
    }

    /** Returns the results of single jobs if requested, else the combined results. */
    private List<IoResult> shown(List<List<IoResult>> rounds) {
        return rounds.stream().flatMap(round -> arguments.perJob() ? round.stream() : round.stream().skip(
                round.size() - 1L)).toList();
    }

    private String servedBy(CuFileDriver driver) {
        Map<String, Long> paths = named(ioPaths);
        return paths.isEmpty()
                ? "the kernel, without gds4j"
                : driver.backendName() + ": " + paths.entrySet().stream()
                        .map(entry -> entry.getKey() + " " + Units.bytes(entry.getValue()))
                        .collect(Collectors.joining(", "));
    }

    /** Names the I/O paths of bytes that gds4j moved in measurements; without warm-ups. */
    private static Map<String, Long> named(Map<IoPath, Long> ioPaths) {
        Map<String, Long> paths = new LinkedHashMap<>();
        for (IoPath path : IoPath.values()) {
            long bytes = ioPaths.getOrDefault(path, 0L);
            if (bytes > 0) {
                paths.put(path.name(), bytes);
            }
        }
        return paths;
    }

    private Map<String, @Nullable Object> object(
            List<List<IoResult>> rounds, IoResult total, List<Targets> targets, OpenedDriver opened) {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        object.put("schema", schema);
        object.putAll(total.toJson());
        object.put("path", total.job().path().toString());
        object.put("target", targets.getFirst().target().toString());
        object.put("backend", opened.driver().backendName());
        object.put("driverOpenSeconds", opened.seconds());
        object.put("ioPaths", named(ioPaths));
        object.put("peakStagingBytes", opened.driver().peakStagingBytes());
        object.put("ioUring", opened.driver().statistics().engine().ioUring());
        object.put("cache", arguments.cache().name().toLowerCase(Locale.ROOT));
        object.put("verified", arguments.verify() ? true : null);
        object.put("seed", arguments.seed());
        List<Map<String, @Nullable Object>> results = new ArrayList<>();
        for (int i = 0; i < rounds.size(); i++) {
            Map<String, @Nullable Object> result = rounds.get(i).getLast().toJson();
            result.put("ioPaths", named(ioPathsOfRounds.get(i)));
            results.add(result);
        }
        object.put("results", results);
        if (arguments.perJob()) {
            object.put("jobs", rounds.stream().flatMap(List::stream).filter(result -> !result.name().equals("all"))
                    .map(IoRun::job).toList());
        }
        RunStatistics.add(object, opened.driver(), mode);
        return object;
    }

    private static Map<String, @Nullable Object> job(IoResult result) {
        Map<String, @Nullable Object> fields = new LinkedHashMap<>();
        fields.put("job", result.name());
        fields.putAll(result.toJson());
        return fields;
    }
}
