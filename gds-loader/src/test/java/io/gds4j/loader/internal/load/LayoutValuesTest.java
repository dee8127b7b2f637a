package io.gds4j.loader.internal.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.config.DirectStorage;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Lifetime;
import io.gds4j.internal.memory.MemoryAccess;
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
import io.gds4j.loader.parallel.StridedCopy;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The values of a layout: ranges of files, places of rows, sums, and the progress that follows from them. */
class LayoutValuesTest {
    private static final long MIB = 1 << 20;
    private static final Path FILE = Path.of("m.bin");

    /** Takes a few ranges: a defect must not fill the heap. */
    private static final class Few extends ArrayList<FileRange> {
        private static final long serialVersionUID = 1L;

        @Override
        public boolean add(FileRange range) {
            assertThat(size()).isLessThan(3);
            return super.add(range);
        }
    }

    private static TensorInfo tensor(String name, long offset, long length) {
        return new TensorInfo(name, DType.U8, List.of(length), FILE, offset, length);
    }

    /** Reads ranges as {@code begin-end begin-end}. */
    private static List<FileRange> ranges(String text) {
        return Stream.of(text.split(" ")).filter(word -> !word.isEmpty()).map(word -> word.split("-"))
                .map(ends -> new FileRange(Long.parseLong(ends[0]), Long.parseLong(ends[1]))).toList();
    }

    private static String text(List<FileRange> ranges) {
        StringJoiner text = new StringJoiner(" ");
        ranges.forEach(range -> text.add(range.begin() + "-" + range.end()));
        return text.toString();
    }

    @ParameterizedTest(name = "{0}: {1}")
    @CsvSource({"0-10 10-20, 0-20", "10-20 0-10, 0-20", "0-10 11-20, 0-10 11-20", "0-10 5-7, 0-10",
            "0-10 5-15 14-30, 0-30",
            "5-5, ''", "0-10 10-10, 0-10", "0-10 20-20 30-40, 0-10 30-40", "'', ''"})
    void rangesThatMeetAreOne(String ranges, String united) {
        assertThat(text(FileRange.united(ranges(ranges)))).isEqualTo(united);
    }

    /** Padding of up to 64 KiB is read, bytes of other tensors are not. */
    @ParameterizedTest(name = "{0} beside {1}: {2}")
    @CsvSource({
            "0-10 20-30, 0-10 20-30, 0-30", "0-10 20-30, 0-10 12-15 20-30, 0-10 20-30", "0-10 20-30, 0-10, 0-30",
            "0-10 65546-65550, 0-10 65546-65550, 0-65550", "0-10 65547-65550, 0-10 65547-65550, 0-10 65547-65550",
            "0-10 20-30 40-50, 0-10 20-30 40-50, 0-50", "0-10 20-30 40-50, 0-10 20-30 35-36 40-50, 0-30 40-50",
            "0-10 20-30 40-50, 0-10 15-16 20-30 40-50, 0-10 20-50", "10-20 30-40, 0-10 10-20 30-40, 10-40",
            "0-10 20-30, 0-10 5-15 20-30, 0-10 20-30"})
    void gapsAreReadIfNothingElseLiesThere(String ranges, String tensors, String united) {
        List<TensorInfo> all = ranges(tensors).stream()
                .map(range -> tensor("t" + range.begin(), range.begin(), range.length())).toList();
        assertThat(text(FileRange.throughPadding(ranges(ranges), all))).isEqualTo(united);
    }

    @ParameterizedTest(name = "{1} rows of {0}: {2}")
    @CsvSource({
            // long rows are read one by one, short ones with what lies between, from the first row of the tensor's pitch on
            "131072, 3, 1000-132072 1001000-1132072 2001000-2132072",
            "131071, 3, 0-3000000", "10, 1, 1000-1010", "131072, 1, 1000-132072"})
    void rowsAreReadTogetherIfTheyAreShort(long width, long rows, String expected) {
        TensorInfo tensor = tensor("t", 0, 4_000_000);
        StridedCopy copy = new StridedCopy(1000, width, rows, rows == 1 ? width : 1_000_000, 0, width);
        List<FileRange> found = new Few();
        FileRange.addRows(tensor.fileOffset(), copy, found);
        assertThat(text(found)).isEqualTo(expected);
    }

    @Test
    void shortRowsBeginAtAPitchOfTheirTensor() {
        List<FileRange> found = new ArrayList<>();
        FileRange.addRows(600, new StridedCopy(1730, 10, 2, 1000, 0, 10), found);
        assertThat(text(found)).isEqualTo("1600-3600");
    }

