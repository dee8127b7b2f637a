package io.gds4j.compat.batch;

import io.gds4j.spi.BatchEvent;
import io.gds4j.spi.BatchRequest;
import java.util.Arrays;
import java.util.List;

/** Adjacent entries of a submission that one thread serves. Used by one thread. */
final class Claim {
    private final Submission submission;
    private final int from;
    private final List<BatchRequest> entries;
    private final long[] results;
    private final long slabBytes;
    private int ended;

    /**
     * Claims entries {@code [from, to)}; their results are {@link EntryRunner#UNDONE}.
     *
     * @param slabBytes bytes of a slab that fits most claims of the submission
     */
    Claim(Submission submission, int from, int to, long slabBytes) {
        this.submission = submission;
        this.slabBytes = slabBytes;
        this.from = from;
        this.entries = submission.entries().subList(from, to);
        this.results = new long[to - from];
        Arrays.fill(results, EntryRunner.UNDONE);
    }

    Submission submission() {
        return submission;
    }

    List<BatchRequest> entries() {
        return entries;
    }

    /** Returns the bytes that each entry moved. {@link EntryRunner#UNDONE} for entries that were not served in a group. */
    long[] results() {
        return results;
    }

    /** Returns the bytes of a slab that fits most claims of the submission. */
    long slabBytes() {
        return slabBytes;
    }

    boolean hasUndone() {
        for (long result : results) {
            if (EntryRunner.isUndone(result)) {
                return true;
            }
        }
        return false;
    }

    /** Reports the next entries to the batch. */
    void end(List<BatchEvent> events) {
        ended += events.size();
        submission.batch().finish(events);
    }

    /** Fails the entries that have not ended. Allocates nothing. */
    void failRest() {
        int first = from + ended;
        ended = entries.size();
        if (first < from + ended) {
            submission.batch().fail(submission.entries(), first, from + ended);
        }
    }
}
