package io.gds4j.dataset;

import org.jspecify.annotations.Nullable;

/** Some reads of a buffer that one reader has claimed. Each reader reuses its own. */
final class BatchClaim {
    private @Nullable BatchBuffer buffer;
    int firstRun;
    int endRun;

    /** Claims reads of a buffer: at least one, at most {@code runs}, and no more than {@code bytes} if there are several. */
    void take(BatchBuffer from, int runs, long bytes) {
        buffer = from;
        firstRun = from.claimedRuns;
        endRun = firstRun;
        long sum = 0;
        do {
            sum += from.runBytes(endRun);
            endRun++;
        } while (endRun < from.runs && endRun - firstRun < runs && sum + from.runBytes(endRun) <= bytes);
        from.claimedRuns = endRun;
    }

    BatchBuffer buffer() {
        BatchBuffer claimed = buffer;
        if (claimed == null) {
            throw new IllegalStateException("nothing is claimed");
        }
        return claimed;
    }
}