    @Test
    void rowsKnowTheirPlaces() {
        Staged staged = new Staged(new Rows(0, new StridedCopy(7, 10, 3, 100, 1000, 20)), 50);
        List<List<Long>> places = new ArrayList<>();
        staged.forEachRow((from, to, width) -> {
            assertThat(places).hasSizeLessThan(3);
            places.add(List.of(from, to, width));
        });
        assertThat(places).containsExactly(List.of(50L, 1000L, 10L), List.of(150L, 1020L, 10L),
                List.of(250L, 1040L, 10L));
        assertThat(staged.count()).isEqualTo(3);
        assertThat(staged.end()).isEqualTo(1050);
    }

    @ParameterizedTest
    @CsvSource({"0, 256, 0", "256, 256, 0", "1, 256, 255", "255, 256, 1", "4095, 4096, 1", "77, 1, 0"})
    void originOfABlockIsAligned(long address, long alignment, long offset) {
        assertThat(new BlockSpec(0, 1, alignment, MemoryKind.HOST, -1, null).originOffset(address)).isEqualTo(offset);
    }

    private static BlockSpec block(int rank, long bytes, MemoryKind kind, int device) {
        return new BlockSpec(rank, bytes, 256, kind, device, null);
    }

    private static Layout layout(List<BlockSpec> blocks, List<Work> works, Map<Integer, List<Integer>> aliases) {
        List<TensorInfo> tensors = List.of(tensor("a", 0, 10), tensor("b", 10, 20), tensor("c", 30, 30));
        List<Placed> slices = new ArrayList<>();
        for (int rank = 0; rank < 2; rank++) {
            for (int i = rank; i < 3; i++) {
                TensorInfo tensor = tensors.get(i);
                slices.add(new Placed(
                        new TensorSlice(tensor, rank, tensor.shape(), tensor.length(), List.of()), i, rank, 0));
            }
        }
        CheckpointFile file = CheckpointFile.of(FILE, 1000, 0, tensors, Map.of());
        return new Layout(List.of(file), blocks, tensors, slices, works, aliases, Map.of());
    }

    private static final List<Work> WORKS = List.of(
            new Read(0, 100, 50, List.of(), new int[]{0, 1}, 30),
            new Gather(0, List.of(new Extent(200, 5, 0), new Extent(300, 7, 4096)),
                    List.of(new Image(0, 0, 60, List.of()), new Image(1, 0, 40, List.of())), new int[]{1}, 12),
            new Gather(0, List.of(new Extent(400, 4, 0)), List.of(new Image(0, 0, 5000, List.of())), new int[]{2}, 4));

    @Test
    void sumsAreThoseOfReadsAndRanks() {
        Layout layout =
                layout(List.of(block(0, 100, MemoryKind.CUDA_DEVICE, 0), block(1, 30, MemoryKind.CUDA_DEVICE, 1),
                        block(0, 7, MemoryKind.CUDA_DEVICE, 1), block(0, 1, MemoryKind.HOST, 5)), WORKS, Map.of());
        assertThat(layout.destinationBytes(0)).isEqualTo(108);
        assertThat(layout.destinationBytes(1)).isEqualTo(30);
        assertThat(layout.gpus()).isEqualTo(2);
        assertThat(layout.slices(0)).extracting(slice -> slice.tensor().name()).containsExactly("a", "b", "c");
        assertThat(layout.slices(1)).extracting(slice -> slice.tensor().name()).containsExactly("b", "c");
        assertThat(WORKS).extracting(Work::fileOffset).containsExactly(100L, 200L, 400L);
        assertThat(layout.tensorBytes()).isEqualTo(46);
        assertThat(layout.storageBytes()).isEqualTo(66);
        assertThat(layout.gatherBytes()).as("an image").isEqualTo(5000);
        assertThat(layout(List.of(), WORKS.subList(0, 2), Map.of()).gatherBytes()).as("extents").isEqualTo(4103);
        assertThat(layout(List.of(), WORKS.subList(0, 1), Map.of()).gatherBytes()).isZero();
        List<String> reads = new ArrayList<>();
        layout.forEachRead(
                (file, offset, length, gathered) -> reads.add(file + " " + offset + " " + length + " " + gathered));
        assertThat(reads).containsExactly(
                "m.bin 100 50 false", "m.bin 200 5 true", "m.bin 300 7 true", "m.bin 400 4 true");
    }

