package io.gds4j.tools.io;

import io.gds4j.tools.terminal.Fields;
import io.gds4j.tools.terminal.Text;
import io.gds4j.tools.terminal.Units;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Measurements of a job in a round, of a whole round, or of all rounds.
 *
 * @param job the job; the first one of several
 * @param name name of the job
 * @param threads number of threads of all jobs
 * @param ioSize request size, bytes; null if sizes differ
 * @param dataSet bytes that one pass over the files covers
 * @param bytes number of bytes moved
 * @param seconds time from the start of the first thread to the end of the last
 * @param latencies latencies of requests, nanoseconds
 * @param operations number of requests
 * @param fairness throughput of the slowest thread divided by the mean; null for a single thread
 * @param cost CPU time and allocations; null for one of several jobs, which share them
 * @param runs throughput of each repetition, bytes per second; empty if the measurement was not repeated
 */
record JobResult(
        IoJob job,
        String name,
        int threads,
        @Nullable Long ioSize,
        long dataSet,
        long bytes,
        double seconds,
        Histogram latencies,
        long operations,
        @Nullable Double fairness,
        @Nullable Cost cost,
        List<Double> runs) {

    JobResult {
        runs = List.copyOf(runs);
    }

    /**
     * CPU time and allocations of the process.
     *
     * @param cpuSeconds CPU time of all threads
     * @param allocatedBytes Java heap allocations of all threads
     */
    record Cost(double cpuSeconds, long allocatedBytes) {
        Cost plus(Cost other) {
            return new Cost(cpuSeconds + other.cpuSeconds, allocatedBytes + other.allocatedBytes);
        }
    }

    private static final double KIB = 1024;
    private static final double GIB = 1 << 30;
    private static final double MICRO = 1000;
    /** Columns that a narrow terminal does not show, in the order in which they go. */
    private static final List<String> LEAST_WANTED =
            List.of("ops", "p90 µs", "p99.9 µs", "avg µs", "max µs", "CPU ms/GB", "p50 µs", "IOPS");

    double bytesPerSecond() {
        return seconds > 0 ? bytes / seconds : 0;
    }

    double operationsPerSecond() {
        return seconds > 0 ? operations / seconds : 0;
    }

    /** Returns this combined result with the throughput of each repetition. */
    JobResult ofRuns(List<JobResult> repetitions) {
        return new JobResult(
                job, name, threads, ioSize, dataSet, bytes, seconds, latencies, operations, fairness, cost,
                repetitions.stream().map(JobResult::bytesPerSecond).toList());
    }

    /** Difference of the fastest and the slowest repetition, divided by the mean throughput. */
    private double spread() {
        double fastest = runs.stream().mapToDouble(Double::doubleValue).max().orElse(0);
        double slowest = runs.stream().mapToDouble(Double::doubleValue).min().orElse(0);
        return bytesPerSecond() > 0 ? (fastest - slowest) / bytesPerSecond() : 0;
    }

    Map<String, @Nullable Object> toJson() {
        Map<String, @Nullable Object> fields = Fields.of("ioType", job.operation().name())
                .and("xferType", job.transfer().gdsioName())
                .and("threads", threads)
                .and("ioSize", ioSize)
                .and("bytes", bytes)
                .and("seconds", seconds)
                .and("bytesPerSecond", Math.round(bytesPerSecond()))
                .and("latencyMicros", Fields.of("avg", latencies.getMean() / MICRO)
                        .and("p50", latencies.getValueAtPercentile(50) / MICRO)
                        .and("p99", latencies.getValueAtPercentile(99) / MICRO)
                        .and("max", latencies.getMaxValue() / MICRO)
                        .and("min", operations == 0 ? 0.0 : latencies.getMinValue() / MICRO)
                        .and("p90", latencies.getValueAtPercentile(90) / MICRO)
                        .and("p999", latencies.getValueAtPercentile(99.9) / MICRO).map())
                .and("ops", operations)
                .and("fairness", fairness)
                .and("dataSetBytes", dataSet)
                .and("cpuSeconds", cost == null ? null : cost.cpuSeconds())
                .and("cpuSecondsPerGB", cost == null || bytes == 0 ? null : cost.cpuSeconds() / (bytes / 1e9))
                .and("allocatedBytesPerOp",
                        cost == null || operations == 0 ? null : (double) cost.allocatedBytes() / operations)
                .and("opsPerSecond", operationsPerSecond()).map();
        if (!runs.isEmpty()) {
            fields.put("runs", runs.stream().map(Math::round).toList());
            fields.put("spread", spread());
        }
        return fields;
    }

    /** Returns the output line of gdsio. */
    String gdsioLine() {
        return String.format(
                Locale.ROOT,
                "IoType: %s XferType: %s Threads: %d DataSetSize: %d/%d(KiB) IOSize: %s(KiB) Throughput: %.6f GiB/sec,"
                        + " Avg_Latency: %.6f usecs ops: %d total_time %.6f secs",
                job.operation().name(),
                job.transfer().gdsioName(),
                threads,
                Math.round(bytes / KIB),
                Math.round(dataSet / KIB),
                sizes(),
                bytesPerSecond() / GIB,
                latencies.getMean() / MICRO,
                operations,
                seconds);
    }

    private String sizes() {
        if (ioSize == null) {
            List<Long> sizes = job.sizes().sizes();
            return Math.round(sizes.getFirst() / KIB) + "-" + Math.round(sizes.getLast() / KIB);
        }
        return String.valueOf(Math.round(ioSize / KIB));
    }

    private List<String> row() {
        List<String> row = new ArrayList<>(List.of(name, ioSize == null ? "-" : Units.bytes(ioSize),
                Units.rate(bytesPerSecond())));
        if (!runs.isEmpty()) {
            row.add(String.format(Locale.ROOT, "%.1f %%", 100 * spread()));
        }
        row.addAll(List.of(
                String.format(Locale.ROOT, "%.0f", operationsPerSecond()),
                micros(latencies.getMean()),
                micros(latencies.getValueAtPercentile(50)),
                micros(latencies.getValueAtPercentile(90)),
                micros(latencies.getValueAtPercentile(99)),
                micros(latencies.getValueAtPercentile(99.9)),
                micros(latencies.getMaxValue()),
                String.valueOf(operations),
                cost == null || bytes == 0 ? "-"
                        : String.format(Locale.ROOT, "%.0f", cost.cpuSeconds() / bytes * 1e12)));
        return row;
    }

    /**
     * Returns the lines of a text table with headings.
     *
     * @param width a narrower terminal leaves columns out
     */
    static List<String> table(List<JobResult> results, int width) {
        List<String> titles = new ArrayList<>(List.of("job", "I/O size", "throughput"));
        if (!results.getFirst().runs().isEmpty()) {
            titles.add("spread");
        }
        titles.addAll(List.of(
                "IOPS", "avg µs", "p50 µs", "p90 µs", "p99 µs", "p99.9 µs", "max µs", "ops", "CPU ms/GB"));
        List<List<String>> rows = new ArrayList<>(List.of(titles));
        results.forEach(result -> rows.add(result.row()));
        Iterator<String> leastWanted = LEAST_WANTED.iterator();
        List<String> lines = lines(rows);
        while (leastWanted.hasNext() && lines.stream().anyMatch(line -> line.length() > width)) {
            int column = titles.indexOf(leastWanted.next());
            rows.forEach(row -> row.remove(column));
            lines = lines(rows);
        }
        return lines;
    }

    private static List<String> lines(List<List<String>> rows) {
        boolean[] rightAligned = new boolean[rows.getFirst().size()];
        Arrays.fill(rightAligned, 1, rightAligned.length, true);
        return Text.table(rows, rightAligned);
    }

    private static String micros(double nanos) {
        return String.format(Locale.ROOT, "%.1f", nanos / MICRO);
    }
}
