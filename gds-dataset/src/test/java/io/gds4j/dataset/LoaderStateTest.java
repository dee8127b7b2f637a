package io.gds4j.dataset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Runs that end anywhere and come back with other ranks, batches and remainders, against a model of sets and lists.
 * {@code -Dgds4j.property.seconds} sets the length, {@code -Dgds4j.property.seed} repeats a failure.
 */
@Timeout(60)
class LoaderStateTest {
    /** Fewest histories, however busy the machine is: in half a second it may have time for one. */
    private static final int LEAST = 300;

    private static final Duration LENGTH = Duration.ofMillis(Long.getLong("gds4j.property.seconds", 0) * 1000 + 500);

    /** What a model of a history knows: indexes of each epoch that are done, and how far ranks of the present run came. */
    private static final class Model {
        final int records;
        final int epochs;
        final List<BitSet> done = new ArrayList<>();
        /** The first epoch that not all ranks have ended. */
        int epoch;
        int batch;
        Remainder remainder = Remainder.KEEP;
        /** For each rank and epoch, the indexes to come when the run began. */
        List<List<List<Integer>>> shares = List.of();
        int[] taken = {};
        int[] batches = {};

        Model(int records, int epochs) {
            this.records = records;
            this.epochs = epochs;
            for (int i = 0; i < epochs; i++) {
                done.add(new BitSet());
            }
        }

        int world() {
            return taken.length;
        }

        /** Begins a run as the present one if its plan is the same. */
        void begin(int world, int newBatch, Remainder newRemainder) {
            if (world == world() && newBatch == batch && newRemainder == remainder) {
                return;
            }
            fold();
            batch = newBatch;
            remainder = newRemainder;
            taken = new int[world];
            batches = new int[world];
            shares = new ArrayList<>();
            for (int rank = 0; rank < world; rank++) {
                List<List<Integer>> all = new ArrayList<>();
                for (int i = 0; i < epochs; i++) {
                    all.add(i < epoch ? List.of() : share(rank, world, left(i)));
                }
                shares.add(all);
            }
        }

        private List<Integer> left(int of) {
            return IntStream.range(0, records).filter(index -> !done.get(of).get(index)).boxed().toList();
        }

        private List<Integer> share(int rank, int world, List<Integer> left) {
            List<List<Integer>> parts = new ArrayList<>();
            int at = 0;
            for (int i = 0; i < world; i++) {
                int size = switch (remainder) {
                    case KEEP -> left.size() / world + (i < left.size() % world ? 1 : 0);
                    case DROP -> left.size() / (world * batch) * batch;
                    case PAD -> (left.size() + world * batch - 1) / (world * batch) * batch;
                };
                List<Integer> part = new ArrayList<>();
                for (int k = 0; k < size; k++) {
                    part.add(left.get(at++ % left.size()));
                }
                parts.add(part);
            }
            return parts.get(rank);
        }

        /** Ends a run for good. */
        private void fold() {
            int ended = epochs;
            for (int rank = 0; rank < world(); rank++) {
                int at = 0;
                int first = epochs;
                for (int i = 0; i < epochs; i++) {
                    List<Integer> share = shares.get(rank).get(i);
                    for (int k = 0; k < share.size() && at + k < taken[rank]; k++) {
                        done.get(i).set(share.get(k));
                    }
                    if (!share.isEmpty() && at + share.size() > taken[rank]) {
                        first = Math.min(first, i);
                    }
                    at += share.size();
                }
                ended = Math.min(ended, first);
            }
            // ranks that never get a record end no epoch
            boolean idle = world() == 0
                    || share(0, world(), IntStream.range(0, records).boxed().toList()).isEmpty();
            epoch = idle ? epoch : Math.max(epoch, ended);
            while (epoch < epochs && records > 0 && done.get(epoch).cardinality() == records) {
                epoch++;
            }
        }

