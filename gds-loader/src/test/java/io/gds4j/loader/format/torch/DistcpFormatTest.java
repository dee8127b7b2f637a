package io.gds4j.loader.format.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.fail;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.CheckpointVerifier;
import io.gds4j.loader.FormatFuzz;
import io.gds4j.loader.LoadDestination;
import io.gds4j.loader.LoadListener;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadProgress;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.ParallelLoadPlan;
import io.gds4j.loader.ParallelTensors;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.format.torch.DistcpBytes.Chunk;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.ParallelRule;
import io.gds4j.loader.parallel.Split;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.FakeGpu;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Folders of torch.distributed.checkpoint in its own form: what loads, and what is refused. */
@Tag("slow")
class DistcpFormatTest {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;
    private static final int CASES = Integer.getInteger("gds4j.property.cases", 20);

    @TempDir
    Path folder;

    private static Chunk chunk(String file, long... beginAndSize) {
        int n = beginAndSize.length / 2;
        return new Chunk(file, Arrays.copyOf(beginAndSize, n), Arrays.copyOfRange(beginAndSize, n, 2 * n));
    }

    private static long[] shape(long... shape) {
        return shape;
    }

    /** A tensor of 4 rows by two ranks in rows, one by two ranks in columns, one that is whole, and an object. */
    static DistcpBytes valid() {
        return new DistcpBytes()
                .other("step", "__0_0.distcp")
                .tensor("rows", shape(4, 3), chunk("__0_0.distcp", 0, 0, 2, 3), chunk("__1_0.distcp", 2, 0, 2, 3))
                .tensor("columns", shape(2, 4), chunk("__1_0.distcp", 0, 1, 2, 3), chunk("__0_0.distcp", 0, 0, 2, 1))
                .tensor("whole", shape(5), chunk("__1_0.distcp", 0, 5))
                .tensor("scalar", shape(), chunk("__0_0.distcp"));
    }

