package io.gds4j.tools.io;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.config.DirectStorage;
import io.gds4j.statistics.IoPath;
import io.gds4j.tools.io.IoJob.TransferType;
import io.gds4j.tools.load.OpenedDriver;
import io.gds4j.tools.load.PathBytes;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.load.Targets;
import io.gds4j.tools.stats.RunStatistics;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Fields;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** One run of {@code gds io}. */
public final class IoRun {
    private final Arguments arguments;
    private final Output output;
    private final Map<IoPath, Long> ioPaths = new EnumMap<>(IoPath.class);
    private final WrittenFiles written;
    private final List<Map<IoPath, Long>> ioPathsOfRounds = new ArrayList<>();

    private IoRun(Arguments arguments, Output output) {
        this.arguments = arguments;
        this.output = output;
        this.written = new WrittenFiles(arguments.overwrite());
    }

    /**
     * Runs all rounds and prints the results.
     */
    public static ExitStatus run(Arguments arguments, Output output)
            throws IOException {
        IoRun run = new IoRun(arguments, output);
        try (run.written) {
            return run.run();
        }
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
                arguments.backend(), output, this::configure)) {
            CuFileDriver driver = opened.driver();
            checkDirect(targets);
            List<List<JobResult>> rounds = new ArrayList<>();
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
    private List<JobResult> repeat(CuFileDriver driver, List<Targets> targets, int round)
            throws IOException, InterruptedException {
        ioPathsOfRounds.add(new EnumMap<>(IoPath.class));
        List<List<JobResult>> runs = new ArrayList<>();
        for (int run = 0; run < arguments.repeat(); run++) {
            runs.add(measure(driver, targets, round));
        }
        List<JobResult> results = new ArrayList<>();
        for (int i = 0; i < runs.getFirst().size(); i++) {
            int job = i;
            results.add(JobResults.repeated(runs.stream().map(run -> run.get(job)).toList()));
        }
        return results;
    }

    private List<JobResult> measure(CuFileDriver driver, List<Targets> targets, int round)
            throws IOException, InterruptedException {
        List<JobRig> rigs = new ArrayList<>();
        List<Long> sizes = new ArrayList<>();
        List<Long> dataSets = new ArrayList<>();
        try {
            for (int i = 0; i < arguments.jobs().size(); i++) {
                IoJob job = arguments.jobs().get(i);
                long size = job.sizes().ofRound(round);
                rigs.add(JobRig.of(job, arguments, driver, targets.get(i), size, i, written));
                sizes.add(size);
                dataSets.add(JobRig.dataSet(job));
            }
            Round measured = new Round(arguments, driver, rigs, dataSets);
            List<JobResult> results = measured.run(sizes);
            measured.ioPaths().forEach((path, bytes) -> {
                ioPaths.merge(path, bytes, Long::sum);
                ioPathsOfRounds.getLast().merge(path, bytes, Long::sum);
            });
            return results;
        } finally {
            rigs.reversed().forEach(JobRig::close);
        }
    }

    private void print(List<List<JobResult>> rounds, List<Targets> targets, OpenedDriver opened) {
        JobResult total = JobResults.afterEachOther(rounds.stream().map(List::getLast).toList());
        if (arguments.gdsioFormat() && !output.json()) {
            List<String> lines = shown(rounds).stream().map(JobResult::gdsioLine).toList();
            output.tell(object -> add(object, rounds, total, targets, opened), () -> lines);
            lines.forEach(output.terminal().out()::println);
            return;
        }
        RunStatistics.print(output, opened.driver(), object -> add(object, rounds, total, targets, opened), () -> {
            IoJob job = total.job();
            List<String> lines = new ArrayList<>();
            lines.add(Text.row("file", Text.name(job.path()) + (job.filePerThread() ? ", one per thread" : "")));
            lines.add(Text.row("operation", "%s, %s, %s".formatted(
                    job.operation(), Units.count(total.threads(), "thread"), job.transfer().meaning())));
            lines.add(Text.row("memory", targets.getFirst().description()));
            lines.add(Text.row("served by", ioPaths.isEmpty() ? "the kernel, without gds4j"
                    : PathBytes.text(opened.driver().backendName(), ioPaths)));
            lines.add("");
            lines.addAll(JobResult.table(shown(rounds), output.terminal().resultColumns()));
            if (arguments.verify()) {
                lines.add("");
                lines.add(Text.row("verified", "every byte of " + Units.count(total.operations(), "request")
                        + "; the comparison lowers the throughput"));
            }
            return lines;
        });
    }

    /** Returns the results of single jobs if requested, else the combined results. */
    private List<JobResult> shown(List<List<JobResult>> rounds) {
        return rounds.stream().flatMap(round -> arguments.perJob() ? round.stream() : round.stream().skip(
                round.size() - 1L)).toList();
    }

    private void add(
            Map<String, @Nullable Object> object, List<List<JobResult>> rounds, JobResult total, List<Targets> targets,
            OpenedDriver opened) {
        object.putAll(total.toJson());
        object.put("path", total.job().path().toString());
        object.put("target", targets.getFirst().target().toString());
        object.put("backend", opened.driver().backendName());
        object.put("driverOpenSeconds", opened.seconds());
        object.put("ioPaths", PathBytes.of(ioPaths));
        object.put("peakStagingBytes", opened.driver().peakStagingBytes());
        object.put("ioUring", opened.driver().statistics().engine().ioUring());
        object.put("cache", arguments.cache().name().toLowerCase(Locale.ROOT));
        object.put("verified", arguments.verify() ? true : null);
        object.put("seed", arguments.seed());
        List<Map<String, @Nullable Object>> results = new ArrayList<>();
        for (int i = 0; i < rounds.size(); i++) {
            Map<String, @Nullable Object> result = rounds.get(i).getLast().toJson();
            result.put("ioPaths", PathBytes.of(ioPathsOfRounds.get(i)));
            results.add(result);
        }
        object.put("results", results);
        if (arguments.perJob()) {
            object.put("jobs", rounds.stream().flatMap(List::stream).filter(result -> !result.name().equals("all"))
                    .map(IoRun::job).toList());
        }
    }

    private static Map<String, @Nullable Object> job(JobResult result) {
        return Fields.of("job", result.name())
                .andAll(result.toJson()).map();
    }

    /** How {@code gds io} prepares the page cache between warm-up and measurement. */
    public enum CacheState {
        /** Leaves the page cache unchanged. */
        AS_IS,
        /** Writes the file's pages back and drops them. */
        COLD,
        /** Reads the file once. */
        HOT,
        /** Reads the file once, then drops the second half of the used range. */
        MIXED
    }

    /**
     * Arguments of {@code gds io}.
     *
     * @param jobs jobs, which all run at the same time
     * @param backend auto, compat or libcufile
     * @param directStorage whether GPUDirect Storage may or must serve; empty if the configuration decides
     * @param seconds duration; null for one pass
     * @param warmUpSeconds duration of the warm-up
     * @param cache how to prepare the page cache
     * @param fresh whether to release the pages of host memory before the measurement
     * @param verify whether to compare bytes with a pattern
     * @param seed seed of random values and of the pattern
     * @param perJob whether to show each job separately
     * @param gdsioFormat whether to print gdsio's output line
     * @param policy auto, direct or buffered; null for the configured value
     * @param ioUring whether to prefer io_uring for batches
     * @param repeat number of repetitions of each measurement
     * @param overwrite whether jobs may write to files that gds did not make
     */
    public record Arguments(
            List<IoJob> jobs,
            String backend,
            Optional<DirectStorage> directStorage,
            @Nullable Double seconds,
            double warmUpSeconds,
            CacheState cache,
            boolean fresh,
            boolean verify,
            long seed,
            boolean perJob,
            boolean gdsioFormat,
            @Nullable String policy,
            boolean ioUring,
            int repeat,
            boolean overwrite) {
        public Arguments {
            jobs = List.copyOf(jobs);
        }

        /** Number of rounds: the length of the longest series of sizes. */
        int rounds() {
            return jobs.stream().mapToInt(job -> job.sizes().sizes().size()).max().orElse(0);
        }
    }
}
