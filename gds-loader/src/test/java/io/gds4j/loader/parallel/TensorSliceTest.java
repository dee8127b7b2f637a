package io.gds4j.loader.parallel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.TensorBox;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.Split.Part;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Compares slices with an oracle that picks elements of whole tensors one by one. */
class TensorSliceTest {
    private static final Path FILE = Path.of("m.safetensors");
    private static final DType Q4_0 = new DType("Q4_0", 32, 18);
    private static final List<DType> TYPES = List.of(
            DType.F4, DType.F6_E2M3, DType.U8, DType.BF16, DType.F32, DType.F64, DType.C128, Q4_0,
            DType.opaque("ODD", 5));
    private static final long[] SIZES = {1, 2, 3, 4, 5, 7, 8, 12, 24, 32, 64, 96};

    private static final int MAX_RANKS = 8;

    /** Kinds of splits. */
    private static final int KINDS = 6;

    /** Shapes for each type, split and number of ranks. */
    private static final int SHAPES = 3;

    private static final class Refused extends Exception {
        private static final long serialVersionUID = 1L;
    }

    @Test
    void copiesKnowTheirEnds() {
        StridedCopy rows = new StridedCopy(1000, 10, 3, 100, 7, 20);
        assertThat(rows.bytes()).isEqualTo(30);
        assertThat(rows.fileEnd()).isEqualTo(1210);
        assertThat(rows.isContiguous()).isFalse();
        assertThat(new StridedCopy(1000, 10, 3, 10, 7, 20).isContiguous()).isTrue();
    }

    @Test
    void aSliceOfTheSameSizeAndAnotherShapeIsNotTheWhole() {
        TensorInfo tensor = new TensorInfo("a", DType.U8, List.of(2L, 6L), FILE, 512, 12);
        assertThat(new TensorSlice(tensor, 0, List.of(2L, 6L), 12, List.of()).isWhole()).isTrue();
        assertThat(new TensorSlice(tensor, 0, List.of(3L, 4L), 12, List.of()).isWhole()).isFalse();
        assertThat(new TensorSlice(tensor, 0, List.of(2L, 3L), 6, List.of()).isWhole()).isFalse();
        assertThat(TensorSlice.whole(tensor, 3)).asString().contains("'a'", "rank=3", "bytes=12");
    }

