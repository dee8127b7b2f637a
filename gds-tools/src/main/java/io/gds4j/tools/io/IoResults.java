package io.gds4j.tools.io;

import java.util.List;
import java.util.Objects;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/** Combines several results into one. */
final class IoResults {
    private IoResults() {
    }

    /** Combines jobs that ran at the same time. */
    static IoResult together(String name, List<IoResult> jobs, boolean sameSize, IoResult.Cost cost) {
        return sum(
                name,
                jobs,
                sameSize ? jobs.getFirst().ioSize() : null,
                jobs.stream().mapToInt(IoResult::threads).sum(),
                jobs.stream().mapToLong(IoResult::dataSet).sum(),
                jobs.stream().mapToDouble(IoResult::seconds).max().orElse(0),
                cost);
    }

    /** Combines repetitions of the same measurement. */
    static IoResult repeated(List<IoResult> runs) {
        IoResult first = runs.getFirst();
        if (runs.size() == 1) {
            return first;
        }
        IoResult sum = sum(
                first.name(),
                runs,
                first.ioSize(),
                first.threads(),
                first.dataSet(),
                runs.stream().mapToDouble(IoResult::seconds).sum(),
                first.cost() == null ? null : cost(runs));
        return sum.ofRuns(runs);
    }

    private static IoResult.Cost cost(List<IoResult> parts) {
        return parts.stream()
                .map(IoResult::cost)
                .filter(Objects::nonNull)
                .reduce(new IoResult.Cost(0, 0), IoResult.Cost::plus);
    }

    /** Combines rounds that ran in sequence. */
    static IoResult afterEachOther(List<IoResult> rounds) {
        IoResult first = rounds.getFirst();
        if (rounds.size() == 1) {
            return first;
        }
        return sum(
                first.name(),
                rounds,
                null,
                first.threads(),
                first.dataSet(),
                rounds.stream().mapToDouble(IoResult::seconds).sum(),
                cost(rounds));
    }

    private static IoResult sum(
            String name,
            List<IoResult> parts,
            @Nullable Long size,
            int threads,
            long dataSet,
            double seconds,
            IoResult.@Nullable Cost cost) {
        Histogram latencies = new Histogram(parts.getFirst().latencies());
        parts.forEach(part -> latencies.add(part.latencies()));
        return new IoResult(
                parts.getFirst().job(),
                name,
                threads,
                size,
                dataSet,
                parts.stream().mapToLong(IoResult::bytes).sum(),
                seconds,
                latencies,
                parts.stream().mapToLong(IoResult::operations).sum(),
                parts.size() == 1 ? parts.getFirst().fairness() : null,
                cost,
                List.of());
    }
}
