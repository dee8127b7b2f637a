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

    /** Combines rounds that ran in sequence. */
    static IoResult afterEachOther(List<IoResult> rounds) {
        IoResult first = rounds.getFirst();
        if (rounds.size() == 1) {
            return first;
        }
        IoResult.Cost cost = rounds.stream()
                .map(IoResult::cost)
                .filter(Objects::nonNull)
                .reduce(new IoResult.Cost(0, 0), IoResult.Cost::plus);
        return sum(
                first.name(),
                rounds,
                null,
                first.threads(),
                first.dataSet(),
                rounds.stream().mapToDouble(IoResult::seconds).sum(),
                cost);
    }

    private static IoResult sum(
            String name,
            List<IoResult> parts,
            @Nullable Long size,
            int threads,
            long dataSet,
            double seconds,
            IoResult.Cost cost) {
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
                cost);
    }
}
