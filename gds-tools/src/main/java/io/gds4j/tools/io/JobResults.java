package io.gds4j.tools.io;

import java.util.List;
import java.util.Objects;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** Combines several results into one. */
final class JobResults {
    private JobResults() {
    }

    /** Combines jobs that ran at the same time. */
    static JobResult together(String name, List<JobResult> jobs, boolean sameSize, JobResult.Cost cost) {
        return sum(
                name,
                jobs,
                sameSize ? jobs.getFirst().ioSize() : null,
                jobs.stream().mapToInt(JobResult::threads).sum(),
                jobs.stream().mapToLong(JobResult::dataSet).sum(),
                jobs.stream().mapToDouble(JobResult::seconds).max().orElse(0),
                cost);
    }

    /** Combines repetitions of the same measurement. */
    static JobResult repeated(List<JobResult> runs) {
        JobResult first = runs.getFirst();
        if (runs.size() == 1) {
            return first;
        }
        JobResult sum = sum(
                first.name(),
                runs,
                first.ioSize(),
                first.threads(),
                first.dataSet(),
                runs.stream().mapToDouble(JobResult::seconds).sum(),
                first.cost() == null ? null : cost(runs));
        return sum.ofRuns(runs);
    }

    private static JobResult.Cost cost(List<JobResult> parts) {
        return parts.stream()
                .map(JobResult::cost)
                .filter(Objects::nonNull)
                .reduce(new JobResult.Cost(0, 0), JobResult.Cost::plus);
    }

    /** Combines rounds that ran in sequence. */
    static JobResult afterEachOther(List<JobResult> rounds) {
        JobResult first = rounds.getFirst();
        if (rounds.size() == 1) {
            return first;
        }
        return sum(
                first.name(),
                rounds,
                null,
                first.threads(),
                first.dataSet(),
                rounds.stream().mapToDouble(JobResult::seconds).sum(),
                cost(rounds));
    }

    private static JobResult sum(
            String name,
            List<JobResult> parts,
            @Nullable Long size,
            int threads,
            long dataSet,
            double seconds,
            JobResult.@Nullable Cost cost) {
        Histogram latencies = new Histogram(parts.getFirst().latencies());
        parts.forEach(part -> latencies.add(part.latencies()));
        return new JobResult(
                parts.getFirst().job(),
                name,
                threads,
                size,
                dataSet,
                parts.stream().mapToLong(JobResult::bytes).sum(),
                seconds,
                latencies,
                parts.stream().mapToLong(JobResult::operations).sum(),
                parts.size() == 1 ? parts.getFirst().fairness() : null,
                cost,
                List.of());
    }
}
