package io.gds4j.loader.internal.load;

import io.gds4j.config.DirectStorage;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.Conversion;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The options of a {@code LoadPlan}, whose methods document and check the values.
 *
 * @param renaming gives loaded tensors their names; null if they keep those of the checkpoint
 * @param type type of loaded floats; null if they keep that of the checkpoint
 */
public record LoadOptions(
        Predicate<TensorInfo> filter,
        Target target,
        long alignment,
        Io io,
        DirectStorage directStorage,
        @Nullable UnaryOperator<String> renaming,
        @Nullable DType type) {

    public static final LoadOptions DEFAULTS = new LoadOptions(
            tensor -> true,
            new Target(MemoryKind.HOST, MemoryRange.NO_DEVICE, null, null),
            256,
            new Io(64L << 20, 0, 0, false),
            DirectStorage.AUTO,
            null,
            null);

    /** Memory that the load allocates, one range of the caller, or memory of the caller for each tensor. */
    public record Target(
            MemoryKind kind,
            int device,
            @Nullable MemoryRange into,
            @Nullable Function<TensorInfo, MemoryRange> destinations) {
    }

    /** How to read; the loader chooses a request size of 0 and a number of requests of 0. */
    public record Io(long stagingBudget, long requestSize, int requestsInFlight, boolean direct) {

        /** Bounds, in bytes, of a request whose size the loader chooses. The engine's threads wait at the end of each. */
        private static final long MIN_AUTOMATIC_REQUEST = 128L << 20;
        private static final long MAX_AUTOMATIC_REQUEST = 256L << 20;

        /** Bounds of the number of requests in flight that the loader chooses. */
        private static final int MIN_IN_FLIGHT = 4;
        private static final int MAX_IN_FLIGHT = 16;
        /** Several GPUs take what all threads read. With more requests these would wait for each other's bounce buffers. */
        private static final int FOR_SEVERAL_GPUS = 12;
        /**
         * Bytes in flight up to which the loader adds requests. The threads of one request wait for each other at its end, so few short
         * requests are slow.
         */
        private static final long ENOUGH_IN_FLIGHT = 512L << 20;

        /**
         * Returns the largest size of the next request, in bytes. Automatic sizes are large while much is left and shrink towards
         * the end (guided self-scheduling), so that threads seldom change requests and still end together.
         *
         * @param left bytes of the load that no request covers yet
         */
        public long requestSize(long left) {
            if (requestSize > 0) {
                return requestSize;
            }
            return Pages.down(Math.clamp(left / (2L * leastInFlight()), MIN_AUTOMATIC_REQUEST, MAX_AUTOMATIC_REQUEST));
        }

        /** Returns the number of requests in flight if these are long. */
        public int leastInFlight() {
            return requestsInFlight > 0 ? requestsInFlight : MIN_IN_FLIGHT;
        }

        /**
         * Returns the number of requests of a load that are in flight.
         *
         * @param processors number of processors of the machine
         */
        public int inFlight(Layout layout, int processors) {
            if (requestsInFlight > 0) {
                return requestsInFlight;
            }
            // any thread may come to gather, and the budget limits all of them together
            long affordable = stagingBudget / Math.max(1, 2 * layout.gatherBytes());
            long most = Math.clamp(Math.min(affordable, processors), MIN_IN_FLIGHT, MAX_IN_FLIGHT);
            if (layout.gpus() > 1) {
                return (int) Math.min(most, FOR_SEVERAL_GPUS);
            }
            long wanted = Math.ceilDiv(ENOUGH_IN_FLIGHT * layout.works().size(), Math.max(1, layout.storageBytes()));
            return (int) Math.clamp(wanted, MIN_IN_FLIGHT, most);
        }

        /** Returns the largest number of bytes of one half of a worker's {@link StagingMemory}. */
        public long gatherBytes() {
            return Pages.down(Math.min(16L << 20, stagingBudget / (2L * leastInFlight())));
        }
    }

    public LoadOptions with(Predicate<TensorInfo> narrower) {
        return new LoadOptions(filter.and(narrower), target, alignment, io, directStorage, renaming, type);
    }

    public LoadOptions with(Target other) {
        return new LoadOptions(filter, other, alignment, io, directStorage, renaming, type);
    }

    public LoadOptions withAlignment(long bytes) {
        return new LoadOptions(filter, target, bytes, io, directStorage, renaming, type);
    }

    public LoadOptions with(Io other) {
        return new LoadOptions(filter, target, alignment, other, directStorage, renaming, type);
    }

    public LoadOptions with(DirectStorage demand) {
        return new LoadOptions(filter, target, alignment, io, demand, renaming, type);
    }

    /** @param next receives the names that the options gave so far */
    public LoadOptions withRenaming(UnaryOperator<String> next) {
        UnaryOperator<String> before = renaming;
        return new LoadOptions(filter, target, alignment, io, directStorage, name -> {
            String given = before == null ? name : before.apply(name);
            String renamed = next.apply(given);
            if (renamed == null) {
                throw CuFileException.invalid(
                        "LoadPlan", "the new name of tensor %s is null".formatted(CheckpointException.quote(given)));
            }
            return renamed;
        }, type);
    }

    public LoadOptions with(DType other) {
        return new LoadOptions(filter, target, alignment, io, directStorage, renaming, other);
    }

    /** Returns the conversion of elements of this type; empty if the load leaves them as they are. */
    public Optional<Conversion> conversion(DType from) {
        return type == null ? Optional.empty() : Conversion.of(from, type);
    }

    /** Returns the option that mapped files cannot obey, as the program wrote it; empty if there is none. */
    public Optional<String> refusedByMap() {
        if (target.into != null) {
            return Optional.of("into");
        }
        if (target.destinations != null) {
            return Optional.of("destinations");
        }
        if (target.kind != MemoryKind.HOST) {
            return Optional.of("memory of kind " + target.kind);
        }
        if (alignment != DEFAULTS.alignment) {
            return Optional.of("alignment(%s)".formatted(alignment));
        }
        if (io.direct) {
            return Optional.of("direct(true)");
        }
        if (type != null) {
            return Optional.of("as(%s)".formatted(type));
        }
        return directStorage == DirectStorage.REQUIRE ? Optional.of("directStorage(REQUIRE)") : Optional.empty();
    }

    /** Returns the names of loaded tensors by those in the checkpoint; empty if they are the same. Refuses one name for two. */
    Map<String, String> names(List<TensorInfo> tensors) {
        if (renaming == null) {
            return Map.of();
        }
        Map<String, String> names = new HashMap<>();
        Map<String, String> owners = new HashMap<>();
        for (TensorInfo tensor : tensors) {
            String name = renaming.apply(tensor.name());
            String other = owners.put(name, tensor.name());
            if (other != null) {
                throw CuFileException.invalid("LoadPlan", "tensors %s and %s would have the same name, %s".formatted(
                        CheckpointException.quote(other), CheckpointException.quote(tensor.name()),
                        CheckpointException.quote(name)));
            }
            names.put(tensor.name(), name);
        }
        return Map.copyOf(names);
    }
}