        /** Returns the next batch of a rank as epoch and index in turn; empty at the end. */
        List<Integer> next(int rank) {
            List<Integer> found = new ArrayList<>();
            int at = 0;
            for (int i = 0; i < epochs; i++) {
                List<Integer> share = shares.get(rank).get(i);
                for (int k = Math.max(0, taken[rank] - at); k < share.size() && found.size() < 2 * batch; k++) {
                    found.add(i);
                    found.add(share.get(k));
                }
                if (!found.isEmpty()) {
                    break;
                }
                at += share.size();
            }
            taken[rank] += found.size() / 2;
            batches[rank] += found.isEmpty() ? 0 : 1;
            return found;
        }

        /** Returns the numbers of batches of the epochs that a rank has ended or begun, and of other ranks then. */
        boolean standsForAll(int rank) {
            int at = 0;
            for (int i = 0; i < epochs; i++) {
                int index = i;
                int size = shares.get(rank).get(i).size();
                IntStream batches = shares.stream().mapToInt(share -> batches(share.get(index).size()));
                if (taken[rank] >= at + size) {
                    if (batches.distinct().count() > 1) {
                        return false;
                    }
                } else {
                    int had = batches(taken[rank] - at);
                    return batches.allMatch(count -> count >= had);
                }
                at += size;
            }
            // a rank without records in any epoch knows nothing of later ones
            List<Integer> whole = IntStream.range(0, records).boxed().toList();
            return share(0, world(), whole).isEmpty() || !share(rank, world(), whole).isEmpty();
        }

        private int batches(int size) {
            return (size + batch - 1) / batch;
        }
    }

    @Test
    void eachHistoryReadsWhatIsLeft() {
        long end = System.nanoTime() + LENGTH.toNanos();
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        long most = Long.getLong("gds4j.property.histories", Long.MAX_VALUE);
        int runs = 0;
        do {
            try {
                history(new Random(seed));
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("repeat with -Dgds4j.property.seed=" + seed, e);
            }
            runs++;
            seed++;
        } while ((runs < LEAST || System.nanoTime() < end) && runs < most);
        System.out.println(runs + " histories");
    }

    private static void history(Random random) {
        int records = random.nextInt(random.nextBoolean() ? 8 : 80);
        int epochs = 1 + random.nextInt(3);
        RecordOrder order = switch (random.nextInt(3)) {
            case 0 -> RecordOrder.sequential();
            case 1 -> RecordOrder.shuffled(random.nextLong());
            default -> RecordOrder.shuffledBlocks(random.nextLong(), 1 + random.nextInt(9), 1 + random.nextInt(4));
        };
        Model model = new Model(records, epochs);
        List<Remainder> rules = random.nextBoolean()
                ? List.of(Remainder.values()[random.nextInt(3)])
                : List.of(Remainder.values());
        int[][] reads = new int[epochs][records];
        LoaderState saved = null;
        int lives = random.nextInt(6);
        for (int life = 0; life <= lives; life++) {
            boolean again = life > 0 && random.nextInt(4) == 0;
            int world = again ? model.world() : 1 + random.nextInt(random.nextBoolean() ? 3 : 9);
            int batch = again ? model.batch : 1 + random.nextInt(random.nextBoolean() ? 3 : 12);
            Remainder rule = again ? model.remainder : rules.get(random.nextInt(rules.size()));
            model.begin(world, batch, rule);
            saved = live(random, model, order, saved, reads, life == lives);
        }
        for (int epoch = 0; epoch < epochs; epoch++) {
            int[] counts = reads[epoch];
            if (!rules.contains(Remainder.DROP)) {
                assertThat(IntStream.of(counts)).as("%s", rules).allMatch(count -> count >= 1);
            }
            if (!rules.contains(Remainder.PAD)) {
                assertThat(IntStream.of(counts)).as("%s", rules).allMatch(count -> count <= 1);
            }
        }
    }

