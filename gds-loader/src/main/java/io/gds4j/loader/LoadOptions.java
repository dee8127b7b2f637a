package io.gds4j.loader;

import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** What a {@link LoadPlan} was asked for; its methods document and check the values. */
record LoadOptions(
        Predicate<TensorInfo> filter,
        MemoryKind kind,
        int device,
        long alignment,
        @Nullable MemoryRange into,
        @Nullable Function<TensorInfo, MemoryRange> destinations,
        long stagingBudget,
        long requestSize,
        int requestsInFlight,
        boolean direct) {

    private static final long LEAST_AUTOMATIC_REQUEST = 32L << 20;
    private static final long MOST_AUTOMATIC_REQUEST = 256L << 20;

    static final LoadOptions DEFAULTS = new LoadOptions(
            tensor -> true, MemoryKind.HOST, MemoryRange.NO_DEVICE, 256, null, null, 64L << 20, 0, 4, false);

    LoadOptions withFilter(Predicate<TensorInfo> narrower) {
        return new LoadOptions(
                filter.and(narrower),
                kind,
                device,
                alignment,
                into,
                destinations,
                stagingBudget,
                requestSize,
                requestsInFlight,
                direct);
    }

    LoadOptions withTarget(MemoryKind newKind, int newDevice) {
        return new LoadOptions(
                filter,
                newKind,
                newDevice,
                alignment,
                null,
                null,
                stagingBudget,
                requestSize,
                requestsInFlight,
                direct);
    }

    LoadOptions withAlignment(long newAlignment) {
        return new LoadOptions(
                filter,
                kind,
                device,
                newAlignment,
                into,
                destinations,
                stagingBudget,
                requestSize,
                requestsInFlight,
                direct);
    }

    LoadOptions withInto(MemoryRange range) {
        return new LoadOptions(
                filter,
                range.kind(),
                range.device(),
                alignment,
                range,
                null,
                stagingBudget,
                requestSize,
                requestsInFlight,
                direct);
    }

    LoadOptions withDestinations(Function<TensorInfo, MemoryRange> perTensor) {
        return new LoadOptions(
                filter,
                kind,
                device,
                alignment,
                null,
                perTensor,
                stagingBudget,
                requestSize,
                requestsInFlight,
                direct);
    }

    LoadOptions withIo(long newBudget, long newRequestSize, int newInFlight, boolean newDirect) {
        return new LoadOptions(
                filter,
                kind,
                device,
                alignment,
                into,
                destinations,
                newBudget,
                newRequestSize,
                newInFlight,
                newDirect);
    }

    /**
     * Bytes of the next request at most: as asked, or large while much is left and smaller towards the end, so that threads
     * seldom pause between requests and still end together (guided self-scheduling).
     *
     * @param left bytes of the load that no request brings yet
     */
    long requestSize(long left) {
        if (requestSize > 0) {
            return requestSize;
        }
        return Math.clamp(left / (2L * requestsInFlight), LEAST_AUTOMATIC_REQUEST, MOST_AUTOMATIC_REQUEST) & -4096L;
    }

    /** Bytes that one gathering read may hold in host memory, twice: as read, and as placed. */
    long gatherBytes() {
        return Math.min(16L << 20, stagingBudget / (2L * requestsInFlight)) & -4096L;
    }
}
