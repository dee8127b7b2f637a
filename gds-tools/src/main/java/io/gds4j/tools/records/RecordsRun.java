package io.gds4j.tools.records;

import io.gds4j.CuFileDriver;
import io.gds4j.dataset.LoaderReport;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.statistics.IoPath;
import io.gds4j.tools.load.OpenedDriver;
import io.gds4j.tools.load.Targets;
import io.gds4j.tools.stats.RunStatistics;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Json;
import io.gds4j.tools.terminal.OutputMode;
import io.gds4j.tools.terminal.Progress;
import io.gds4j.tools.terminal.Terminal;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.math.BigInteger;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Runs {@code gds records}. */
public final class RecordsRun {
    private static final long DEFAULT_MEMORY = 256L << 20;
    /** Fewest batches in memory: one is with the consumer while another is read. */
    private static final long FEWEST_BATCHES = 2;
    private static final long PAGE = 4096;
    private static final double NANOS = 1e9;

    private final RecordsArguments arguments;
    private final Terminal terminal;
    private final OutputMode mode;
    private final String schema;

    /** What was read, in all and in the warm-up. */
    private record Outcome(LoaderReport report, LoaderReport warmUp, long position, BigInteger recordSum,
            String orderDigest) {
        private double perSecond(long all, long before) {
            double seconds = report.seconds() - warmUp.seconds();
            return seconds > 0 ? (all - before) / seconds : 0;
        }

        double bytesPerSecond() {
            return perSecond(report.bytes(), warmUp.bytes());
        }

        double recordsPerSecond() {
            return perSecond(report.records(), warmUp.records());
        }
    }

    private RecordsRun(RecordsArguments arguments, Terminal terminal, OutputMode mode, String schema) {
        this.arguments = arguments;
        this.terminal = terminal;
        this.mode = mode;
        this.schema = schema;
    }

    /** Reads all records and prints the result. */
    public static ExitStatus run(RecordsArguments arguments, Terminal terminal, OutputMode mode, String schema) {
        return new RecordsRun(arguments, terminal, mode, schema).run();
    }

    private ExitStatus run() {
        RecordSource source = arguments.record() == null
                ? RecordFiles.open(arguments.paths())
                : RecordFiles.fixed(arguments.paths(), arguments.header(), arguments.record());
        Targets target = Targets.resolve(arguments.target());
        try (OpenedDriver opened = OpenedDriver.open(arguments.backend(), terminal.environment(), mode)) {
            CuFileDriver driver = opened.driver();
            Outcome outcome = read(driver, source, target);
            if (mode.json()) {
                terminal.out().println(Json.line(object(opened, source, target, outcome)));
            } else if (mode.table()) {
                print(driver, source, target, outcome);
            }
        }
        return ExitStatus.DONE;
    }

    private Outcome read(CuFileDriver driver, RecordSource source, Targets target) {
        long memory = memory(source);
        target.checkRoom(driver.allocator(), memory);
        RecordLoader.Builder builder = RecordLoader.builder(driver, source, arguments.batch())
                .order(arguments.order())
                .epochs(arguments.epochs())
                .share(arguments.share())
                .remainder(arguments.remainder())
                .onError(arguments.policy())
                .resumeAt(arguments.resumeAt())
                .memory(memory)
                .target(target.target().kind(), Math.max(0, target.target().device()));
        if (arguments.readers() != null) {
            builder.readers(arguments.readers());
        }
        try (RecordSums checks = new RecordSums(
                driver.allocator(),
                target.target().isGpu(),
                Math.min(memory, batchBytes(source)),
                arguments.batch());
                RecordLoader loader = builder.open();
                Progress progress = mode.start(terminal, "reading", bytes(loader, source))) {
            long begun = System.nanoTime();
            LoaderReport warm = loader.report();
            boolean isWarm = arguments.warmUp() == 0;
            while (loader.hasNext() && seconds(begun) < arguments.warmUp() + arguments.seconds()) {
                checks.add(loader.next());
                LoaderReport now = loader.report();
                if (!isWarm && seconds(begun) >= arguments.warmUp()) {
                    isWarm = true;
                    warm = now;
                }
                progress.advanceTo(now.bytes());
            }
            return new Outcome(loader.report(), warm, loader.position(), checks.recordSum(), checks.orderDigest());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while reading", e);
        }
    }

    private static double seconds(long begun) {
        return (System.nanoTime() - begun) / NANOS;
    }

