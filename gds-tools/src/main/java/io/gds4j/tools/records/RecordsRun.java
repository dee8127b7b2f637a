package io.gds4j.tools.records;

import io.gds4j.CuFileDriver;
import io.gds4j.dataset.LoaderReport;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.tools.load.OpenedDriver;
import io.gds4j.tools.load.PathBytes;
import io.gds4j.tools.load.Targets;
import io.gds4j.tools.stats.RunStatistics;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Progress;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.math.BigInteger;
import java.nio.file.FileVisitOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Runs {@code gds records}. */
public final class RecordsRun {
    private static final long DEFAULT_MEMORY = 256L << 20;
    /** Fewest batches in memory: one is with the consumer while another is read. */
    private static final long MIN_BATCHES = 2;
    private static final long PAGE = 4096;
    private static final double NANOS = 1e9;

    private final RecordsArguments arguments;
    private final Output output;

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

    private RecordsRun(RecordsArguments arguments, Output output) {
        this.arguments = arguments;
        this.output = output;
    }

    /** Reads all records and prints the result. */
    public static ExitStatus run(RecordsArguments arguments, Output output) {
        return new RecordsRun(arguments, output).run();
    }

    private ExitStatus run() {
        RecordSource source = arguments.record() == null
                ? RecordFiles.open(arguments.paths(), arguments.links().toArray(FileVisitOption[]::new))
                : RecordFiles.fixed(arguments.paths(), arguments.header(), arguments.record());
        Targets target = Targets.resolve(arguments.target());
        try (OpenedDriver opened = OpenedDriver.open(arguments.backend(), output)) {
            CuFileDriver driver = opened.driver();
            Outcome outcome = read(driver, source, target);
            output.print(object -> add(object, opened, source, target, outcome),
                    () -> lines(driver, source, target, outcome));
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
                Progress progress = output.start("reading", bytes(loader, source))) {
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
        long least = MIN_BATCHES * ((batch + PAGE - 1) / PAGE * PAGE);
        Long asked = arguments.memory();
        if (asked != null && asked < least) {
            throw CommandFailure.usage("--memory %s is less than two batches of whole pages: %s bytes".formatted(
                    asked, least));
        }
        return asked != null ? asked : Math.max(DEFAULT_MEMORY, least);
    }

    private void add(
            Map<String, @Nullable Object> object, OpenedDriver opened, RecordSource source, Targets target,
            Outcome outcome) {
        LoaderReport report = outcome.report();
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
        object.put("ioPaths", PathBytes.of(opened.driver().bytesByPath()));
        object.put("peakStagingBytes", opened.driver().peakStagingBytes());
        RunStatistics.add(object, opened.driver(), output);
    }

    private List<String> lines(CuFileDriver driver, RecordSource source, Targets target, Outcome outcome) {
        LoaderReport report = outcome.report();
        List<String> lines = new ArrayList<>();
        lines.add(Text.row("data set", "%s, %s in %s".formatted(
                arguments.paths().getFirst(),
                Units.count(source.records(), "record"),
                Units.count(source.files().size(), "file"))));
        lines.add(Text.row("target", target.description()));
        lines.add("");
        lines.add(Text.row("read", "%s in %s, %s".formatted(
                Units.count(report.records(), "record"),
                Units.count(report.batches(), "batch").replace("batchs", "batches"),
                Units.bytes(report.bytes()))));
        lines.add(Text.row("in", String.format(
                Locale.ROOT,
                "%s   %s, %,d records/s",
                Units.seconds(report.seconds()),
                Units.rate(outcome.bytesPerSecond()),
                Math.round(outcome.recordsPerSecond()))));
        lines.add(Text.row("waiting", "%s for data, %s for the consumer".formatted(
                Units.seconds(report.waitingForDataSeconds()), Units.seconds(report.waitingForConsumerSeconds()))));
        lines.add(Text.row("memory", Units.bytes(report.memoryBytes()) + " of buffers"));
        lines.add("");
        lines.add(Text.row("record sum", outcome.recordSum().toString()));
        lines.add(Text.row("order", outcome.orderDigest()));
        lines.addAll(RunStatistics.lines(driver, output));
        return lines;
    }
}