    private CheckpointException failure(DistcpBytes bytes) throws IOException {
        bytes.write(folder);
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(folder));
        assertThat(e).as("a refusal").isNotNull();
        return e;
    }

    /** Checks that each element of a slice is its place in the whole tensor, which a dimension cuts from {@code from} on. */
    private static void check(LoadedTensor tensor, List<Long> whole, int cut, long from) {
        List<Long> shape = tensor.info().shape();
        List<Long> strides = tensor.info().strides();
        long elements = tensor.info().elements();
        for (long i = 0; i < elements; i++) {
            long rest = i;
            long at = 0;
            long expected = 0;
            long inner = 1;
            for (int d = shape.size() - 1; d >= 0; d--) {
                long index = rest % shape.get(d);
                rest /= shape.get(d);
                at += index * strides.get(d);
                expected += (index + (d == cut ? from : 0)) * inner;
                inner *= whole.get(d);
            }
            if (tensor.segment().get(INT, 4 * at) != (int) expected) {
                fail("element %s of %s is %s instead of %s", i, tensor, tensor.segment().get(INT, 4 * at), expected);
            }
        }
    }

    private static void checkWhole(LoadedTensors tensors) {
        for (LoadedTensor tensor : tensors) {
            check(tensor, tensor.info().shape(), -1, 0);
        }
        assertThat(CheckpointVerifier.verify(tensors).mismatches()).isEmpty();
    }

    @Test
    void tensorsOfSeveralRanksAreWhole() throws IOException {
        valid().write(folder);
        Files.createFile(folder.resolve("__2_0.distcp")); // of a rank without tensors
        Checkpoint checkpoint = Checkpoint.open(folder);
        assertThat(checkpoint.format().id()).isEqualTo("distcp");
        assertThat(checkpoint.tensors()).containsOnlyKeys("rows", "columns", "whole", "scalar");
        assertThat(checkpoint.tensors().get("rows").boxes()).hasSize(2);
        assertThat(checkpoint.bytes()).isEqualTo(4 * (12 + 8 + 5 + 1));
        assertThat(checkpoint.warnings()).singleElement().asString().contains("no tensors, not loaded: 'step'");
        assertThat(Checkpoint.open(folder.resolve(".metadata")).tensors()).isEqualTo(checkpoint.tensors());
        try (CuFileDriver driver = CuFileDriver.open();
                LoadedTensors all = checkpoint.plan().to(MemoryKind.HOST).load(driver);
                LoadedTensors some = checkpoint.plan().include("col").to(MemoryKind.HOST).load(driver)) {
            checkWhole(all);
            checkWhole(some);
            assertThat(some.names()).containsExactly("columns");
        }
    }

    /** Writes parts of odd sizes, which lie in one file in their order and in the other one against it; returns half of a tensor. */
    private int writeRowsOfParts() throws IOException {
        int half = (3 << 17) + 1;
        DistcpBytes bytes = new DistcpBytes();
        for (String name : List.of("a", "b", "c")) {
            bytes.tensor(name, shape(2L * half), chunk("__0_0.distcp", 0, half),
                    chunk("__1_0.distcp", half + 5, half - 5),
                    chunk("__1_0.distcp", half, 5));
        }
        bytes.write(folder);
        return half;
    }

    /** One read brings all parts that a file has to their places. */
    @ParameterizedTest
    @EnumSource(names = {"HOST", "CUDA_DEVICE"})
    void partsOfAFileArriveByOneRequest(MemoryKind kind) throws IOException {
        writeRowsOfParts();
        FakeGpu gpu = FakeGpu.builder().bytesPerDevice(32 << 20).build();
        try (CuFileDriver driver = kind == MemoryKind.HOST ? CuFileDriver.open() : gpu.openDriver();
                LoadedTensors tensors = Checkpoint.open(folder).plan().to(kind).load(driver)) {
            assertThat(tensors.report().requests()).isEqualTo(2);
            for (LoadedTensor tensor : tensors) {
                check(tensor.toHost(), tensor.info().shape(), -1, 0);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1 << 20, (6 << 19) + 1000})
    void fileThatIsCutBetweenPartsEndsTheLoad(long size) throws IOException {
        writeRowsOfParts();
        Path file = folder.resolve("__1_0.distcp");
        LoadListener cutting = new LoadListener() {
            @Override
            public void progress(LoadProgress now) {
                // only the beginning matters
            }

            @Override
            public void started(LoadPlan plan) {
                try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                    channel.truncate(size);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        };
        try (CuFileDriver driver = CuFileDriver.open()) {
            CheckpointException e = catchThrowableOfType(CheckpointException.class,
                    () -> Checkpoint.open(folder).plan().toHost().load(driver, cutting));
            assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED);
            assertThat(e.path()).contains(file);
            assertThat(e.fileOffset()).hasValue(size);
        }
    }

    @Test
    void interruptBetweenRowsOfPartsTellsTheBytesInPlace() throws IOException {
        int half = writeRowsOfParts();
        Thread loading = Thread.currentThread();
        try (CuFileDriver driver = CuFileDriver.open()) {
            LoadPlan plan = Checkpoint.open(folder).plan().toHost().requestsInFlight(1);
            CuFileInterruptedException e = catchThrowableOfType(CuFileInterruptedException.class,
                    () -> plan.load(driver, (LoadListener) progress -> {
                        loading.interrupt();
                        awaitInterrupt();
                    }));
            assertThat(e.bytesTransferred()).isEqualTo(3 * 4L * half);
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    /** Waits until the load stops its threads. */
    private static void awaitInterrupt() {
        try {
            Thread.currentThread().join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void tensorsInSeveralPlacesAreNotMapped() throws IOException {
        valid().write(folder);
        Checkpoint checkpoint = Checkpoint.open(folder);
        assertThatThrownBy(() -> checkpoint.plan().map()).hasMessageContaining("lies in 2 places; load gathers them");
        try (LoadedTensors whole = checkpoint.plan().include("whole").map()) {
            checkWhole(whole);
        }
    }

    @Test
    void fileOfOneRankLeadsToTheFolder() throws IOException {
        valid().write(folder);
        CheckpointException e = catchThrowableOfType(CheckpointException.class,
                () -> Checkpoint.open(folder.resolve("__1_0.distcp")));
        assertThat(e.getMessage()).contains("name its folder");
    }

    @Test
    void tensorWithoutElementsBelongsToTheMetadata() throws IOException {
        new DistcpBytes().tensor("a", shape(2), chunk("__0_0.distcp", 0, 2)).described("none", shape(0, 4))
                .write(folder);
        TensorInfo none = Checkpoint.open(folder).tensors().get("none");
        assertThat(none.length()).isZero();
        assertThat(none.file()).hasFileName(".metadata");
    }

    @Test
    void filesOfTrainersBesideAreNoPart() throws IOException {
        valid().write(folder);
        Files.write(folder.resolve("common.pt"), new DistcpBytes().record(shape(2), chunk("a", 0, 2)));
        Checkpoint checkpoint = Checkpoint.open(folder);
        assertThat(checkpoint.format().id()).isEqualTo("distcp");
        assertThat(checkpoint.warnings()).anySatisfy(line -> assertThat(line).contains("common.pt"));
    }

    @ParameterizedTest
    @CsvSource({"0 2 3 1, 0", "0 2 3 1, 1", "2 3 1 0, 1", "1 0 2 3, 2"})
    void permutedTensorsKeepTheirOrder(String dimensions, int cut) throws IOException {
        DistcpBytes bytes = new DistcpBytes();
        bytes.order = Stream.of(dimensions.split(" ")).mapToInt(Integer::parseInt).toArray();
        long[] whole = {4, 4, 4, 3};
        long[] begin = new long[4];
        long[] size = whole.clone();
        size[cut] = 1;
        Chunk first = new Chunk("__0_0.distcp", begin.clone(), size.clone());
        begin[cut] = 1;
        size[cut] = whole[cut] - 1;
        bytes.tensor("w", whole, first, new Chunk("__1_0.distcp", begin, size)).write(folder);
        try (CuFileDriver driver = CuFileDriver.open();
                LoadedTensors all = Checkpoint.open(folder).plan().to(MemoryKind.HOST).load(driver)) {
            assertThat(all.get("w").info().order().isRowMajor()).isFalse();
            checkWhole(all);
            SavePlan.builder().checkpoint(Checkpoint.open(folder)).toFolder(folder.resolve("saved")).save(driver);
            try (LoadedTensors saved =
                    Checkpoint.open(folder.resolve("saved")).plan().to(MemoryKind.HOST).load(driver)) {
                checkWhole(saved);
            }
        }
    }

    /** Any number of ranks saved, any number loads. */
    @Test
    void randomPartsBecomeWholeTensors() throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        RandomGenerator random = RandomGeneratorFactory.of("Xoshiro256PlusPlus").create(seed);
        try (CuFileDriver driver = CuFileDriver.open()) {
            for (int round = 0; round < CASES; round++) {
                Path place = folder.resolve("case" + round);
                try {
                    random(random).write(place);
                    checkLoads(driver, Checkpoint.open(place), random, place);
                } catch (Throwable e) {
                    throw new AssertionError("-Dgds4j.property.seed=%s, round %s".formatted(seed, round), e);
                }
            }
        }
    }

    private static void checkLoads(CuFileDriver driver, Checkpoint checkpoint, RandomGenerator random, Path place) {
        try (LoadedTensors all = checkpoint.plan().to(MemoryKind.HOST).load(driver)) {
            checkWhole(all);
        }
        int cut = random.nextInt(3);
        int world = 1 + random.nextInt(4);
        Split split = new Split.Dimension(cut, Split.WHOLE, true);
        List<LoadDestination> ranks = IntStream.range(0, world).mapToObj(rank -> LoadDestination.host()).toList();
        ParallelLoadPlan plan = checkpoint.plan().select(tensor -> tensor.shape().size() > cut)
                .across(ranks, ParallelPlan.of("p", List.of(
                        new ParallelRule("cut" + cut, split, true), new ParallelRule("*", Split.replicate(), true))));
        long[] read = new long[1];
        plan.requests().forEach(request -> read[0] += request.length());
        long distinct = checkpoint.tensors().values().stream().filter(tensor -> tensor.shape().size() > cut)
                .mapToLong(TensorInfo::length).sum();
        boolean boxes = checkpoint.tensors().values().stream().anyMatch(tensor -> !tensor.isInOnePlace());
        // between tensors that lie in one place each, a load reads headers
        assertThat(read[0]).as("bytes read").isBetween(distinct, boxes ? distinct : distinct + (64 << 10));
        try (ParallelTensors tensors = plan.load(driver)) {
            for (int rank = 0; rank < world; rank++) {
                for (LoadedTensor tensor : tensors.rank(rank)) {
                    List<Long> whole = checkpoint.tensors().get(tensor.name()).shape();
                    boolean isCut = tensor.name().equals("cut" + cut) && whole.stream().anyMatch(size -> size > 1);
                    check(tensor, whole, isCut ? cut : -1, Math.ceilDiv(whole.get(cut), (long) world) * rank);
                }
                assertThat(CheckpointVerifier.verify(tensors.rank(rank)).mismatches()).isEmpty();
            }
        }
        SavePlan.builder().checkpoint(checkpoint).toFolder(place.resolve("saved")).save(driver);
        try (LoadedTensors saved = Checkpoint.open(place.resolve("saved")).plan().to(MemoryKind.HOST).load(driver)) {
            checkWhole(saved);
            assertThat(saved.names()).isEqualTo(checkpoint.tensors().keySet());
        }
    }

    private static DistcpBytes random(RandomGenerator random) {
        DistcpBytes bytes = new DistcpBytes();
        int ranks = 1 + random.nextInt(5);
        for (int i = 0; i < 3; i++) {
            int dimensions = i + 1 + random.nextInt(2);
            long[] shape = LongStream.generate(() -> 1 + random.nextInt(random.nextInt(8) == 0 ? 60 : 9))
                    .limit(dimensions).toArray();
            List<Chunk> chunks = new ArrayList<>();
            cut(random, ranks, new long[dimensions], shape, chunks, random.nextInt(6));
            bytes.tensor("cut" + i, shape, chunks.toArray(Chunk[]::new));
        }
        return bytes;
    }

    /** Cuts a box at random places, in any dimension. */
    private static void cut(RandomGenerator random, int ranks, long[] begin, long[] size, List<Chunk> chunks,
            int depth) {
        int dimension = random.nextInt(size.length);
        if (depth == 0 || size[dimension] == 1) {
            chunks.add(new Chunk("__%d_0.distcp".formatted(random.nextInt(ranks)), begin, size));
            return;
        }
        long at = random.nextLong(1, size[dimension]);
        long[] first = size.clone();
        first[dimension] = at;
        cut(random, ranks, begin, first, chunks, depth - 1);
        long[] next = begin.clone();
        next[dimension] += at;
        long[] rest = size.clone();
        rest[dimension] -= at;
        cut(random, ranks, next, rest, chunks, depth - 1);
    }

    private static Arguments broken(String what, String rule, String message, Consumer<DistcpBytes> change) {
        return Arguments.of(what, rule, message, change);
    }

    static Stream<Arguments> brokenCheckpoints() {
        return Stream.of(
                broken("a gap", "DistributedCheckpoint", "tensor 't' of shape [4] is incomplete: no file has [1:2]",
                        b -> b.tensor("t", shape(4), chunk("a", 0, 1), chunk("a", 2, 2))),
                broken("an overlap", "DistributedCheckpoint", "has parts that overlap",
                        b -> b.tensor("t", shape(4), chunk("a", 0, 3), chunk("a", 2, 2))),
                broken("one part of a tensor", "DistributedCheckpoint", "no file has [2:4]",
                        b -> b.tensor("t", shape(4), chunk("a", 0, 2))),
                broken("a part outside", "DistributedCheckpoint", "ends at 6 of dimension 0, which has 4",
                        b -> b.tensor("t", shape(4), chunk("a", 0, 4), chunk("a", 4, 2))),
                broken("parts of other dimensions", "DistributedCheckpoint",
                        "has 2 offsets and 2 sizes for 1 dimensions",
                        b -> b.described("t", shape(4), chunk("a", 0, 0, 2, 2))),
                broken("no record", "DistributedCheckpoint", "the chunk of 't' at [0] has no record",
                        b -> b.described("t", shape(4), chunk("a", 0, 4))),
                broken("two records", "DistributedCheckpoint", "two records for the part at [0]",
                        b -> b.tensor("t", shape(4), chunk("a", 0, 4)).record("t", shape(0), "a", new byte[3])),
                broken("a record of another shape", "DistributedCheckpoint", "the file is of another save",
                        b -> b.described("t", shape(4), chunk("a", 0, 4)).record("t", shape(0), "a",
                                b.record(shape(5), chunk("a", 0, 5)))),
                broken("a record that is no zip file", "ZipStructure", "the record of tensor 't' at 0",
                        b -> b.described("t", shape(4), chunk("a", 0, 4)).record("t", shape(0), "a", new byte[300])),
                broken("a name outside", "IndexFileName", "only files in the folder",
                        b -> b.tensor("t", shape(4), chunk("../a", 0, 4))),
                broken("compressed records", "UnsupportedFormat", "is transformed by 'stream.zstd'", b -> {
                    b.transform = "stream.zstd";
                    b.tensor("t", shape(4), chunk("a", 0, 4));
                }),
                broken("a class of another kind", "DistributedCheckpoint",
                        "an object of TensorStorageMetadata is needed, found 'torch.distributed.checkpoint.metadata.Other'",
                        b -> {
                            b.described = "Other";
                            b.tensor("t", shape(4), chunk("a", 0, 4));
                        }),
                broken("two tensors of one name", "DuplicateTensor", "two tensors have the name 't'",
                        b -> b.tensor("t", shape(4), chunk("a", 0, 4)).described("t", shape(4), chunk("a", 0, 4))));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("brokenCheckpoints")
    void brokenCheckpointsAreRefusedByName(String what, String rule, String message, Consumer<DistcpBytes> change)
            throws IOException {
        DistcpBytes bytes = new DistcpBytes().tensor("first", shape(2), chunk("__0_0.distcp", 0, 2));
        change.accept(bytes);
        folder = folder.resolve("inner");
        CheckpointException e = failure(bytes);
        assertThat(e.rule().variant()).isEqualTo(rule);
        assertThat(e.getMessage()).contains(message).doesNotContain("\n");
    }

    @Test
    void saveOfFewerRanksOverAnotherIsRefused() throws IOException {
        valid().tensor("third", shape(2), chunk("__2_0.distcp", 0, 2)).write(folder);
        CheckpointException e = failure(valid());
        assertThat(e.getMessage()).contains("'__2_0.distcp' is of another save");
    }

    @Test
    void fileOfAnotherSaveIsRefused() throws IOException {
        valid().write(folder);
        Path file = folder.resolve("__1_0.distcp");
        byte[] own = Files.readAllBytes(file);
        Files.write(file, Arrays.copyOf(own, own.length + 64));
        assertThat(refusal()).contains("end at " + own.length, "of another save");
        Files.write(file, Arrays.copyOf(own, own.length - 64));
        assertThat(refusal()).contains("reaches past the file", "of another save, or cut");
        Files.delete(file);
        assertThat(refusal()).contains("'__1_0.distcp', which does not exist", "MissingShard");
        Files.delete(folder.resolve(".metadata"));
        assertThat(refusal()).contains("no .metadata: the save did not end");
        Files.createFile(folder.resolve("__0.metadata"));
        assertThat(refusal()).contains("each rank has metadata of its own");
    }

    private String refusal() {
        return catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(folder)).getMessage();
    }

    @Test
    void partsInDifferentOrdersAreRefused() throws IOException {
        DistcpBytes bytes = new DistcpBytes();
        byte[] rowMajor = bytes.record(shape(4, 3), chunk("a", 2, 0, 2, 3));
        bytes.order = new int[]{1, 0};
        bytes.described("t", shape(4, 3), chunk("a", 0, 0, 2, 3), chunk("a", 2, 0, 2, 3))
                .record("t", shape(0, 0), "__0_0.distcp", bytes.record(shape(4, 3), chunk("a", 0, 0, 2, 3)))
                .record("t", shape(2, 0), "__0_0.distcp", rowMajor);
        assertThat(failure(bytes).getMessage()).contains("lie in different orders");
    }

    @Test
    void linksOutsideAreRefused() throws IOException {
        Path outside = folder.resolve("outside");
        Path inside = folder.resolve("inside");
        valid().write(outside);
        valid().write(inside);
        Files.delete(inside.resolve("__1_0.distcp"));
        Files.createSymbolicLink(inside.resolve("__1_0.distcp"), outside.resolve("__1_0.distcp"));
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(inside));
        assertThat(e.rule()).isEqualTo(CheckpointRule.LINK_OUTSIDE);
    }

    @Test
    void everyCutOfTheMetadataIsRefused() throws IOException {
        valid().write(folder);
        byte[] metadata = Files.readAllBytes(folder.resolve(".metadata"));
        for (int length = 1; length < metadata.length; length += 37) {
            Files.write(folder.resolve(".metadata"), Arrays.copyOf(metadata, length));
            CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(folder));
            assertThat(e).as("cut after %s bytes", length).isNotNull();
        }
    }

    @Test
    void mutatedMetadataIsReadOrRefused() throws Exception {
        valid().write(folder);
        Checkpoint.open(folder);
        Path metadata = folder.resolve(".metadata");
        FormatFuzz.runRecognised(metadata, folder, List.of(Files.readAllBytes(metadata)));
    }

    @Test
    void mutatedRecordsAreReadOrRefused() throws Exception {
        valid().write(folder);
        Checkpoint.open(folder); // loads classes, whose memory is no file's
        Path file = folder.resolve("__1_0.distcp");
        FormatFuzz.runRecognised(file, folder, List.of(Files.readAllBytes(file)));
    }
}
