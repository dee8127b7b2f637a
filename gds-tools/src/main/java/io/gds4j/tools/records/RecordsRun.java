package io.gds4j.tools.records;

import io.gds4j.CuFileDriver;
import io.gds4j.dataset.ErrorPolicy;
import io.gds4j.dataset.LoaderReport;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.RecordOrder;
import io.gds4j.dataset.Remainder;
import io.gds4j.dataset.Share;
import io.gds4j.dataset.source.RecordFiles;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.internal.file.Pages;
import io.gds4j.tools.load.OpenedDriver;
import io.gds4j.tools.load.PathBytes;
import io.gds4j.tools.load.Target;
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
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One run of {@code gds records}.
 *
 * @param paths the files, one data set
 * @param links whether indexes beside the files may be links to anywhere
 * @param record bytes of a record; null if the names tell the format
 * @param header bytes in front of the first record of each file
 * @param batch records of a batch
 * @param order order of the records
 * @param epochs number of epochs
 * @param share rank and number of ranks
 * @param remainder what happens to records that do not fill whole batches
 * @param policy what happens to records that cannot be read
 * @param resumeAt position of the first record
 * @param warmUp seconds that the rates leave out
 * @param seconds most time after that; infinite for no limit
 * @param memory most bytes of all buffers; null for as many as the batch needs
 * @param readers number of threads that read; null for the loader's choice
 * @param target memory of the records; null for gpu:0 if there is a GPU, else the host
 * @param backend auto, compat or libcufile
 * @param output where the result goes
 */
public record RecordsRun(
        List<Path> paths,
        List<FileVisitOption> links,
        @Nullable Long record,
        long header,
        int batch,
        RecordOrder order,
        long epochs,
        Share share,
        Remainder remainder,
        ErrorPolicy policy,
        long resumeAt,
        double warmUp,
        double seconds,
        @Nullable Long memory,
        @Nullable Integer readers,
        @Nullable Target target,
        String backend,
        Output output) {

    private static final long DEFAULT_MEMORY = 256L << 20;
    /** Fewest batches in memory: one is with the consumer while another is read. */
    private static final long MIN_BATCHES = 2;
    private static final double NANOS = 1e9;

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

    /** Copies the lists. */
    public RecordsRun {
        paths = List.copyOf(paths);
        links = List.copyOf(links);
    }

    /** Reads all records and prints the result. */
    public ExitStatus run() {
        RecordSource source = record == null
                ? RecordFiles.open(paths, links.toArray(FileVisitOption[]::new))
                : RecordFiles.afterHeader(paths, header, record);
        Targets targets = Targets.resolve(target);
        try (OpenedDriver opened = OpenedDriver.open(backend, output)) {
            CuFileDriver driver = opened.driver();
            Outcome outcome = read(driver, source, targets);
            RunStatistics.print(output, driver, object -> add(object, opened, source, targets, outcome),
                    () -> lines(source, targets, outcome));
        }
        return ExitStatus.DONE;
    }

    private Outcome read(CuFileDriver driver, RecordSource source, Targets targets) {
        long bound = memory(source);
        targets.checkRoom(driver.allocator(), bound);
        RecordLoader.Builder builder = RecordLoader.builder(driver, source, batch)
                .order(order)
                .epochs(epochs)
                .share(share)
                .remainder(remainder)
                .onError(policy)
                .resumeAt(resumeAt)
                .memory(bound)
                .target(targets.target().kind(), Math.max(0, targets.target().device()));
        if (readers != null) {
            builder.readers(readers);
        }
        try (RecordSums checks = new RecordSums(
                driver.allocator(),
                targets.target().isGpu(),
                Math.min(bound, batchBytes(source)),
                batch);
                RecordLoader loader = builder.open();
                Progress progress = output.start("reading", bytes(loader, source))) {
            long begun = System.nanoTime();
            LoaderReport warm = loader.report();
            LoaderReport last = warm;
            boolean isWarm = warmUp == 0;
            double end = isWarm ? seconds : Double.POSITIVE_INFINITY;
            // a rate needs a batch behind the warm-up, which ends with a batch
            while (loader.hasNext() && (last == warm || seconds(begun) < end)) {
                checks.add(loader.next());
                last = loader.report();
                if (!isWarm && seconds(begun) >= warmUp) {
                    isWarm = true;
                    warm = last;
                    end = seconds(begun) + seconds;
                }
                progress.advanceTo(last.bytes());
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
        return longest > Long.MAX_VALUE / 4 / batch ? Long.MAX_VALUE / 4 : longest * batch;
    }

    /** Returns the bound of the memory: what the user says, or at least two batches. */
    private long memory(RecordSource source) {
        long longest = source.isFixedLength() ? batchBytes(source) : Math.max(1, source.maxLength());
        long least = MIN_BATCHES * Pages.up(longest);
        if (memory != null && memory < least) {
            throw CommandFailure.usage("--memory %s is less than two batches of whole pages: %s bytes".formatted(
                    memory, least));
        }
        return memory != null ? memory : Math.max(DEFAULT_MEMORY, least);
    }

    private void add(
            Map<String, @Nullable Object> object, OpenedDriver opened, RecordSource source, Targets targets,
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
        object.put("target", targets.target().toString());
        object.put("backend", opened.driver().backendName());
        object.put("ioPaths", PathBytes.of(opened.driver().bytesByPath()));
        object.put("peakStagingBytes", opened.driver().peakStagingBytes());
    }

    private List<String> lines(RecordSource source, Targets targets, Outcome outcome) {
        LoaderReport report = outcome.report();
        List<String> lines = new ArrayList<>();
        lines.add(Text.row("data set", "%s, %s in %s".formatted(
                paths.getFirst(),
                Units.count(source.records(), "record"),
                Units.count(source.files().size(), "file"))));
        lines.add(Text.row("target", targets.description()));
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
        return lines;
    }
}
