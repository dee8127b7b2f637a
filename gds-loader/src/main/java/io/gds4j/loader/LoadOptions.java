package io.gds4j.loader;

import io.gds4j.config.DirectStorage;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The options of a {@link LoadPlan}, whose methods document and check the values. */
record LoadOptions(
        Predicate<TensorInfo> filter, Target target, long alignment, Io io, DirectStorage directStorage) {

    static final LoadOptions DEFAULTS = new LoadOptions(
            tensor -> true,
            new Target(MemoryKind.HOST, MemoryRange.NO_DEVICE, null, null),
            256,
            new Io(64L << 20, 0, 4, false),
            DirectStorage.AUTO);

    /** Memory that the load allocates, one range of the caller, or memory of the caller for each tensor. */
    record Target(
            MemoryKind kind,
            int device,
            @Nullable MemoryRange into,
            @Nullable Function<TensorInfo, MemoryRange> destinations) {
    }

    /** How to read; a request size of 0 lets the loader choose. */
    record Io(long stagingBudget, long requestSize, int requestsInFlight, boolean direct) {

        /** Bounds, in bytes, of a request whose size the loader chooses. */
        private static final long LEAST_AUTOMATIC_REQUEST = 32L << 20;
        private static final long MOST_AUTOMATIC_REQUEST = 256L << 20;

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
            return Math.clamp(left / (2L * requestsInFlight), LEAST_AUTOMATIC_REQUEST, MOST_AUTOMATIC_REQUEST) & -4096L;
        }

        /** Returns the bytes of one half of a worker's {@link StagingMemory}. */
        long gatherBytes() {
            return Math.min(16L << 20, stagingBudget / (2L * requestsInFlight)) & -4096L;
        }
    }

    LoadOptions with(Predicate<TensorInfo> narrower) {
        return new LoadOptions(filter.and(narrower), target, alignment, io, directStorage);
    }

    LoadOptions with(Target other) {
        return new LoadOptions(filter, other, alignment, io, directStorage);
    }

    LoadOptions withAlignment(long bytes) {
        return new LoadOptions(filter, target, bytes, io, directStorage);
    }

    LoadOptions with(Io other) {
        return new LoadOptions(filter, target, alignment, other, directStorage);
    }

    LoadOptions with(DirectStorage demand) {
        return new LoadOptions(filter, target, alignment, io, demand);
    }
}
