package io.gds4j.loader;

import io.gds4j.error.CuFileException;
import io.gds4j.internal.file.Pages;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.internal.load.Layout;
import io.gds4j.loader.internal.load.Layout.Placed;
import io.gds4j.loader.internal.load.LayoutPlanner;
import io.gds4j.loader.internal.load.LoadOptions;
import io.gds4j.loader.internal.load.LoadOptions.Io;
import io.gds4j.loader.internal.load.Ranges;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryAllocator;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SortedMap;

/**
 * A load whose tensors take turns in memory of a limited size.
 *
 * @param layout has a block for each turn
 * @param options those of the plan, with the staging memory that the budget allows
 * @param ringBytes largest size of the memory
 */
record TurnPlan(Layout layout, LoadOptions options, long ringBytes) {

    /** Part of a budget that small tensors of a turn may fill together, and part that gathers may take, as a divisor. */
    private static final long SMALL_DIVISOR = 8;
    /** Part of a budget that is set aside for bounce buffers, as a divisor; their pool is smaller in most configurations with one. */
    private static final long BOUNCE_DIVISOR = 4;
    /** Bytes of a turn beyond which more small tensors make no read faster. */
    private static final long FULL_TURN = 128L << 20;
    /** Least staging memory of a request in flight. */
    private static final long MIN_STAGING = 128L << 10;

    /**
     * What a budget is for, in bytes.
     *
     * @param all the budget
     * @param bounceBuffers all bounce buffers of the driver
     */
    record Budget(long all, long bounceBuffers) {
        private long bounce() {
            return Math.min(bounceBuffers, all / BOUNCE_DIVISOR);
        }

        private long staging(Io io) {
            return Math.clamp(all / SMALL_DIVISOR, MIN_STAGING * io.leastInFlight(),
                    Math.max(io.stagingBudget(), MIN_STAGING * io.leastInFlight()));
        }

        private long ring(Io io) {
            return Pages.down(Math.max(0, all - bounce() - staging(io)));
        }

        /** Returns the smallest budget whose ring has at least {@code ring} bytes. */
        private Budget with(long ring, Io io) {
            long low = ring;
            long high = Math.max(1, 2 * (ring + staging(io) + MIN_STAGING * io.leastInFlight()));
            while (low < high) {
                long middle = (low + high) >>> 1;
                if (new Budget(middle, bounceBuffers).ring(io) >= ring) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            return new Budget(low, bounceBuffers);
        }
    }

    /**
     * Plans the turns of one rank's slices.
     *
     * @param slices in the order of their turns
     * @throws CuFileException INVALID_VALUE if the budget is too small for the largest slice
     */
    static TurnPlan of(List<CheckpointFile> files, List<TensorSlice> slices,
            SortedMap<Integer, LoadOptions.Target> targets, LoadOptions options, Ranges ranges, Budget budget) {
        Io io = options.io();
        slices.stream().max(Comparator.comparingLong(slice -> room(slice, options))).ifPresent(largest -> {
            long room = room(largest, options) + base(options);
            if (budget.ring(io) < room) {
                Budget least = budget.with(room, io);
                throw CuFileException.invalid("LoadPlan.inTurn",
                        ("the budget of %s bytes is %s bytes too small: the largest tensor, %s of %s bytes, needs %s"
                                + " with staging of %s and bounce buffers of %s").formatted(budget.all,
                                        least.all - budget.all, CheckpointException.quote(largest.tensor().name()),
                                        largest.bytes(), least.all, least.staging(io), least.bounce()));
            }
        });
        long small = Math.min(Math.min(FULL_TURN, budget.all / SMALL_DIVISOR), budget.ring(io));
        LoadOptions within = options.with(
                new Io(budget.staging(io), io.requestSize(), io.requestsInFlight(), io.direct()));
        Layout layout = LayoutPlanner.planTurns(files, turns(slices, within, small), targets, within, ranges);
        return new TurnPlan(layout, within, budget.ring(io));
    }

    /** Refuses conversions that the GPU's memory has no kernel for. */
    void requireConversions(MemoryAllocator allocator) {
        for (Placed placed : layout.slices()) {
            options.conversion(placed.slice().tensor().dtype()).ifPresent(conversion -> {
                if (!allocator.converts(conversion.from().id(), conversion.type().id())) {
                    throw CuFileException.invalid("LoadPlan",
                            "as(%s): no kernel of this driver converts tensor %s, %s, in GPU memory"
                                    .formatted(conversion.type(),
                                            CheckpointException.quote(placed.slice().tensor().name()),
                                            conversion.from()));
                }
            });
        }
    }

    /** Divides slices into turns: neighbours of one file share a turn while they are small. */
    private static List<List<TensorSlice>> turns(List<TensorSlice> slices, LoadOptions options, long small) {
        List<List<TensorSlice>> turns = new ArrayList<>();
        TensorSlice last = null;
        long bytes = 0;
        for (TensorSlice slice : slices) {
            // a gap of a file may take an eighth of a run
            long more = slice.bytes() / 7 + room(slice, options);
            boolean joins = last != null && last.tensor().file().equals(slice.tensor().file())
                    && last.tensor().fileOffset() <= slice.tensor().fileOffset()
                    && last.tensor().isInOnePlace() && slice.tensor().isInOnePlace() && bytes + more <= small;
            if (!joins) {
                turns.add(new ArrayList<>());
                bytes = base(options);
            }
            turns.getLast().add(slice);
            bytes += more;
            last = slice;
        }
        return turns;
    }

    /** Returns the most bytes that a slice takes of a block. */
    private static long room(TensorSlice slice, LoadOptions options) {
        long converted = options.conversion(slice.tensor().dtype())
                .map(conversion -> conversion.bytes(slice.bytes()) + options.alignment()).orElse(0L);
        return slice.bytes() + options.alignment() + 2 * Pages.SIZE + converted;
    }

    /** Returns the bytes of a block before its first slice. */
    private static long base(LoadOptions options) {
        long converted = options.type() == null ? 0 : options.alignment();
        return Math.max(options.alignment(), Pages.SIZE) + Pages.SIZE + converted;
    }
}
