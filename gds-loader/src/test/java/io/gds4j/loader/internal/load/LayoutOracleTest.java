package io.gds4j.loader.internal.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.TensorBox;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.load.Layout.BlockSpec;
import io.gds4j.loader.internal.load.Layout.Extent;
import io.gds4j.loader.internal.load.Layout.Gather;
import io.gds4j.loader.internal.load.Layout.Image;
import io.gds4j.loader.internal.load.Layout.Placed;
import io.gds4j.loader.internal.load.Layout.Read;
import io.gds4j.loader.internal.load.Layout.Rows;
import io.gds4j.loader.internal.load.Layout.Staged;
import io.gds4j.loader.internal.load.Layout.Work;
import io.gds4j.loader.internal.load.LoadOptions.Target;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.ParallelRule;
import io.gds4j.loader.parallel.Split;
import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Random layouts, carried out on arrays: every slice has its bytes at its place, requests keep their rules, and the sums are those of
 * the bytes that move.
 */
class LayoutOracleTest {
    private static final int PAGE = 4096;
    private static final int MEMORY = 1 << 24;
    /** Columns of which a third is read by itself. */
    private static final int WIDE = 400_000;

    /** The files of a checkpoint, and the slices of each rank. */
    private record Model(List<CheckpointFile> files, List<TensorSlice> slices, boolean shared, int world) {
        private int number(Path path) {
            for (int i = 0; i < files.size(); i++) {
                if (files.get(i).path().equals(path)) {
                    return i;
                }
            }
            throw new AssertionError(path);
        }
    }

    private static Model model(SplittableRandom random, boolean shared) {
        int world = shared ? 1 + random.nextInt(3) : 1;
        int count = 1 + random.nextInt(3);
        long[] ends = new long[count];
        List<List<TensorInfo>> tensors = new ArrayList<>();
        for (int file = 0; file < count; file++) {
            boolean pages = random.nextInt(3) == 0;
            ends[file] = pages ? 0 : random.nextInt(300);
            List<TensorInfo> own = new ArrayList<>();
            for (int i = random.nextInt(12); i >= 0; i--) {
                ends[file] += pages ? 0 : switch (random.nextInt(4)) {
                    case 0 -> random.nextInt(100);
                    case 1 -> random.nextInt(70_000);
                    case 2 -> -ends[file] & (random.nextBoolean() ? 255 : PAGE - 1);
                    default -> 0;
                };
                boolean same = !shared && !own.isEmpty() && random.nextInt(6) == 0;
                TensorInfo tensor = tensor("t%d.%d".formatted(file, i), pages, random, path(file), ends[file]);
                own.add(same ? own.getLast().renamed(tensor.name()) : tensor);
                ends[file] = own.getLast().fileEnd();
            }
            tensors.add(own);
        }
        if (random.nextInt(4) == 0) {
            tensors.getFirst().add(boxes(random, ends));
        }
        List<CheckpointFile> files = new ArrayList<>();
        for (int file = 0; file < count; file++) {
            files.add(CheckpointFile.of(path(file), ends[file], 0, tensors.get(file), Map.of()));
        }
        List<TensorInfo> all = tensors.stream().flatMap(List::stream).toList();
        List<ParallelRule> rules = new ArrayList<>();
        for (TensorInfo tensor : all) {
            boolean wide = tensor.shape().getLast() == WIDE;
            Split split = !wide && random.nextInt(3) == 0 ? Split.replicate()
                    : new Split.Dimension(wide ? 1 : random.nextInt(2), Split.WHOLE, true);
            rules.add(new ParallelRule(tensor.name(), split));
        }
        List<TensorSlice> slices = shared ? ParallelPlan.of("p", rules).slice(path(0), all, world)
                : all.stream().map(tensor -> TensorSlice.whole(tensor, 0)).toList();
        return new Model(files, slices, shared, world);
    }

    /** Returns a byte of a file, which is not 0. */
    private static byte content(int file, long at) {
        return (byte) (1 | at * 0x9E3779B97F4A7C15L >>> 32 ^ file * 0x55);
    }

    private static Path path(int file) {
        return Path.of("f" + file);
    }

    private static TensorInfo tensor(String name, boolean pages, SplittableRandom random, Path file, long offset) {
        boolean wide = random.nextInt(40) == 0;
        long rows = random.nextInt(wide ? 4 : 16);
        long columns = wide ? WIDE : 1 + switch (pages ? 2 : random.nextInt(4)) {
            case 0 -> random.nextInt(10);
            case 1 -> random.nextInt(5000);
            case 2 -> PAGE - 1;
            default -> random.nextInt(500);
        };
        return new TensorInfo(name, DType.U8, List.of(rows, columns), file, offset, rows * columns);
    }

