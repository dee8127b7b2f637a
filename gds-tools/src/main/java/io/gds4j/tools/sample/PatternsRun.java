package io.gds4j.tools.sample;

import io.gds4j.samples.SampleArguments;
import io.gds4j.samples.SampleResult;
import io.gds4j.samples.Samples;
import io.gds4j.samples.Samples.Named;
import io.gds4j.statistics.IoPath;
import io.gds4j.tools.load.OpenedDriver;
import io.gds4j.tools.plot.ChartFile;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Progress;
import io.gds4j.tools.terminal.TemporaryFolder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One run of {@code gds patterns}. Runs the programs of the samples: all patterns in turn for each size and round, so
 * that all run under the same conditions.
 */
public final class PatternsRun {
    private final Arguments arguments;
    private final Output output;
    private final List<Named> patterns;
    private final Map<String, SortedMap<Long, List<Double>>> seconds = new LinkedHashMap<>();
    private final Map<String, Long> bytes = new LinkedHashMap<>();
    private final Map<String, SortedMap<Long, SortedMap<String, Long>>> moved = new LinkedHashMap<>();
    /** What the driver of a pattern had counted after its last run. */
    private final Map<String, Map<IoPath, Long>> counters = new LinkedHashMap<>();
    private final Set<IoPath> paths = EnumSet.noneOf(IoPath.class);
    private boolean verified = true;

    /**
     * Prepares a run.
     */
    public PatternsRun(Arguments arguments, Output output) {
        this.arguments = arguments;
        this.output = output;
        this.patterns = arguments.patterns().stream().map(PatternsRun::pattern).toList();
    }

    private static Named pattern(int number) {
        return Samples.named("pattern-" + number)
                .orElseThrow(() -> CommandFailure.usage("there is no pattern %s: allowed is 1 to 7".formatted(number)));
    }

    /** Returns the request sizes for a pattern: the batch pattern uses only small requests. */
    private List<Long> sizes(Named pattern) {
        List<Long> sizes = arguments.ioSizes().stream().filter(size -> size <= pattern.mostIoSize()).toList();
        if (sizes.isEmpty()) {
            throw CommandFailure.usage("pattern 6 uses small requests: --io must start at 64K or less");
        }
        return sizes;
    }

    /** Measures or reads a result, prints it and draws the chart. */
    public ExitStatus run() throws IOException, InterruptedException {
        if (arguments.output() != null) {
            ChartFile.isSvg(arguments.output()); // fails before the measurement, not after it
        }
        try (CountingDrivers drivers = new CountingDrivers(output)) {
            return run(drivers);
        }
    }

    private ExitStatus run(CountingDrivers drivers) throws IOException, InterruptedException {
        PatternsResult result = arguments.from() == null ? measured(drivers) : PatternsResult.read(arguments.from());
        if (arguments.output() != null) {
            ChartFile.write(arguments.output(), result::chart);
        }
        output.print(object -> {
            object.putAll(result.fields());
            object.put("chart", arguments.output() == null ? null : arguments.output().toString());
            if (output.statistics()) {
                object.put("stats", drivers.objects());
            }
        }, () -> {
            List<String> lines = new ArrayList<>(result.table());
            if (arguments.output() != null) {
                lines.add("  chart: " + arguments.output());
            }
            lines.addAll(drivers.lines());
            return lines;
        });
        return result.verified() ? ExitStatus.DONE : ExitStatus.DIFFERENCE;
    }

    private PatternsResult measured(CountingDrivers drivers) throws IOException, InterruptedException {
        measure(drivers);
        List<PatternsResult.Point> points = new ArrayList<>();
        for (Named pattern : patterns) {
            for (long ioSize : sizes(pattern)) {
                List<Double> runs = seconds.get(pattern.name()).get(ioSize);
                points.add(new PatternsResult.Point(
                        pattern.name(), ioSize, bytes.get(pattern.name()) / median(runs), runs,
                        moved.get(pattern.name()).get(ioSize)));
            }
        }
        return new PatternsResult(
                arguments.size(), arguments.rounds(), paths.stream().map(IoPath::name).toList(), verified, points);
    }