    /** Returns the bytes to come, for the progress: exact for records of one length. */
    private static long bytes(RecordLoader loader, RecordSource source) {
        long records = loader.end();
        long most = source.maxLength();
        return most == 0 || records <= Long.MAX_VALUE / most ? records * most : Long.MAX_VALUE;
    }

    private long batchBytes(RecordSource source) {
        long longest = Math.max(1, source.maxLength());
        return longest > Long.MAX_VALUE / 4 / arguments.batch() ? Long.MAX_VALUE / 4 : longest * arguments.batch();
    }

    /** Returns the bound of the memory: what the user says, or at least two batches. */
    private long memory(RecordSource source) {
        long batch = source.isFixedLength() ? batchBytes(source) : Math.max(1, source.maxLength());
        long least = FEWEST_BATCHES * ((batch + PAGE - 1) / PAGE * PAGE);
        Long asked = arguments.memory();
        if (asked != null && asked < least) {
            throw CommandFailure.usage("--memory %d is less than two batches of whole pages: %d bytes".formatted(
                    asked, least));
        }
        return asked != null ? asked : Math.max(DEFAULT_MEMORY, least);
    }

    private Map<String, @Nullable Object> object(
            OpenedDriver opened, RecordSource source, Targets target, Outcome outcome) {
        LoaderReport report = outcome.report();
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        object.put("schema", schema);
        object.put("files", source.files().size());
        object.put("recordsPerEpoch", source.records());
        object.put("records", report.records());
        object.put("bytes", report.bytes());
        object.put("seconds", report.seconds());
        object.put("bytesPerSecond", Math.round(outcome.bytesPerSecond()));
        object.put("recordsPerSecond", Math.round(outcome.recordsPerSecond()));
        object.put("batches", report.batches());
        object.put("skipped", report.skipped());
        object.put("position", outcome.position());
        object.put("recordSum", outcome.recordSum());
        object.put("orderDigest", outcome.orderDigest());
        object.put("waitingForDataSeconds", report.waitingForDataSeconds());
        object.put("waitingForConsumerSeconds", report.waitingForConsumerSeconds());
        object.put("memoryBytes", report.memoryBytes());
        object.put("driverOpenSeconds", opened.seconds());
        object.put("target", target.target().toString());
        object.put("backend", opened.driver().backendName());
        object.put("ioPaths", paths(opened.driver()));
        object.put("peakStagingBytes", opened.driver().peakStagingBytes());
        RunStatistics.add(object, opened.driver(), mode);
        return object;
    }

    private static Map<String, Long> paths(CuFileDriver driver) {
        Map<String, Long> paths = new LinkedHashMap<>();
        Map<IoPath, Long> counted = driver.bytesByPath();
        for (IoPath path : IoPath.values()) {
            long bytes = counted.getOrDefault(path, 0L);
            if (bytes > 0) {
                paths.put(path.name(), bytes);
            }
        }
        return paths;
    }

    private void print(CuFileDriver driver, RecordSource source, Targets target, Outcome outcome) {
        LoaderReport report = outcome.report();
        terminal.out().println(Text.row("data set", "%s, %s in %s".formatted(
                arguments.paths().getFirst(),
                Units.count(source.records(), "record"),
                Units.count(source.files().size(), "file"))));
        terminal.out().println(Text.row("target", target.description()));
        terminal.out().println();
        terminal.out().println(Text.row("read", "%s in %s, %s".formatted(
                Units.count(report.records(), "record"),
                Units.count(report.batches(), "batch").replace("batchs", "batches"),
                Units.bytes(report.bytes()))));
        terminal.out().println(Text.row("in", "%s   %s, %,d records/s".formatted(
                Units.seconds(report.seconds()),
                Units.rate(outcome.bytesPerSecond()),
                Math.round(outcome.recordsPerSecond()))));
        terminal.out().println(Text.row("waiting", "%s for data, %s for the consumer".formatted(
                Units.seconds(report.waitingForDataSeconds()), Units.seconds(report.waitingForConsumerSeconds()))));
        terminal.out().println(Text.row("memory", Units.bytes(report.memoryBytes()) + " of buffers"));
        terminal.out().println();
        terminal.out().println(Text.row("record sum", outcome.recordSum().toString()));
        terminal.out().println(Text.row("order", outcome.orderDigest()));
        RunStatistics.lines(driver, mode).forEach(terminal.out()::println);
    }
}
