package io.gds4j.loader;

import io.gds4j.config.DirectStorage;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The options of a {@link LoadPlan}, whose methods document and check the values.
 *
 * @param requestSize bytes, or 0 if the loader chooses
 * @param requestsInFlight number, or 0 if the loader chooses
 */
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
        boolean direct,
        DirectStorage directStorage) {

    /** Bounds, in bytes, of a request whose size the loader chooses. */
    private static final long LEAST_AUTOMATIC_REQUEST = 32L << 20;
    private static final long MOST_AUTOMATIC_REQUEST = 256L << 20;

    /** Bounds of the number of requests in flight that the loader chooses. */
    private static final int LEAST_IN_FLIGHT = 4;
    private static final int MOST_IN_FLIGHT = 16;
    /**
     * Bytes in flight up to which the loader adds requests. The threads of one request wait for each other at its end, so few short
     * requests are slow.
     */
    private static final long ENOUGH_IN_FLIGHT = 512L << 20;

    static final LoadOptions DEFAULTS = new LoadOptions(
            tensor -> true, MemoryKind.HOST, MemoryRange.NO_DEVICE, 256, null, null, 64L << 20, 0, 0, false,
            DirectStorage.AUTO);

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
                direct,
                directStorage);
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
                direct,
                directStorage);
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
                direct,
                directStorage);
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
                direct,
                directStorage);
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
                direct,
                directStorage);
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
                newDirect,
                directStorage);
    }

    LoadOptions withDirectStorage(DirectStorage demand) {
        return new LoadOptions(
                filter,
                kind,
                device,
                alignment,
                into,
                destinations,
                stagingBudget,
                requestSize,
                requestsInFlight,
                direct,
                demand);
    }

    /**
     * Returns the largest size of the next request, in bytes. Automatic sizes are large while much is left and shrink towards
     * the end (guided self-scheduling), so that threads seldom change requests and still end together.
     *
     * @param left bytes of the load that no request covers yet
     */
    long requestSize(long left) {
        if (requestSize > 0) {
            return requestSize;
        }
        return Math.clamp(left / (2L * leastInFlight()), LEAST_AUTOMATIC_REQUEST, MOST_AUTOMATIC_REQUEST) & -4096L;
    }

    /** Returns the number of requests in flight if these are long. */
    int leastInFlight() {
        return requestsInFlight > 0 ? requestsInFlight : LEAST_IN_FLIGHT;
    }

    /**
     * Returns the number of requests of a load that are in flight.
     *
     * @param processors number of processors of the machine
     */
    int inFlight(Layout layout, int processors) {
        if (requestsInFlight > 0) {
            return requestsInFlight;
        }
        // any thread may come to gather, and the budget limits all of them together
        long affordable = stagingBudget / Math.max(1, 2 * layout.gatherBytes());
        long most = Math.clamp(Math.min(affordable, processors), LEAST_IN_FLIGHT, MOST_IN_FLIGHT);
        long wanted = Math.ceilDiv(ENOUGH_IN_FLIGHT * layout.works().size(), Math.max(1, layout.tensorBytes()));
        return (int) Math.clamp(wanted, LEAST_IN_FLIGHT, most);
    }

    /** Returns the largest number of bytes of one half of a worker's {@link StagingMemory}. */
    long gatherBytes() {
        return Math.min(16L << 20, stagingBudget / (2L * leastInFlight())) & -4096L;
    }
}