    /** A tensor is placed once, after its last read; an alias with its original. */
    @Test
    void progressTellsEachTensorOnce() {
        List<String> told = new ArrayList<>();
        Layout layout = layout(List.of(), WORKS, Map.of(1, List.of(2)));
        ProgressCount count = new ProgressCount(layout, new Layout.Listener() {
            @Override
            public void moved(long bytes, long totalBytes, Path file, long nanos) {
                told.add(bytes + " of " + totalBytes + (nanos > 0 && nanos < 3_600_000_000_000L ? "" : " in " + nanos));
            }

            @Override
            public void placed(TensorInfo tensor) {
                told.add(tensor.name());
            }
        });
        WORKS.forEach(count::done);
        assertThat(told).containsExactly("30 of 46", "a", "42 of 46", "b", "c", "46 of 46");
        assertThat(count.bytes()).isEqualTo(46);
    }

    /** Requests are long at first and shrink towards the end, within their bounds. */
    @ParameterizedTest(name = "{0} MiB left, of {1}: {2} MiB")
    @CsvSource({"10000, 0, 256", "2048, 0, 256", "1600, 0, 200", "1024, 0, 128", "1, 0, 128", "10000, 7, 7"})
    void sizeOfRequestsFollowsWhatIsLeft(long left, long chosen, long expected) {
        LoadOptions.Io io = new LoadOptions.Io(64 * MIB, chosen * MIB, 0, false);
        assertThat(io.requestSize(left * MIB)).isEqualTo(expected * MIB);
        assertThat(io.requestSize(1600 * MIB + 8 * 4096 + 4095)).as("a multiple of a page")
                .isEqualTo(chosen == 0 ? 200 * MIB + 4096 : chosen * MIB);
    }

    /** Gaps of up to 64 KiB, and of up to an eighth of what is read with them, cost no request of their own. */
    @ParameterizedTest
    @CsvSource({"4194304, 65536, 1", "4194304, 65792, 2", "1048576, 299520, 2", "1835008, 16384, 1", "57344, 16384, 1",
            "57344, 16640, 2"})
    void shortGapsAreReadThrough(long length, long gap, int runs) {
        List<TensorInfo> tensors = List.of(tensor("a", 0, length), tensor("b", length + gap, length));
        CheckpointFile file = CheckpointFile.of(FILE, 2 * length + gap, 0, tensors, Map.of());
        Layout layout = LayoutPlanner.plan(List.of(file), LoadOptions.DEFAULTS.withAlignment(256));
        long distance = layout.slices().getLast().offset() - layout.slices().getFirst().offset();
        assertThat(distance == length + gap ? 1 : 2).isEqualTo(runs);
    }

    /** Tensors at odd offsets are gathered; a short gap between them is read along. */
    @ParameterizedTest
    @CsvSource({"1, 1", "65536, 1", "65537, 2"})
    void smallTensorsAreReadTogether(long gap, int reads) {
        List<TensorInfo> tensors = List.of(tensor("a", 4000, 300), tensor("b", 4301, 300), tensor("c", 4601 + gap, 99));
        CheckpointFile file = CheckpointFile.of(FILE, 4700 + gap, 0, tensors, Map.of());
        List<Long> offsets = new ArrayList<>();
        LayoutPlanner.plan(List.of(file), LoadOptions.DEFAULTS)
                .forEachRead((path, offset, length, gathered) -> offsets.add(offset));
        assertThat(offsets).hasSize(reads).allMatch(offset -> offset % 4096 == 0);
    }

    /** A part of a tensor begins anywhere in a page. The bytes beyond its last page need no request of their own. */
    @ParameterizedTest(name = "part of {0} bytes at {1}, by requests of {2}")
    @CsvSource({"2097152, 100, 0, 1", "8388608, 4095, 0, 1", "2097152, 0, 1048576, 2", "2097152, 1, 1048576, 3",
            "2097151, 1, 1048576, 2"})
    void partIsCutIntoAsFewRequestsAsItNeeds(long part, long offset, long requestSize, int requests) {
        TensorInfo tensor = TensorInfo.ofBoxes("t", DType.U8, List.of(2 * part), DimensionOrder.rowMajor(1), List.of(
                TensorBox.of(FILE, offset, List.of(0L), List.of(part)),
                TensorBox.of(FILE, 16 * MIB + offset, List.of(part), List.of(part))));
        CheckpointFile file = CheckpointFile.of(FILE, 32 * MIB, 0, List.of(tensor), Map.of());
        Layout layout = LayoutPlanner.plan(List.of(file),
                LoadOptions.DEFAULTS.with(new LoadOptions.Io(64 * MIB, requestSize, 0, false)));
        assertThat(layout.works()).hasSize(2 * requests);
        assertThat(layout.storageBytes()).isEqualTo(2 * part);
    }