    /** Runs all ranks for a while, or to the end, and returns what they save. */
    private static LoaderState live(
            Random random, Model model, RecordOrder order, LoaderState saved, int[][] reads, boolean toTheEnd) {
        boolean equal = random.nextBoolean();
        int same = random.nextInt(1 + random.nextInt(20));
        List<LoaderState> states = new ArrayList<>();
        for (int rank = 0; rank < model.world(); rank++) {
            RecordPlan plan = new RecordPlan(
                    order, model.records, DoneRecords.NONE, model.world(), model.batch, model.remainder);
            LoaderState state = saved == null ? new LoaderState(plan, true, Map.of()) : saved.resumed(plan, true);
            Itinerary way = Itinerary.of(state.plan(), rank, model.epochs);
            long position = state.position(rank);
            int steps = toTheEnd ? Integer.MAX_VALUE : equal ? same : random.nextInt(1 + random.nextInt(20));
            long[] numbers = new long[model.batch];
            for (int step = 0; step < steps; step++) {
                List<Integer> expected = model.next(rank);
                assertThat(position < way.end()).isEqualTo(!expected.isEmpty());
                if (expected.isEmpty()) {
                    break;
                }
                int count = way.batchAt(position);
                assertThat(count).isEqualTo(expected.size() / 2);
                way.records(position, count, numbers);
                for (int i = 0; i < count; i++) {
                    int epoch = expected.get(2 * i);
                    int index = expected.get(2 * i + 1);
                    assertThat(numbers[i]).isEqualTo(order.recordAt(index, model.records, epoch));
                    assertThat(way.record(position + i)).isEqualTo(numbers[i]);
                    assertThat(way.epoch(position + i)).isEqualTo(epoch);
                    reads[epoch][(int) numbers[i]]++;
                }
                position += count;
            }
            states.add(state.at(rank, position));
        }
        return saved(random, model, states);
    }

    private static LoaderState saved(Random random, Model model, List<LoaderState> states) {
        Collections.shuffle(states, random);
        LoaderState all = LoaderState.merge(states);
        LoaderState some = states.getFirst();
        int rank = some.positions().firstKey();
        assertThat(LoaderState.parse(all.json())).isEqualTo(all);
        assertThat(LoaderState.parse(some.json())).isEqualTo(some);
        RecordPlan other = new RecordPlan(
                all.plan().order(), model.records, DoneRecords.NONE, model.world() + 1, model.batch, model.remainder);
        LoaderState expected = all.resumed(other, true);
        if (IntStream.of(model.batches).distinct().count() == 1) {
            if (model.world() == 1 || model.standsForAll(rank)) {
                assertThat(some.resumed(other, true)).isEqualTo(expected);
                return some;
            }
            assertThatThrownBy(() -> some.resumed(other, true)).hasMessageContaining("merge the states of all ranks");
        }
        return all;
    }

    private static final List<String> STATES = List.of(
            new LoaderState(
                    new RecordPlan(RecordOrder.shuffledBlocks(-5, 7, 2), 1000, DoneRecords.of(2, List.of(
                            new DoneRecords.Range(2, 0, 17), new DoneRecords.Range(2, 40, 99),
                            new DoneRecords.Range(3, 1, 2)), 1000), 4, 32, Remainder.PAD),
                    false, Map.of(0, 64L, 3, 32L)).json(),
            new LoaderState(
                    new RecordPlan(RecordOrder.shuffled(42), 60000, DoneRecords.NONE, 8, 256, Remainder.KEEP), true,
                    Map.of(5, 1024L)).json(),
            new LoaderState(
                    new RecordPlan(RecordOrder.sequential(), 0, DoneRecords.NONE, 1, 1, Remainder.DROP), true,
                    Map.of()).json());

