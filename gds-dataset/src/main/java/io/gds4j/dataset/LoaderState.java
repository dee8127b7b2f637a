package io.gds4j.dataset;

import io.gds4j.dataset.DoneRecords.Range;
import io.gds4j.error.CuFileException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Which records ranks have had: all that a program saves to resume a data set, also with another number of ranks.
 *
 * <pre>{@code
 * saved = batch.state().json();                                   // on any rank, beside the weights
 * loader.resume(LoaderState.parse(saved)).share(new Share(rank, otherWorld));
 * }</pre>
 *
 * <p>
 * A loader with the number of ranks, batch and remainder of the state continues where its rank stopped. With others, the records that are
 * left of each epoch are divided anew, in the same order. The state of one rank says that all ranks had as many batches. If they had
 * not, {@link #merge} the states of all. A loader refuses a state that does not tell what other ranks had. Immutable.
 *
 * @since 0.1
 */
public final class LoaderState {
    /** Ranks whose shares can be divided anew. */
    private static final int MAX_WORLD = DoneRecords.MAX_RANGES;

    private final RecordPlan plan;
    /** Whether no batch can end early: then a number of batches tells the number of records. */
    private final boolean areBatchesWhole;
    /** Positions of ranks in the plan. Without any, all ranks are at its begin. */
    private final NavigableMap<Integer, Long> positions;

    LoaderState(RecordPlan plan, boolean areBatchesWhole, Map<Integer, Long> positions) {
        this.plan = plan;
        this.areBatchesWhole = areBatchesWhole;
        this.positions = Collections.unmodifiableNavigableMap(new TreeMap<>(positions));
    }

    /**
     * Reads a state.
     *
     * @param json what {@link #json} returned, also with other white space or another order of the fields
     * @return the state
     * @throws CuFileException INVALID_VALUE (EINVAL) for any other text; one line says what is wrong
     */
    public static LoaderState parse(String json) {
        return new LoaderStateText(json).state();
    }

    /**
     * Joins the states of several ranks of one run.
     *
     * @param states one or more, in any order
     * @return what all of them say
     * @throws CuFileException INVALID_VALUE (EINVAL) for states of different runs, or different ones of a rank
     */
    public static LoaderState merge(Collection<LoaderState> states) {
        NavigableMap<Integer, Long> positions = new TreeMap<>();
        LoaderState first = null;
        boolean whole = true;
        for (LoaderState state : states) {
            first = first == null ? state : first;
            whole &= state.areBatchesWhole;
            if (!state.plan.equals(first.plan)) {
                throw Failures.invalid(
                        "states of different runs: ranks, batch, remainder, order, records and what was done must agree");
            }
            state.positions.forEach((rank, position) -> {
                Long other = positions.putIfAbsent(rank, position);
                if (other != null && !other.equals(position)) {
                    throw Failures.invalid("two states of rank %s, after %s and after %s records".formatted(
                            rank, other, position));
                }
            });
        }
        if (first == null) {
            throw Failures.invalid("no states to merge");
        }
        return new LoaderState(first.plan, whole, positions);
    }

    /** {@return the state as one line of JSON, for {@link #parse}} */
    public String json() {
        return LoaderStateText.of(this);
    }

    RecordPlan plan() {
        return plan;
    }

    boolean areBatchesWhole() {
        return areBatchesWhole;
    }

    NavigableMap<Integer, Long> positions() {
        return positions;
    }

    /** Returns the state of one rank at a position. */
    LoaderState at(int rank, long position) {
        return new LoaderState(plan, areBatchesWhole, Map.of(rank, position));
    }

    /** Returns a state for a loader with a plan that has no done records: this one, or the first one of a new plan. */
    LoaderState resumed(RecordPlan wanted, boolean willBatchesBeWhole) {
        if (plan.records() != wanted.records() || !plan.order().equals(wanted.order())) {
            throw Failures.invalid("the state is of %s records, %s; the loader has %s, %s".formatted(
                    plan.records(), plan.order(), wanted.records(), wanted.order()));
        }
        return wanted.withDone(plan.done()).equals(plan)
                ? new LoaderState(plan, areBatchesWhole && willBatchesBeWhole, positions)
                : new LoaderState(wanted.withDone(done()), willBatchesBeWhole, Map.of());
    }

    /** Returns where a rank is. */
    long position(int rank) {
        Long known = positions.get(rank);
        return known == null ? new Ranks().position(rank) : known;
    }

    /** Returns the records that all ranks have had. */
    private DoneRecords done() {
        if (plan.world() > MAX_WORLD) {
            throw Failures.invalid("a state of %s ranks, allowed for another number of ranks: up to %s".formatted(
                    plan.world(), MAX_WORLD));
        }
        Ranks ranks = new Ranks();
        long[] epochs = new long[plan.world()];
        long[] at = new long[plan.world()];
        long slowest = Long.MAX_VALUE;
        long fastest = plan.done().epochs();
        for (int rank = 0; rank < epochs.length; rank++) {
            at[rank] = ranks.position(rank);
            epochs[rank] = ranks.itinerary(rank).epoch(at[rank]);
            slowest = Math.min(slowest, epochs[rank]);
            // a rank without records is in no epoch
            fastest = epochs[rank] == Long.MAX_VALUE ? fastest : Math.max(fastest, epochs[rank]);
        }
        if (slowest == Long.MAX_VALUE) {
            return plan.done();
        }
        if (fastest - slowest >= DoneRecords.MAX_EPOCHS) {
            throw Failures.invalid("ranks are in epochs %s to %s, allowed: %s apart".formatted(
                    slowest, fastest, DoneRecords.MAX_EPOCHS - 1));
        }
        List<Range> ranges = new ArrayList<>(plan.done().ranges());
        for (int rank = 0; rank < epochs.length; rank++) {
            Itinerary way = ranks.itinerary(rank);
            for (long epoch = slowest; epoch <= Math.min(epochs[rank], fastest); epoch++) {
                way.addDone(at[rank], epoch, ranges);
            }
        }
        return DoneRecords.of(slowest, ranges, plan.records());
    }

    /** What is known of the ranks, and what follows for the others: they had as many batches. */
    private final class Ranks {
        private final List<LeftRecords> left = plan.done().left(plan.records());
        private @Nullable Steps common;

        /** Whole epochs, and batches of the next one. */
        private record Steps(long epoch, long batches) {
        }

        Itinerary itinerary(int rank) {
            return Itinerary.of(plan, rank, Long.MAX_VALUE, left);
        }

        long position(int rank) {
            Long known = positions.get(rank);
            if (known != null || positions.isEmpty()) {
                return known == null ? 0 : known;
            }
            Steps steps = common == null ? steps() : common;
            common = steps;
            return itinerary(rank).after(steps.epoch, steps.batches);
        }

        private Steps steps() {
            if (!areBatchesWhole) {
                throw incomplete("batches of records of different lengths may end early");
            }
            Steps steps = null;
            for (Map.Entry<Integer, Long> rank : positions.entrySet()) {
                Steps next = steps(itinerary(rank.getKey()), rank.getValue());
                if (steps != null && !steps.equals(next)) {
                    throw incomplete("these had different numbers of batches");
                }
                steps = next;
            }
            Itinerary most = itinerary(0);
            Itinerary least = itinerary(plan.world() - 1);
            if (steps == null || !most.hasBatchesOf(least, steps.epoch)
                    || steps.batches > least.batches(steps.epoch)) {
                throw incomplete("an epoch has more batches for some ranks than for others");
            }
            return steps;
        }

        private Steps steps(Itinerary way, long position) {
            long epoch = way.epoch(position);
            long inEpoch = position - way.begin(epoch);
            if (inEpoch % plan.batch() != 0) {
                throw incomplete("one stopped within a batch");
            }
            return new Steps(epoch, inEpoch / plan.batch());
        }

        private CuFileException incomplete(String reason) {
            return Failures.invalid("the state knows %s of %s ranks, and %s: merge the states of all ranks".formatted(
                    positions.size(), plan.world(), reason));
        }
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof LoaderState state && plan.equals(state.plan)
                && areBatchesWhole == state.areBatchesWhole && positions.equals(state.positions);
    }

    @Override
    public int hashCode() {
        return plan.hashCode() * 31 + positions.hashCode();
    }

    @Override
    public String toString() {
        return json();
    }
}
