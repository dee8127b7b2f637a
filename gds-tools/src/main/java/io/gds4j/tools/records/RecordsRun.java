package io.gds4j.tools.records;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.gds4j.CuFileDriver;
import io.gds4j.dataset.ErrorPolicy;
import io.gds4j.dataset.LoaderReport;
import io.gds4j.dataset.LoaderState;
import io.gds4j.dataset.RecordLoader;
import io.gds4j.dataset.RecordOrder;
import io.gds4j.dataset.Remainder;
import io.gds4j.dataset.Share;
import io.gds4j.dataset.source.RecordSource;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.tools.load.OpenedDriver;
import io.gds4j.tools.load.PathBytes;
import io.gds4j.tools.load.Target;
import io.gds4j.tools.load.Targets;
import io.gds4j.tools.stats.RunStatistics;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.ExitStatus;
import io.gds4j.tools.terminal.InputFile;
import io.gds4j.tools.terminal.Output;
import io.gds4j.tools.terminal.Progress;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One run of {@code gds records}.
 *
 * @param name what the user calls the data set
 * @param source its records
 * @param batch records of a batch
 * @param order order of the records
 * @param epochs number of epochs
 * @param share rank and number of ranks
 * @param remainder what happens to records that do not fill whole batches
 * @param policy what happens to records that cannot be read
 * @param verify whether to compare records with the checksums of their files
 * @param resumed states of earlier runs, or their results; none to begin anew
 * @param warmUp seconds that the rates leave out
 * @param seconds most time after that; infinite for no limit
 * @param memory most bytes of all buffers; null for as many as the batch needs
 * @param readers number of threads that read; null for the loader's choice
 * @param target memory of the records; null for gpu:0 if there is a GPU, else the host
 * @param backend auto, compat or libcufile
 * @param digest whether to compute the SHA-256 of all records' bytes
 * @param output where the result goes
 */
public record RecordsRun(
        String name,
        RecordSource source,
        int batch,
        RecordOrder order,
        long epochs,
        Share share,
        Remainder remainder,
        ErrorPolicy policy,
        boolean verify,
        List<Path> resumed,
        double warmUp,
        double seconds,
        @Nullable Long memory,
        @Nullable Integer readers,
        @Nullable Target target,
        String backend,
        boolean digest,
        Output output) {

    private static final long DEFAULT_MEMORY = 256L << 20;
    /** Fewest batches in memory: one is with the consumer while another is read. */
    private static final long MIN_BATCHES = 2;
    private static final int MAX_STATE = 16 << 20;
    private static final double NANOS = 1e9;

    /** What was read, in all and in the warm-up. */
    private record Outcome(LoaderReport report, LoaderReport warmUp, LoaderState state, BigInteger recordSum,
            String orderDigest, @Nullable String digest) {
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

    /** Copies the list. */
    public RecordsRun {
        resumed = List.copyOf(resumed);
    }

    /** Reads all records and prints the result. */
    public ExitStatus run() throws IOException {
        List<LoaderState> states = states();
        Targets targets = Targets.resolve(target);
        try (OpenedDriver opened = OpenedDriver.open(backend, output)) {
            CuFileDriver driver = opened.driver();
            Outcome outcome = read(driver, targets, states);
            RunStatistics.print(output, driver, object -> add(object, opened, targets, outcome),
                    () -> lines(targets, outcome));
        }
        return ExitStatus.DONE;
    }

    private List<LoaderState> states() throws IOException {
        List<LoaderState> states = new ArrayList<>();
        for (Path file : resumed) {
            String text = InputFile.text(file, MAX_STATE, "a result of gds records --json");
            try {
                String state = new ObjectMapper().readTree(text).path("state").asText();
                states.add(LoaderState.parse(state.isEmpty() ? text : state));
            } catch (JsonProcessingException | CuFileException e) {
                throw CommandFailure.badInput(file.toString(), "%s: %s".formatted(file,
                        e instanceof CuFileException wrong ? wrong.detail() : "it is no JSON"));
            }
        }
        return states;
    }

    private Outcome read(CuFileDriver driver, Targets targets, List<LoaderState> states) {
        long bound = memoryBound();
        targets.checkRoom(driver.allocator(), bound);
        RecordLoader.Builder builder = RecordLoader.builder(driver, source, batch)
                .order(order)
                .epochs(epochs)
                .share(share)
                .remainder(remainder)
                .onError(policy)
                .memory(bound)
                .target(targets.target().kind(), Math.max(0, targets.target().device()));
        if (verify) {
            builder.verify();
        }
        if (readers != null) {
            builder.readers(readers);
        }
        if (!states.isEmpty()) {
            builder.resume(LoaderState.merge(states));
        }
        try (RecordSums checks = new RecordSums(
                driver.allocator(),
                targets.target().isGpu(),
                Math.min(bound, batchBytes()),
                batch, digest ? RecordSums.sha256() : null);
                RecordLoader loader = builder.open();
                Progress progress = output.start("reading", bytes(loader))) {
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
            return new Outcome(loader.report(), warm, loader.state(), checks.recordSum(), checks.orderDigest(),
                    checks.digest());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while reading", e);
        }
    }

    private static double seconds(long begun) {
        return (System.nanoTime() - begun) / NANOS;
    }

    /** Returns the bytes to come, for the progress: exact for records of one length. */
    private long bytes(RecordLoader loader) {
        long records = loader.recordsLeft();
        long most = source.maxLength();
        return most == 0 || records <= Long.MAX_VALUE / most ? records * most : Long.MAX_VALUE;
    }

    private long batchBytes() {
        long longest = Math.max(1, source.maxLength());
        return longest > Long.MAX_VALUE / 4 / batch ? Long.MAX_VALUE / 4 : longest * batch;
    }

    /** Returns the bound of the memory: what the user says, or at least two batches. */
    private long memoryBound() {
        long longest = source.isFixedLength() ? batchBytes() : Math.max(1, source.maxLength());
        long least = MIN_BATCHES * Pages.up(longest);
        if (memory != null && memory < least) {
            throw CommandFailure.usage("--memory %s is less than two batches of whole pages: %s bytes".formatted(
                    memory, least));
        }
        return memory != null ? memory : Math.max(DEFAULT_MEMORY, least);
    }

    private void add(
            Map<String, @Nullable Object> object, OpenedDriver opened, Targets targets, Outcome outcome) {
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
        object.put("state", outcome.state().json());
        object.put("recordSum", outcome.recordSum());
        object.put("orderDigest", outcome.orderDigest());
        if (outcome.digest() != null) {
            object.put("digest", outcome.digest());
        }
        object.put("waitingForDataSeconds", report.waitingForDataSeconds());
        object.put("waitingForConsumerSeconds", report.waitingForConsumerSeconds());
        object.put("memoryBytes", report.memoryBytes());
        object.put("driverOpenSeconds", opened.seconds());
        object.put("target", targets.target().toString());
        object.put("backend", opened.driver().backendName());
        object.put("ioPaths", PathBytes.of(opened.driver().bytesByPath()));
        object.put("peakStagingBytes", opened.driver().peakStagingBytes());
    }

    private List<String> lines(Targets targets, Outcome outcome) {
        LoaderReport report = outcome.report();
        List<String> lines = new ArrayList<>();
        lines.add(Text.row("data set", "%s, %s in %s".formatted(
                name,
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
        if (outcome.digest() != null) {
            lines.add(Text.row("digest", outcome.digest()));
        }
        return lines;
    }
}
