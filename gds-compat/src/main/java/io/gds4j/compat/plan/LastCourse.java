package io.gds4j.compat.plan;

import org.jspecify.annotations.Nullable;

/**
 * The course of the last request. A request in the same circumstances takes it over, so that deciding allocates nothing. Used by one
 * thread at a time.
 */
final class LastCourse {
    private @Nullable Circumstances circumstances;
    private TransferCourse course = new TransferCourse(1, 1, false, false);

    /** Returns {@link TransferCourse#of} of the given {@link Circumstances}. */
    TransferCourse of(
            Parallelism limits, long bytes, long operation, boolean write, boolean staged, boolean gathers,
            boolean cached, boolean direct, int requests, int gpus, long slab, long systemCall) {
        Circumstances last = circumstances;
        if (last == null || last.bytes() != bytes || last.operation() != operation || last.write() != write
                || last.staged() != staged || last.gathers() != gathers || last.cached() != cached
                || last.direct() != direct
                || last.requests() != requests || last.gpus() != gpus || last.slab() != slab
                || last.systemCall() != systemCall || last.limits() != limits) {
            Circumstances now = new Circumstances(
                    limits, bytes, operation, write, staged, gathers, cached, direct, requests, gpus, slab, systemCall);
            course = TransferCourse.of(now);
            circumstances = now;
        }
        return course;
    }
}