    /** One read brings parts that are neighbours in the file to any places. */
    @ParameterizedTest(name = "{0}, gaps of {1} bytes")
    @CsvSource({"CUDA_DEVICE, 0, 1", "CUDA_DEVICE, 65536, 1", "CUDA_DEVICE, 65537, 3", "HOST, 700, 1",
            "HOST, 65537, 3"})
    void neighbouringPartsAreReadTogether(MemoryKind kind, long gap, int reads) {
        long part = 8 * MIB;
        List<TensorBox> boxes = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            boxes.add(TensorBox.of(FILE, 100 + i * (part + gap), List.of(2 * part - i * part), List.of(part)));
        }
        TensorInfo tensor =
                TensorInfo.ofBoxes("t", DType.U8, List.of(3 * part), DimensionOrder.rowMajor(1), boxes);
        CheckpointFile file = CheckpointFile.of(FILE, 32 * MIB, 0, List.of(tensor), Map.of());
        int device = kind.isCuda() ? 0 : MemoryRange.NO_DEVICE;
        Layout layout = LayoutPlanner.plan(List.of(file),
                LoadOptions.DEFAULTS.with(new LoadOptions.Target(kind, device, null, null)));
        assertThat(layout.works()).hasSize(reads);
        assertThat(layout.storageBytes()).isEqualTo(3 * part + (reads == 1 ? 2 * gap : 0));
    }

    @Test
    void memoryThatCannotBeFreedYetKeepsItsHolder() {
        int[] freed = new int[1];
        MemoryAllocation memory =
                MemoryAllocation.of(MemoryRange.ofAddress(4096, 8, MemoryKind.CUDA_DEVICE), () -> freed[0]++);
        DestinationBlock block = DestinationBlock.of(memory);
        Lifetime lifetime = MemoryAccess.USES.lifetimeOf(memory);
        assertThat(lifetime.claim()).isTrue();
        assertThatThrownBy(block::release).isInstanceOf(CuFileException.class);
        lifetime.unclaim();
        block.release();
        assertThat(freed).containsExactly(1);
    }

    @Test
    void tiedTensorsChangeNoRequests() {
        TensorInfo large = tensor("large", 0, 16_000 * MIB);
        List<Integer> requests = new ArrayList<>();
        for (List<TensorInfo> tensors : List.of(List.of(large), List.of(large, large.renamed("tied")))) {
            CheckpointFile file = CheckpointFile.of(FILE, large.length(), 0, tensors, Map.of());
            requests.add(LayoutPlanner.plan(List.of(file), LoadOptions.DEFAULTS).works().size());
        }
        assertThat(requests.getFirst()).isEqualTo(requests.getLast()).isGreaterThan(60);
    }

    @ParameterizedTest
    @CsvSource({"64, 0, 8", "64, 2, 16", "256, 0, 16", "1, 1, 0"})
    void stagingBudgetIsDividedAmongRequests(long budget, int requests, long mebibytes) {
        LoadOptions.Io io = new LoadOptions.Io(budget * MIB, 0, requests, false);
        assertThat(io.leastInFlight()).isEqualTo(requests == 0 ? 4 : requests);
        assertThat(io.gatherBytes()).isEqualTo(mebibytes == 0 ? MIB / 2 : mebibytes * MIB);
    }

    @Test
    void optionsKeepTheOthers() {
        LoadOptions.Io io = new LoadOptions.Io(1, 2, 3, true);
        LoadOptions.Target target = new LoadOptions.Target(MemoryKind.CUDA_DEVICE, 1, null, null);
        LoadOptions all = LoadOptions.DEFAULTS.with(tensor -> tensor.length() > 10).with(tensor -> tensor.length() < 30)
                .with(io).with(target).withAlignment(64).with(DirectStorage.OFF);
        assertThat(Arrays.asList(all.io(), all.target(), all.alignment(), all.directStorage()))
                .containsExactly(io, target, 64L, DirectStorage.OFF);
        assertThat(Stream.of(10L, 11L, 29L, 30L).filter(length -> all.filter().test(tensor("t", 0, length))))
                .as("both filters").containsExactly(11L, 29L);
    }

    @Test
    void memoryOfOneThreadIsRefused() {
        try (Arena confined = Arena.ofConfined(); Arena shared = Arena.ofShared()) {
            MemoryRange own = MemoryRange.ofSegment(confined.allocate(8));
            assertThatThrownBy(() -> DestinationBlock.checkAccess(own)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("confined arena");
            DestinationBlock.checkAccess(MemoryRange.ofSegment(shared.allocate(8)));
        }
        DestinationBlock.checkAccess(MemoryRange.ofAddress(4096, 8, MemoryKind.CUDA_DEVICE));
    }
}
