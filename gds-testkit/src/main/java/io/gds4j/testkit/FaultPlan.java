package io.gds4j.testkit;

import io.gds4j.testkit.PlannedFault.Failure;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/** The faults of a backend, and the number of calls of each kind that have started. */
final class FaultPlan {
    private final AtomicLongArray counts = new AtomicLongArray(Call.values().length);
    private final List<PlannedFault> faults = new CopyOnWriteArrayList<>();

    PlannedFault add(Set<Call> calls) {
        PlannedFault fault = new PlannedFault(calls);
        faults.add(fault);
        return fault;
    }

    long count(Call call) {
        return counts.get(call.ordinal());
    }

    /** Counts a call that starts, and returns the faults that hit it, in the order in which they were planned. */
    List<PlannedFault> start(Call call, Optional<Path> path) {
        long number = counts.incrementAndGet(call.ordinal());
        List<PlannedFault> hit = List.of();
        for (PlannedFault fault : faults) {
            if (fault.hits(call, number, path)) {
                hit = hit.isEmpty() ? new ArrayList<>() : hit;
                hit.add(fault);
            }
        }
        return hit;
    }

    /** Waits as all of the faults want; without a lock. */
    static void await(List<PlannedFault> hit) {
        hit.forEach(PlannedFault::before);
    }

    /** {@return the failure that was planned last; null if none of them fails} */
    static @Nullable Failure failure(List<PlannedFault> hit) {
        Failure last = null;
        for (PlannedFault fault : hit) {
            Failure failure = fault.failure();
            last = failure == null ? last : failure;
        }
        return last;
    }

    /** Starts a call and waits as planned; {@return its failure, null if it does not fail} */
    @Nullable
    Failure begin(Call call, Optional<Path> path) {
        List<PlannedFault> hit = start(call, path);
        await(hit);
        return failure(hit);
    }

    /** Starts a call that moves no bytes, and throws if it is to fail. */
    void pass(Call call, String function, Optional<Path> path, long fileOffset, long size) {
        Failure failure = begin(call, path);
        if (failure != null) {
            throw failure.exception(function).path(path).range(fileOffset, size).build();
        }
    }

    /** {@return whether a fault delays such calls on this file} */
    boolean slows(Call call, Optional<Path> path) {
        return faults.stream().anyMatch(fault -> fault.slows(call, path));
    }

    List<PlannedFault> all() {
        return List.copyOf(faults);
    }
}