    @Test
    void bytesWithinARangeOfASliceAreThoseOfItsRows() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        SplittableRandom random = new SplittableRandom(seed);
        for (int round = 0; round < 1000; round++) {
            long width = 1 + random.nextInt(6);
            long rows = 1 + random.nextInt(4);
            long filePitch = rows == 1 ? width : width + random.nextInt(4);
            long slicePitch = rows == 1 ? width : width + random.nextInt(4);
            StridedCopy copy = new StridedCopy(random.nextInt(3), random.nextInt(50), width, rows, filePitch,
                    random.nextInt(20), slicePitch);
            long from = random.nextInt(60);
            long to = from + random.nextInt(30);
            List<StridedCopy> within = copy.within(from, to);
            String what = "-Dgds4j.property.seed=%d, %s, %d to %d: %s".formatted(seed, copy, from, to, within);
            assertThat(within.stream().flatMap(TensorSliceTest::bytes).map(Arrays::toString).toList()).as(what)
                    .isEqualTo(bytes(copy).filter(place -> place[0] >= from && place[0] < to).map(Arrays::toString)
                            .toList());
            assertThat(within).as(what).hasSizeLessThanOrEqualTo(3)
                    .allMatch(part -> part.width() > 0 && part.box() == copy.box())
                    .allMatch(part -> part.rows() > 1 || part.isContiguous() && part.slicePitch() == part.width());
        }
    }

    /** Returns where each byte is in the slice and in the file. */
    private static Stream<long[]> bytes(StridedCopy copy) {
        return LongStream.range(0, copy.rows()).boxed().flatMap(row -> LongStream.range(0, copy.width())
                .mapToObj(i -> new long[]{copy.sliceOffset() + row * copy.slicePitch() + i,
                        copy.fileOffset() + row * copy.filePitch() + i}));
    }

    /** Boxes in two files, in row-major and in any other order, with gaps between them. */
    @Test
    void slicesOfTensorsInBoxesHaveTheirElements() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        SplittableRandom random = new SplittableRandom(seed);
        for (int round = 0; round < 400; round++) {
            int dimensions = 1 + random.nextInt(4);
            List<Integer> order = new ArrayList<>(IntStream.range(0, dimensions).boxed().toList());
            if (random.nextBoolean()) {
                Collections.shuffle(order, new Random(random.nextLong()));
            }
            List<List<Integer>> borders = new ArrayList<>();
            for (int i = 0; i < dimensions; i++) {
                int size = 2 * (1 + random.nextInt(3));
                borders.add(random.ints(random.nextInt(3), 1, size).boxed().collect(Collectors.toCollection(
                        () -> new TreeSet<>(List.of(0, size)))).stream().toList());
            }
            Boxes boxes = new Boxes(borders, new DimensionOrder(order), random);
            int dimension = random.nextInt(dimensions);
            List<Part> parts = random.nextBoolean() ? Split.WHOLE : List.of(new Part(1, 0), new Part(1, 0));
            Split split = random.nextInt(4) == 0 ? Split.replicate() : new Split.Dimension(dimension, parts, true);
            int world = 1 + random.nextInt(3);
            String what = "-Dgds4j.property.seed=%d, round %d: %s of %s in %s boxes, order %s, %d ranks".formatted(
                    seed, round, split, boxes.tensor.shape(), boxes.tensor.boxes().size(), order, world);
            for (TensorSlice slice : ParallelPlan.of("p", List.of(new ParallelRule("*", split)))
                    .slice(FILE, List.of(boxes.tensor), world)) {
                boxes.check(slice, dimension, split, world, what);
            }
        }
    }

    /** A tensor in boxes whose elements are their numbers in row-major order. */
    private static final class Boxes {
        private static final Path OTHER = Path.of("n.safetensors");

        private final Map<Path, short[]> files = Map.of(FILE, new short[4096], OTHER, new short[4096]);
        private final TensorInfo tensor;

        Boxes(List<List<Integer>> borders, DimensionOrder order, SplittableRandom random) {
            List<Long> shape = borders.stream().map(List::getLast).map(Integer::longValue).toList();
            List<TensorBox> boxes = new ArrayList<>();
            int end = 0;
            int count = borders.stream().mapToInt(border -> border.size() - 1).reduce(1, (a, b) -> a * b);
            for (int number = 0; number < count; number++) {
                List<Long> begin = new ArrayList<>();
                List<Long> size = new ArrayList<>();
                int rest = number;
                for (List<Integer> border : borders) {
                    int at = rest % (border.size() - 1);
                    rest /= border.size() - 1;
                    begin.add((long) border.get(at));
                    size.add((long) border.get(at + 1) - border.get(at));
                }
                Path file = random.nextBoolean() ? FILE : OTHER;
                end += random.nextInt(3);
                boxes.add(TensorBox.of(file, end, begin, size));
                for (List<Long> index : indices(size, order)) {
                    files.get(file)[end++] = (short) linear(shape, IntStream.range(0, size.size())
                            .mapToObj(i -> begin.get(i) + index.get(i)).toList());
                }
            }
            tensor = TensorInfo.ofBoxes("a", DType.U8, shape, order, boxes);
        }

        private static long linear(List<Long> shape, List<Long> index) {
            long linear = 0;
            for (int i = 0; i < shape.size(); i++) {
                linear = linear * shape.get(i) + index.get(i);
            }
            return linear;
        }

        /** Returns all indices of a shape, as they lie in memory. */
        private static List<List<Long>> indices(List<Long> shape, DimensionOrder order) {
            List<List<Long>> all = List.of(Collections.nCopies(shape.size(), 0L));
            for (int dimension : order.dimensions()) {
                all = all.stream().flatMap(index -> LongStream.range(0, shape.get(dimension)).mapToObj(i -> {
                    List<Long> next = new ArrayList<>(index);
                    next.set(dimension, i);
                    return next;
                })).toList();
            }
            return all;
        }

        void check(TensorSlice slice, int dimension, Split split, int world, String what) {
            long[] found = new long[(int) slice.bytes()];
            Arrays.fill(found, -1);
            for (StridedCopy copy : slice.copies()) {
                bytes(copy).forEach(place -> {
                    assertThat(found[(int) place[0]]).as(what).isEqualTo(-1);
                    found[(int) place[0]] = files.get(slice.file(copy))[(int) place[1]];
                });
            }
            boolean[] kept = new boolean[tensor.shape().get(dimension).intValue()];
            if (split instanceof Split.Dimension divided && world > 1) {
                try {
                    keep(kept, divided.parts(), true, world, slice.rank());
                } catch (Refused e) {
                    throw new AssertionError(what, e);
                }
            } else {
                Arrays.fill(kept, true);
            }
            assertThat(found).as(what).containsExactly(indices(tensor.shape(), tensor.order()).stream()
                    .filter(index -> kept[index.get(dimension).intValue()])
                    .mapToLong(index -> linear(tensor.shape(), index)).toArray());
        }
    }

    @Test
    void everySliceHoldsTheElementsOfTheOracle() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        SplittableRandom random = new SplittableRandom(seed);
        long end = System.nanoTime() + Math.min(2, Long.getLong("gds4j.property.seconds", 0)) * 1_000_000_000;
        int cut = 0;
        do {
            for (int round = 0; round < TYPES.size() * MAX_RANKS * KINDS * SHAPES; round++) {
                DType type = TYPES.get(round % TYPES.size());
                int world = 1 + round / TYPES.size() % MAX_RANKS;
                Split split = split(round / TYPES.size() / MAX_RANKS % KINDS, world, random);
                List<Long> shape = LongStream.range(0, random.nextInt(4))
                        .map(i -> SIZES[random.nextInt(SIZES.length)])
                        .boxed()
                        .toList();
                OptionalLong bytes = type.bytes(shape);
                if (bytes.isEmpty() || bytes.getAsLong() > 1 << 20) {
                    continue;
                }
                TensorInfo tensor = new TensorInfo("a.experts.weight", type, shape, FILE, 512, bytes.getAsLong());
                String what = "-Dgds4j.property.seed=%d, round %d: %s %s, %d ranks"
                        .formatted(seed, round, tensor, split, world);
                cut += compare(tensor, split, world, random, what) ? 1 : 0;
            }
        } while (System.nanoTime() < end);
        assertThat(cut).isGreaterThan(100);
    }

    private static Split split(int kind, int world, SplittableRandom random) {
        boolean roundUp = random.nextBoolean();
        List<Part> parts = new ArrayList<>();
        for (int i = random.nextInt(3); i >= 0; i--) {
            parts.add(new Part(1 + random.nextInt(2), random.nextInt(3) == 0 ? 1 + random.nextInt(4) : 0));
        }
        return switch (kind) {
            case 0 -> Split.replicate();
            case 1 -> new Split.Owner(random.nextInt(world));
            case 2 -> new Split.Expert(random.nextInt(2), roundUp);
            case 3 -> new Split.Row(parts, roundUp);
            case 4 -> new Split.Dimension(random.nextInt(2), parts, roundUp);
            default -> new Split.Column(parts, roundUp);
        };
    }

    /** Returns whether the tensor could be divided. */
    private static boolean compare(
            TensorInfo tensor, Split split, int world, SplittableRandom random, String what) {
        ParallelPlan plan = ParallelPlan.of("test", List.of(new ParallelRule("*", split)));
        byte[] file = new byte[(int) tensor.fileEnd()];
        random.nextBytes(file);
        List<@Nullable List<int[]>> expected = new ArrayList<>();
        try {
            for (int rank = 0; rank < world; rank++) {
                expected.add(oracle(tensor, split, world, rank));
            }
        } catch (Refused e) {
            assertThatThrownBy(
                    () -> plan.slice(FILE, List.of(tensor), world), what)
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageNotContaining("\n");
            return false;
        }
        List<TensorSlice> slices;
        try {
            slices = plan.slice(FILE, List.of(tensor), world);
        } catch (CheckpointException e) {
            throw new AssertionError(what, e);
        }
        for (int rank = 0; rank < world; rank++) {
            int number = rank;
            List<TensorSlice> ofRank = slices.stream().filter(slice -> slice.rank() == number).toList();
            List<int[]> runs = expected.get(rank);
            assertThat(ofRank).as(what).hasSize(runs == null ? 0 : 1);
            if (runs != null) {
                byte[] bytes = assembled(file, ofRank.getFirst(), what);
                assertThat(bytes).as(what + ", rank " + rank).isEqualTo(picked(file, tensor, runs));
            }
        }
        return true;
    }

    private static byte[] assembled(byte[] file, TensorSlice slice, String what) {
        byte[] bytes = new byte[(int) slice.bytes()];
        boolean[] written = new boolean[bytes.length];
        for (StridedCopy copy : slice.copies()) {
            assertThat(copy.width()).as(what).isPositive();
            for (long row = 0; row < copy.rows(); row++) {
                int from = (int) (copy.fileOffset() + row * copy.filePitch());
                int to = (int) (copy.sliceOffset() + row * copy.slicePitch());
                for (int i = 0; i < copy.width(); i++) {
                    assertThat(written[to + i]).as(what).isFalse();
                    written[to + i] = true;
                    bytes[to + i] = file[from + i];
                }
            }
        }
        assertThat(written).as(what).doesNotContain(false);
        long elements = slice.shape().stream().mapToLong(Long::longValue).reduce(1, (a, b) -> a * b);
        assertThat(slice.tensor().dtype().bytes(elements)).as(what).hasValue(slice.bytes());
        return bytes;
    }

    private static byte[] picked(byte[] file, TensorInfo tensor, List<int[]> blocks) {
        int size = tensor.dtype().blockBytes();
        byte[] bytes = new byte[blocks.size() * size];
        for (int i = 0; i < blocks.size(); i++) {
            int from = (int) tensor.fileOffset() + blocks.get(i)[0] * size;
            System.arraycopy(file, from, bytes, i * size, size);
        }
        return bytes;
    }

    /** Returns the blocks that a rank keeps, in order; null if it keeps nothing. */
    private static @Nullable List<int[]> oracle(TensorInfo tensor, Split split, int world, int rank) throws Refused {
        List<Long> shape = tensor.shape();
        int dimensions = shape.size();
        List<Part> parts = List.of(new Part(1, 0));
        boolean roundUp = false;
        int dimension = -1;
        switch (split) {
            case Split.Replicate all -> {
            }
            case Split.Owner owner -> {
                if (owner.rank() != rank) {
                    return null;
                }
            }
            case Split.Expert expert -> {
                dimension = expert.dimension();
                if (dimensions <= dimension) {
                    throw new Refused();
                }
                roundUp = expert.roundUp();
            }
            case Split.Dimension named -> {
                dimension = named.dimension();
                if (dimensions <= dimension) {
                    throw new Refused();
                }
                parts = named.parts();
                roundUp = named.roundUp();
            }
            case Split.Column column -> {
                dimension = dimensions == 0 ? -1 : Math.max(0, dimensions - 2);
                parts = column.parts();
                roundUp = column.roundUp();
            }
            case Split.Row row -> {
                if (dimensions == 1 && shape.getFirst() > 1 && world > 1) {
                    throw new Refused(); // a vector has no inputs
                }
                dimension = dimensions < 2 ? -1 : dimensions - 1;
                parts = row.parts();
                if (dimension > 0 && parts.stream().anyMatch(p -> p.heads() > 0 && p.heads() < world)) {
                    throw new Refused(); // the sum of the ranks would have inputs twice
                }
                roundUp = row.roundUp();
            }
        }
        boolean single = dimensions < 2 && shape.stream().allMatch(size -> size == 1);
        long total = shape.stream().reduce(1L, (a, b) -> a * b);
        boolean[] kept = new boolean[dimension < 0 ? 0 : shape.get(dimension).intValue()];
        boolean whole = dimension < 0 || single || world == 1;
        if (!whole) {
            keep(kept, parts, roundUp, world, rank);
        }
        List<Long> elements = new ArrayList<>();
        for (long i = 0; i < total; i++) {
            if (whole || kept[(int) index(i, shape, dimension)]) {
                elements.add(i);
            }
        }
        int block = tensor.dtype().blockElements();
        if (elements.size() % block != 0) {
            throw new Refused();
        }
        List<int[]> blocks = new ArrayList<>();
        for (int j = 0; j < elements.size(); j++) {
            long i = elements.get(j);
            if (i % block != j % block) {
                throw new Refused();
            }
            if (j % block == 0) {
                blocks.add(new int[]{(int) (i / block)});
            } else if (i / block != blocks.getLast()[0]) {
                throw new Refused();
            }
        }
        return blocks;
    }

    private static long index(long linear, List<Long> shape, int dimension) {
        long rest = linear;
        for (int i = shape.size() - 1; i > dimension; i--) {
            rest /= shape.get(i);
        }
        return rest % shape.get(dimension);
    }

    private static void keep(boolean[] kept, List<Part> parts, boolean roundUp, int world, int rank) throws Refused {
        long shares = parts.stream().mapToLong(Part::share).sum();
        if (kept.length % shares != 0) {
            throw new Refused();
        }
        int start = 0;
        for (Part part : parts) {
            int length = (int) (kept.length / shares * part.share());
            int units = part.heads() == 0 ? length : (int) part.heads();
            if (length % units != 0) {
                throw new Refused();
            }
            for (int unit = 0; unit < units; unit++) {
                boolean mine;
                if (part.heads() > 0 && units < world) {
                    if (world % units != 0) {
                        throw new Refused();
                    }
                    mine = rank * units / world == unit;
                } else {
                    if (units % world != 0 && !roundUp) {
                        throw new Refused();
                    }
                    mine = unit / ((units + world - 1) / world) == rank;
                }
                if (mine) {
                    int width = length / units;
                    Arrays.fill(kept, start + unit * width, start + (unit + 1) * width, true);
                }
            }
            start += length;
        }
    }

    @Test
    void ranksTogetherKeepEveryByteOnce() {
        TensorInfo tensor = new TensorInfo("a.weight", DType.F32, List.of(6L, 12L), FILE, 0, 288);
        for (Split split : List.of(Split.column(), Split.row(), Split.expert())) {
            int[] kept = new int[288];
            ParallelPlan.of("test", List.of(new ParallelRule("a", split)))
                    .slice(FILE, List.of(tensor), 3)
                    .stream()
                    .flatMap(slice -> slice.copies().stream())
                    .forEach(copy -> IntStream.range(0, (int) copy.rows())
                            .forEach(row -> IntStream.range(0, (int) copy.width())
                                    .forEach(i -> kept[(int) (copy.fileOffset() + row * copy.filePitch()) + i]++)));
            assertThat(kept).containsOnly(1);
        }
    }

    @Test
    void rankWithoutRowsKeepsNoScale() {
        TensorInfo weight = new TensorInfo("w.weight", DType.U8, List.of(80L, 2L), FILE, 0, 160);
        TensorInfo scale = new TensorInfo("w.weight_scale", DType.F32, List.of(3L, 2L), FILE, 160, 24);
        Split heads = new Split.Column(List.of(new Part(1, 5)), true);
        List<TensorSlice> slices = ParallelPlan.of("test", List.of(new ParallelRule("*", heads)))
                .slice(FILE, List.of(weight, scale), 4);
        assertThat(slices).extracting(slice -> slice.shape().getFirst())
                .containsExactly(32L, 32L, 16L, 0L, 1L, 1L, 1L, 0L);
    }
}