    /** Returns a tensor whose columns lie in two boxes at the ends of any files. */
    private static TensorInfo boxes(SplittableRandom random, long[] ends) {
        long rows = 1 + random.nextInt(8);
        long[] columns = {1 + random.nextInt(1500), 1 + random.nextInt(1500)};
        List<TensorBox> boxes = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            int file = random.nextInt(ends.length);
            boxes.add(TensorBox.of(path(file), ends[file], List.of(0L, i * columns[0]), List.of(rows, columns[i])));
            ends[file] += rows * columns[i];
        }
        return TensorInfo.ofBoxes("boxes", DType.U8, List.of(rows, columns[0] + columns[1]),
                DimensionOrder.rowMajor(2), boxes);
    }

    private static LoadOptions options(SplittableRandom random) {
        return LoadOptions.DEFAULTS
                .with(new LoadOptions.Io((32L << 10) << random.nextInt(8),
                        random.nextInt(2) * (PAGE << random.nextInt(6)),
                        1 + random.nextInt(2), false))
                .withAlignment(random.nextBoolean() ? 1 : 1L << random.nextInt(14));
    }

    /** Memory of ranks: allocated, one range of the caller, or one for each tensor. */
    private static SortedMap<Integer, Target> targets(
            SplittableRandom random, Model model, Map<TensorInfo, MemoryRange> given) {
        SortedMap<Integer, Target> targets = new TreeMap<>();
        int kind = random.nextInt(4);
        int part = MEMORY / 2 / model.world;
        long[] next = {MEMORY / 2 + random.nextInt(100)};
        for (int rank = 0; rank < model.world; rank++) {
            if (rank < model.world - 1 && random.nextBoolean()) {
                continue; // of another process
            }
            MemoryRange into = kind == 1
                    ? MemoryRange.ofAddress(MEMORY / 2 + rank * part + random.nextInt(3000), part - 3000,
                            MemoryKind.HOST)
                    : null;
            if (kind == 3 && random.nextBoolean()) {
                // a GPU, for which rows of parts pass slabs
                targets.put(rank, new Target(MemoryKind.CUDA_DEVICE, 0, null, null));
                continue;
            }
            targets.put(rank, new Target(MemoryKind.HOST, MemoryRange.NO_DEVICE, into, kind == 2 ? tensor -> {
                MemoryRange range = MemoryRange.ofAddress(next[0], Math.max(1, tensor.length()), MemoryKind.HOST);
                next[0] += tensor.length() + random.nextInt(50);
                given.put(tensor, range);
                return range;
            } : null));
        }
        return targets;
    }

    @Test
    @Timeout(value = 14, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void everySliceHasItsBytes() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        SplittableRandom seeds = new SplittableRandom(seed);
        byte[] memory = new byte[MEMORY];
        int gathers = 0;
        for (int round = 0; round < 40; round++) {
            SplittableRandom random = seeds.split();
            Model model = model(random, random.nextBoolean());
            LoadOptions options = options(random);
            Map<TensorInfo, MemoryRange> given = new IdentityHashMap<>();
            SortedMap<Integer, Target> targets = targets(random, model, given);
            String what =
                    "-Dgds4j.property.seed=%d, round %d: %d ranks, %s, alignment %d, %s, %s".formatted(seed, round,
                            model.world, options.io(), options.alignment(), targets, model.slices);
            Layout layout;
            try {
                layout = model.shared ? LayoutPlanner.plan(model.files, model.slices, targets, options)
                        : LayoutPlanner.plan(model.files, options.with(targets.get(0)));
                new Run(model, options, layout, memory, model.world == 1 ? given : Map.of(), random).check();
            } catch (Throwable e) {
                throw new AssertionError(what, e);
            }
            gathers += (int) layout.works().stream().filter(Gather.class::isInstance).count();
        }
        assertThat(gathers).isPositive();
    }

    /** Carries a layout out. */
    private static final class Run {
        private final Model model;
        private final LoadOptions options;
        private final Layout layout;
        private final byte[] memory;
        /** Memory of the caller for each tensor; empty if there is none. */
        private final Map<TensorInfo, MemoryRange> given;
        private final long[] origins;
        private final BitSet[] read;

        Run(Model model, LoadOptions options, Layout layout, byte[] memory,
                Map<TensorInfo, MemoryRange> given, SplittableRandom random) {
            this.memory = memory;
            this.given = given;
            Arrays.fill(memory, (byte) 0);
            this.model = model;
            this.options = options;
            this.layout = layout;
            origins = new long[layout.blocks().size()];
            read = new BitSet[layout.files().size()];
            long next = 0;
            for (int i = 0; i < origins.length; i++) {
                BlockSpec block = layout.blocks().get(i);
                MemoryRange caller = block.callerMemory();
                long address = caller == null ? next + 16 * random.nextInt(10) : caller.address();
                origins[i] = address + block.originOffset(address);
                next = caller == null ? address + block.bytes() : next;
            }
            assertThat(next).as("allocated").isLessThan(MEMORY / 2);
        }

        private int file(int index) {
            return model.number(layout.files().get(index).path());
        }

        private long address(Rows rows, long row) {
            return origins[rows.block()] + rows.copy().sliceOffset() + row * rows.copy().slicePitch();
        }

        private void read(Work work, long offset, long length) {
            assertThat(offset).isNotNegative();
            BitSet bytes = read[work.file()] == null ? new BitSet() : read[work.file()];
            read[work.file()] = bytes;
            if (model.shared) {
                assertThat(bytes.get((int) offset, (int) (offset + length)).isEmpty()).as("read twice").isTrue();
            }
            bytes.set((int) offset, (int) (offset + length));
        }

        private void read(Read work) {
            long size = options.io().requestSize(Long.MAX_VALUE);
            assertThat(work.length()).isBetween(1L, size);
            read(work, work.fileOffset(), work.length());
            int file = file(work.file());
            for (Rows rows : work.rows()) {
                StridedCopy copy = rows.copy();
                boolean any = false;
                for (long row = 0; row < copy.rows(); row++) {
                    long begin = copy.fileOffset() + row * copy.filePitch();
                    long place = address(rows, row);
                    long to = Math.min(begin + copy.width(), work.fileOffset() + work.length());
                    for (long at = Math.max(begin, work.fileOffset()); at < to; at++) {
                        memory[(int) (place + at - begin)] = content(file, at);
                        any = true;
                    }
                }
                assertThat(any).as("rows within the request").isTrue();
                if (congruent(work.file()) && layout.blocks().get(rows.block()).alignment() > 1) {
                    assertThat((address(rows, 0) - copy.fileOffset()) % PAGE).as("direct I/O").isZero();
                }
            }
            checkSums(work, List.of(new long[]{work.fileOffset(), work.fileOffset() + work.length()}));
        }

        /** Returns whether all tensors of a file can be in memory as in the file, modulo the page. */
        private boolean congruent(int file) {
            return !model.shared && options.alignment() <= PAGE
                    && layout.tensors().stream().allMatch(TensorInfo::isInOnePlace)
                    && layout.files().get(file).tensors().stream()
                            .allMatch(tensor -> tensor.fileOffset() % options.alignment() == 0);
        }

        /** Checks what a unit of work says that it brings, by the ranges that it brings to all ranks. */
        private void checkSums(Work work, List<long[]> ranges) {
            if (!model.shared) {
                return; // bytes that tensors share count for one of them
            }
            Set<Integer> tensors = new TreeSet<>();
            long bytes = 0;
            for (Placed placed : layout.slices()) {
                for (long[] own : ranges(placed.slice(), work.file())) {
                    for (long[] range : ranges) {
                        long length = Math.min(own[1], range[1]) - Math.max(own[0], range[0]);
                        bytes += Math.max(0, length);
                        if (length > 0) {
                            tensors.add(placed.tensor());
                        }
                    }
                }
            }
            assertThat(work.tensorBytes()).as("bytes of slices").isEqualTo(bytes);
            assertThat(work.tensors()).as("tensors").containsExactlyInAnyOrder(
                    tensors.stream().mapToInt(Integer::intValue).toArray());
        }

        /** Returns the bytes that a slice has of a file. */
        private List<long[]> ranges(TensorSlice slice, int file) {
            List<long[]> ranges = new ArrayList<>();
            for (StridedCopy copy : slice.copies()) {
                if (slice.file(copy).equals(layout.files().get(file).path())) {
                    for (long row = 0; row < copy.rows(); row++) {
                        long begin = copy.fileOffset() + row * copy.filePitch();
                        ranges.add(new long[]{begin, begin + copy.width()});
                    }
                }
            }
            return ranges;
        }

        private void gather(Gather work) {
            byte[] staging = new byte[(int) options.io().gatherBytes()];
            for (Extent extent : work.extents()) {
                read(work, extent.fileOffset(), extent.length());
                boolean taken = false;
                for (int i = 0; i < extent.length(); i++) {
                    int at = (int) extent.stagingOffset() + i;
                    taken |= staging[at] != 0;
                    staging[at] = content(file(work.file()), extent.fileOffset() + i);
                }
                assertThat(taken).as("staging memory of another extent").isFalse();
                assertThat((extent.stagingOffset() - extent.fileOffset()) % PAGE).as("direct I/O").isZero();
            }
            assertThat(work.images()).as("an image for each block")
                    .allMatch(image -> image.bytes() <= options.io().gatherBytes());
            for (Image image : work.images()) {
                long end = image.offset();
                for (Staged staged : image.rows()) {
                    assertThat(staged.rows().block()).isEqualTo(image.block());
                    assertThat(staged.rows().copy().sliceOffset()).as("ascending").isGreaterThanOrEqualTo(end);
                    end = staged.end();
                    staged.forEachRow((from, to, width) -> {
                        for (int i = 0; i < width; i++) {
                            memory[(int) (origins[image.block()] + to) + i] = staging[(int) from + i];
                        }
                    });
                }
                assertThat(end).isLessThanOrEqualTo(image.offset() + image.bytes());
            }
            checkSums(work, work.extents().stream()
                    .map(extent -> new long[]{extent.fileOffset(), extent.fileOffset() + extent.length()}).toList());
        }

        void check() {
            long last = -1;
            int file = 0;
            for (Work work : layout.works()) {
                assertThat(work.file()).isGreaterThanOrEqualTo(file);
                assertThat(work.fileOffset()).as("in order").isGreaterThanOrEqualTo(work.file() == file ? last : 0);
                assertThat(work.tensorBytes()).as("bytes that a rank needs").isPositive();
                file = work.file();
                last = work.fileOffset();
                if (work instanceof Read one) {
                    read(one);
                } else if (work instanceof Gather gather) {
                    gather(gather);
                }
            }
            Set<Integer> brought = new TreeSet<>();
            layout.works().forEach(work -> Arrays.stream(work.tensors()).forEach(brought::add));
            layout.aliases().values().forEach(brought::addAll);
            Set<Integer> needed = new TreeSet<>();
            BitSet used = new BitSet();
            long bytes = 0;
            long[] room = new long[origins.length];
            for (Placed placed : layout.slices()) {
                TensorSlice slice = placed.slice();
                long address = origins[placed.block()] + placed.offset();
                BlockSpec block = layout.blocks().get(placed.block());
                assertThat(block.rank()).isEqualTo(slice.rank());
                if (given.containsKey(slice.tensor())) {
                    assertThat(block.callerMemory()).as("memory for %s", slice).isEqualTo(given.get(slice.tensor()));
                    assertThat(placed.offset()).isZero();
                }
                if (slice.bytes() == 0) {
                    continue;
                }
                needed.add(placed.tensor());
                assertThat(address % block.alignment() % options.alignment()).as("alignment").isZero();
                for (StridedCopy copy : slice.copies()) {
                    int from = model.number(slice.file(copy));
                    for (long row = 0; row < copy.rows(); row++) {
                        for (long i = 0; i < copy.width(); i++) {
                            long at = address + copy.sliceOffset() + row * copy.slicePitch() + i;
                            long source = copy.fileOffset() + row * copy.filePitch() + i;
                            if (memory[(int) at] != content(from, source)) {
                                throw new AssertionError("byte %d of row %d of %s".formatted(i, row, slice));
                            }
                        }
                    }
                }
                bytes += slice.bytes();
                room[placed.block()] += slice.bytes() + options.alignment() - 1;
                used.set((int) address, (int) (address + slice.bytes()));
            }
            assertThat(brought).as("tensors in place").isEqualTo(needed);
            if (model.shared) {
                assertThat(layout.tensorBytes()).isEqualTo(bytes);
                assertThat(used.cardinality()).as("places of their own").isEqualTo(bytes);
                for (int i = 0; i < room.length; i++) {
                    BlockSpec block = layout.blocks().get(i);
                    assertThat(block.bytes()).as("memory, none of it for gaps")
                            .isLessThanOrEqualTo(
                                    block.callerMemory() == null ? room[i] + block.alignment() : Long.MAX_VALUE);
                }
            } else {
                assertThat(layout.tensorBytes()).isBetween((long) used.cardinality(), bytes);
            }
        }
    }
}