    private void measure(CountingDrivers drivers) throws IOException, InterruptedException {
        Path parent = TemporaryFolder.parent(arguments.dir()).toAbsolutePath();
        OpenedDriver.require(arguments(parent, arguments.options()).backend(), output.environment());
        long runs = (long) arguments.rounds() * patterns.stream().mapToInt(pattern -> sizes(pattern).size()).sum();
        try (Progress progress = output.start("patterns", runs * arguments.size())) {
            long done = 0;
            for (int round = 0; round <= arguments.rounds(); round++) {
                for (long ioSize : round == 0 ? arguments.ioSizes().subList(0, 1) : arguments.ioSizes()) {
                    for (Named pattern : patterns) {
                        if (!sizes(pattern).contains(ioSize)) {
                            continue;
                        }
                        measure(drivers, parent, pattern, ioSize, round > 0);
                        done += round > 0 ? arguments.size() : 0; // the first round warms up the JVM
                        progress.advanceTo(done);
                    }
                }
            }
        }
    }

    private void measure(
            CountingDrivers drivers, Path parent, Named pattern, long ioSize, boolean counts)
            throws IOException, InterruptedException {
        List<String> options = new ArrayList<>(arguments.options());
        options.addAll(List.of("--size", Long.toString(arguments.size()), "--io", Long.toString(ioSize)));
        try (TemporaryFolder folder = TemporaryFolder.in(parent, "gds-patterns-")) {
            SampleArguments read = arguments(folder.inside(""), options);
            SampleResult result = pattern.sample().run(drivers.with(pattern, read));
            verified &= result.verified();
            Map<IoPath, Long> byRun = ofThisRun(pattern, result.paths());
            if (counts) {
                SortedMap<String, Long> byPath = moved.computeIfAbsent(pattern.name(), name -> new TreeMap<>())
                        .computeIfAbsent(ioSize, size -> new TreeMap<>());
                byRun.forEach((path, count) -> {
                    if (count > 0) {
                        paths.add(path);
                        byPath.merge(path.name(), count, Long::sum);
                    }
                });
                bytes.put(pattern.name(), result.bytes());
                seconds.computeIfAbsent(pattern.name(), name -> new TreeMap<>())
                        .computeIfAbsent(ioSize, size -> new ArrayList<>())
                        .add(result.seconds());
            }
        }
    }

    /** Returns the bytes of a run. Under {@code --stats} the runs of a pattern share a driver, which counts all of them. */
    private Map<IoPath, Long> ofThisRun(Named pattern, Map<IoPath, Long> counted) {
        Map<IoPath, Long> earlier = output.statistics() ? counters.put(pattern.name(), counted) : null;
        if (earlier == null) {
            return counted;
        }
        Map<IoPath, Long> run = new EnumMap<>(IoPath.class);
        counted.forEach((path, count) -> run.put(path, count - earlier.getOrDefault(path, 0L)));
        return run;
    }

    private static SampleArguments arguments(Path folder, List<String> options) {
        return SampleRun.arguments(folder, options, line -> {
            // ignores the sample's text output
        });
    }

    private static double median(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted.get(middle) : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }

    /**
     * Arguments of {@code gds patterns}.
     *
     * @param patterns numbers of the patterns
     * @param size bytes that each run moves
     * @param ioSizes request sizes in bytes, one per point of the chart
     * @param rounds runs per point, which reports their median
     * @param options further options of the samples, alternating names and values
     * @param dir folder for files, null for the default
     * @param from result of an earlier run to show; null to measure
     * @param output file of the chart, null for none
     */
    public record Arguments(
            List<Integer> patterns,
            long size,
            List<Long> ioSizes,
            int rounds,
            List<String> options,
            @Nullable Path dir,
            @Nullable Path from,
            @Nullable Path output) {
        public Arguments {
            patterns = List.copyOf(patterns);
            ioSizes = List.copyOf(ioSizes);
            options = List.copyOf(options);
        }
    }
}