    @Test
    void textOfAStateStaysForEver() {
        assertThat(STATES.get(0)).isEqualTo("{\"version\":1,\"records\":1000,\"order\":\"shuffledBlocks\",\"seed\":-5,"
                + "\"block\":7,\"window\":2,\"epoch\":2,\"done\":[[2,0,17],[2,40,99],[3,1,2]],\"world\":4,\"batch\":32,"
                + "\"batches\":\"any\",\"remainder\":\"pad\",\"ranks\":[[0,64],[3,32]],\"crc32\":%s}".formatted(
                        crc(STATES.get(0))));
        String spread = STATES.get(1).replace(",", " ,\n\t").replace("{", "{ ").replace("}", "\r\n}\n");
        assertThat(LoaderState.parse(spread).json()).isEqualTo(STATES.get(1));
    }

    private static long crc(String json) {
        CRC32 crc = new CRC32();
        crc.update(json.substring(1, json.indexOf(",\"crc32\"")).getBytes());
        return crc.getValue();
    }

    @Test
    void changedTextIsRefusedInOneLineOrEqual() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        int equal = 0;
        for (int i = 0; i < 2000; i++) {
            String json = STATES.get(random.nextInt(STATES.size()));
            StringBuilder text = new StringBuilder(json);
            for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                int at = random.nextInt(text.length());
                switch (random.nextInt(5)) {
                    case 0 -> text.setLength(at + 1);
                    case 1 -> text.deleteCharAt(at).append(' ');
                    case 2 -> text.insert(at, "0123456789[]{},:\"\\\n\u0000é ".charAt(random.nextInt(22)));
                    case 3 -> text.insert(at, text.substring(at, at + random.nextInt(text.length() - at)));
                    default -> text.setCharAt(at, (char) (text.charAt(at) ^ 1 << random.nextInt(7)));
                }
            }
            try {
                assertThat(LoaderState.parse(text.toString()).json()).as("%s, seed %d", text, seed).isEqualTo(json);
                equal++;
            } catch (CuFileException e) {
                assertThat(e.getMessage()).as("%s, seed %d", text, seed).doesNotContain("\n").hasSizeLessThan(400);
            }
        }
        assertThat(equal).isLessThan(500);
    }

    /** Values that no loader writes, with a right checksum: refused, or they divide the records somehow, at once. */
    @Test
    void anyNumbersAreRefusedOrWork() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        List<String> values = List.of("0", "1", "-1", "7", "65536", "65537", "16777216", "2147483647", "2147483648",
                "4611686018427387903", "9223372036854775807", "-9223372036854775808", "\"keep\"", "\"drop\"",
                "\"pad\"", "\"whole\"", "[]", "[[2,1,5]]", "[[0,9223372036854775807]]", "[[1,4611686018427387904]]",
                "[[2,0,1],[1025,0,1]]", "[[2,0,1],[1026,0,1]]", "[1,[2]]", "{}", "[[0,1],[0,1]]", "[[\"a\",1,2]]");
        int accepted = 0;
        for (int i = 0; i < 2000; i++) {
            String json = STATES.get(random.nextInt(STATES.size()));
            for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                List<String> fields = new ArrayList<>(Arrays.asList(json.split(",(?=\")")));
                int field = random.nextInt(fields.size() - 1);
                String name = fields.get(field).substring(0, fields.get(field).indexOf(':') + 1);
                fields.set(field, name + values.get(random.nextInt(values.size())));
                json = String.join(",", fields);
            }
            json = json.replaceAll("\"crc32\":.*", "\"crc32\":" + crc(json) + "}");
            try {
                LoaderState state = LoaderState.parse(json);
                accepted++;
                RecordPlan plan = new RecordPlan(
                        state.plan().order(), state.plan().records(), DoneRecords.NONE, 1 + random.nextInt(3), 4,
                        Remainder.values()[random.nextInt(3)]);
                LoaderState resumed = state.resumed(plan, true);
                Itinerary way = Itinerary.of(resumed.plan(), 0, Long.MAX_VALUE);
                long position = resumed.position(0);
                if (position < way.end()) {
                    assertThat(way.record(position)).isBetween(0L, plan.records() - 1);
                }
            } catch (CuFileException e) {
                assertThat(e.getMessage()).as("%s, seed %d", json, seed).doesNotContain("\n").hasSizeLessThan(400);
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError(json + ", seed " + seed, e);
            }
        }
        assertThat(accepted).isGreaterThan(100);
    }

    private static LoaderState state(long records, int world, int batch, Remainder remainder, int rank, long position) {
        return new LoaderState(
                new RecordPlan(RecordOrder.sequential(), records, DoneRecords.NONE, world, batch, remainder), true,
                Map.of(rank, position));
    }

    @ParameterizedTest(name = "{3}: rank {4} of {1} after {5} of {0} records in batches of {2}")
    @CsvSource(delimiter = '|', textBlock = """
            # records | world | batch | remainder | rank | position | epoch and ranges that are done
            24 | 4 | 2 | KEEP | 0 | 2  | 0 [0-2 6-8 12-14 18-20]
            24 | 4 | 2 | KEEP | 3 | 6  | 1 []
            24 | 4 | 2 | KEEP | 1 | 8  | 1 [0-2 6-8 12-14 18-20]
            9  | 2 | 4 | KEEP | 0 | 4  | 0 [0-4 5-9]
            9  | 2 | 4 | KEEP | 1 | 4  | more batches for some
            9  | 2 | 4 | KEEP | 0 | 5  | more batches for some
            9  | 2 | 4 | KEEP | 0 | 3  | stopped within a batch
            9  | 2 | 2 | DROP | 1 | 2  | 0 [0-2 4-6]
            9  | 2 | 2 | DROP | 1 | 4  | 1 []
            9  | 2 | 4 | PAD  | 0 | 4  | 0 [0-4 8-9]
            9  | 2 | 4 | PAD  | 1 | 8  | 1 []
            2  | 4 | 1 | KEEP | 0 | 1  | more batches for some
            2  | 4 | 1 | DROP | 0 | 0  | 0 []
            4611686018427387904 | 2 | 1 | PAD | 0 | 4 | 0 [0-4 2305843009213693952-2305843009213693956]
            0  | 65536 | 1 | KEEP | 0 | 0 | 0 []
            0  | 65537 | 1 | KEEP | 0 | 0 | a state of 65537 ranks, allowed for another number of ranks: up to 65536
            """)
    void oneRankStandsForAllThatHadAsManyBatches(
            long records, int world, int batch, Remainder remainder, int rank, long position, String done) {
        LoaderState state = state(records, world, batch, remainder, rank, position);
        RecordPlan other = new RecordPlan(
                RecordOrder.sequential(), records, DoneRecords.NONE, world + 1, batch, remainder);
        String found;
        try {
            DoneRecords now = state.resumed(other, true).plan().done();
            found = now.epochs() + " " + now.ranges().stream().map(range -> range.begin() + "-" + range.end()).toList()
                    .toString().replace(",", "");
        } catch (CuFileException e) {
            found = e.getMessage();
        }
        assertThat(found).contains(done);
    }

    @Test
    void statesThatDoNotBelongTogetherAreRefused() {
        LoaderState one = state(24, 4, 2, Remainder.KEEP, 0, 2);
        assertThatThrownBy(() -> LoaderState.merge(List.of())).hasMessageContaining("no states to merge");
        assertThatThrownBy(() -> LoaderState.merge(List.of(one, state(24, 4, 3, Remainder.KEEP, 1, 3))))
                .hasMessageContaining("states of different runs");
        assertThatThrownBy(() -> LoaderState.merge(List.of(one, state(24, 4, 2, Remainder.KEEP, 0, 4))))
                .hasMessageContaining("two states of rank 0, after 2 and after 4 records");
        assertThatThrownBy(() -> one.resumed(new RecordPlan(
                RecordOrder.shuffled(1), 25, DoneRecords.NONE, 4, 2, Remainder.KEEP), true))
                .hasMessageContaining("the state is of 24 records, Sequential[]; the loader has 25, Shuffled[seed=1]");
        LoaderState early = new LoaderState(one.plan(), false, Map.of(0, 2L));
        assertThatThrownBy(() -> early.resumed(new RecordPlan(
                RecordOrder.sequential(), 24, DoneRecords.NONE, 5, 2, Remainder.KEEP), true))
                .hasMessageContaining("batches of records of different lengths may end early");
        assertThat(early.resumed(one.plan(), true)).as("the same plan needs no other rank").isEqualTo(early);
    }

    @Test
    void someRanksStandForAllIfTheyHadAsManyBatches() {
        LoaderState first = state(24, 4, 2, Remainder.KEEP, 0, 2);
        RecordPlan other = new RecordPlan(RecordOrder.sequential(), 24, DoneRecords.NONE, 3, 2, Remainder.KEEP);
        LoaderState equal = LoaderState.merge(List.of(first, state(24, 4, 2, Remainder.KEEP, 2, 2)));
        assertThat(equal.resumed(other, true)).isEqualTo(first.resumed(other, true));
        LoaderState unequal = LoaderState.merge(List.of(first, state(24, 4, 2, Remainder.KEEP, 2, 4)));
        assertThatThrownBy(() -> unequal.resumed(other, true))
                .hasMessageContaining("the state knows 2 of 4 ranks, and these had different numbers of batches");
    }

    @ParameterizedTest(name = "{0} and {1}")
    @CsvSource(delimiter = '|', textBlock = """
            # epochs that rank 0 and rank 1 have ended | what follows
            600 | 700  |
            0   | 1023 |
            0   | 1024 | ranks are in epochs 0 to 1024, allowed: 1023 apart
            """)
    void ranksAreAtMost1023EpochsApart(long slowest, long fastest, String refusal) {
        LoaderState both = LoaderState.merge(List.of(
                state(4, 2, 1, Remainder.KEEP, 0, 2 * slowest), state(4, 2, 1, Remainder.KEEP, 1, 2 * fastest)));
        RecordPlan other = new RecordPlan(RecordOrder.sequential(), 4, DoneRecords.NONE, 1, 1, Remainder.KEEP);
        if (refusal == null) {
            DoneRecords done = both.resumed(other, true).plan().done();
            assertThat(done.epochs()).isEqualTo(slowest);
            assertThat(done.lastEpoch()).isEqualTo(fastest - 1);
        } else {
            assertThatThrownBy(() -> both.resumed(other, true)).hasMessageContaining(refusal);
        }
    }

    @Test
    void statesAreEqualIfTheirTextIs() {
        LoaderState whole = state(24, 4, 2, Remainder.KEEP, 0, 2);
        LoaderState early = new LoaderState(whole.plan(), false, whole.positions());
        assertThat(LoaderState.merge(List.of(whole, whole)).areBatchesWhole()).isTrue();
        assertThat(LoaderState.merge(List.of(early, whole)).areBatchesWhole()).isFalse();
        assertThat(LoaderState.merge(List.of(whole, early))).isEqualTo(early).isNotEqualTo(whole);
        assertThat(whole).isNotEqualTo(whole.at(0, 4)).isNotEqualTo(state(25, 4, 2, Remainder.KEEP, 0, 2))
                .isNotEqualTo(whole.json()).hasToString(whole.json());
        assertThat(LoaderState.parse(whole.json())).hasSameHashCodeAs(whole);
        // a set of many states finds one at once
        assertThat(IntStream.range(0, 100).map(at -> whole.at(0, at).hashCode()).distinct().count()).isEqualTo(100);
        assertThat(IntStream.range(0, 100).map(n -> state(n, 4, 2, Remainder.KEEP, 0, 2).hashCode()).distinct()
                .count()).isEqualTo(100);
    }
}
