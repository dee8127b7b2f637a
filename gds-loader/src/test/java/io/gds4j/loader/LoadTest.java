package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.statistics.IoPath;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import org.assertj.core.api.ThrowableAssert;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Loads: the places of the tensors and their bytes. */
class LoadTest {
    private static final TensorPattern PATTERN = new TensorPattern(42);

    @TempDir
    Path folder;

    private final FileChannelBackend backend = new FileChannelBackend();
    private final CuFileDriver driver = CuFileDriver.open(backend);

    @AfterEach
    void everythingIsReleased() {
        driver.close();
        assertThat(backend.openFiles()).as("open files").isZero();
        assertThat(backend.allocator().open()).as("allocations").isZero();
    }

    private SafetensorsWriter writer(String name) {
        return new SafetensorsWriter(folder.resolve(name));
    }

    /** A typical dense model: every tensor is a multiple of 256 bytes long. */
    private Checkpoint dense(SafetensorsWriter.Padding padding) {
        SafetensorsWriter writer = writer("dense.safetensors").padding(padding);
        writer.tensor("model.embed_tokens.weight", DType.BF16, 2048, 512);
        for (int i = 0; i < 4; i++) {
            String layer = "model.layers." + i + ".";
            writer.tensor(layer + "mlp.up_proj.weight", DType.BF16, 1376, 512);
            writer.tensor(layer + "self_attn.k_proj.weight", DType.BF16, 128, 512);
            writer.tensor(layer + "input_layernorm.weight", DType.BF16, 512);
        }
        writer.write(PATTERN);
        return Checkpoint.open(folder.resolve("dense.safetensors"));
    }

    /** A model whose tensor offsets do not agree modulo the alignment. */
    private Checkpoint odd() {
        SafetensorsWriter writer = writer("odd.safetensors").padding(SafetensorsWriter.Padding.ODD);
        writer.tensor("z.scalar", DType.I64)
                .tensor("z.empty", DType.F32, 0, 7)
                .tensor("z.flags", DType.U8, 13)
                .tensor("é😀", DType.F32, 3, 5, 7);
        for (int i = 0; i < 8; i++) {
            writer.tensor("blk." + i + ".w", DType.BF16, 1009 + i, 517 + i);
            writer.tensor("blk." + i + ".s", DType.F32, i + 1);
            writer.tensor("blk." + i + ".q", DType.U8, 4095 + i);
        }
        writer.write(PATTERN);
        return Checkpoint.open(folder.resolve("odd.safetensors"));
    }

    private static void check(LoadedTensors tensors, long alignment) {
        for (LoadedTensor tensor : tensors.tensors()) {
            String name = tensor.info().name();
            assertThat(tensor.address() % alignment).as("address of " + name).isZero();
            assertThat(tensor.length()).as(name).isEqualTo(tensor.info().length());
            assertThat(PATTERN.mismatch(name, 0, TrackingAllocator.raw(tensor.range()))).as(name).isEqualTo(-1);
        }
    }

    @Test
    void gpuIsExpectedBeforeItsMemoryIsAllocated() {
        LoadPlan plan = dense(SafetensorsWriter.Padding.PAGE).plan();
        plan.toGpu(1).load(driver).close();
        assertThat(backend.allocator().expected()).containsExactly("CUDA_DEVICE 1 after 0");

        try (MemoryAllocation own = driver.allocate(plan.destinationBytes())) {
            plan.into(own.range()).load(driver).close();
        }
        assertThat(backend.allocator().expected()).hasSize(1);
    }

    @ParameterizedTest
    @EnumSource(SafetensorsWriter.Padding.class)
    void denseModelIsReadStraightToItsPlace(SafetensorsWriter.Padding padding) {
        Checkpoint checkpoint = dense(padding);
        try (LoadedTensors tensors = checkpoint.plan().load(driver)) {
            check(tensors, 256);
            assertThat(tensors.names()).containsExactlyElementsOf(checkpoint.tensors().keySet());
        }
        assertThat(backend.reads()).hasSize(1);
        long data = checkpoint.files().getFirst().dataOffset();
        assertThat(backend.reads().getFirst().fileOffset()).isEqualTo(data & -4096L);
        assertThat(backend.allocator().copies()).isZero();
        assertThat(backend.allocator().made()).isEqualTo(1);
    }

    @Test
    void requestsBeginAtPagesAndKeepTheirSizeLimit() {
        LoadPlan plan = dense(SafetensorsWriter.Padding.ODD).plan().requestSize(1 << 20);
        try (LoadedTensors tensors = plan.load(driver)) {
            check(tensors, 256);
            assertThat(tensors.report().requests()).isEqualTo(plan.requests().size());
        }
        assertThat(backend.reads()).hasSize((int) Math.ceilDiv(plan.bytes(), 1 << 20)).allSatisfy(read -> {
            assertThat(read.fileOffset() % 4096).isZero();
            assertThat(read.size()).isBetween(1L, 1L << 20);
        });
    }

    @Test
    void filesOfALoadAreOpenWithinABound() {
        int shards = 600;
        for (int i = 1; i <= shards; i++) {
            writer("model-%05d-of-%05d.safetensors".formatted(i, shards)).tensor("t" + i, DType.U8, 100 + i)
                    .write(PATTERN);
        }
        try (LoadedTensors tensors = Checkpoint.open(folder).plan().load(driver)) {
            check(tensors, 256);
            assertThat(tensors.names()).hasSize(shards);
        }
        // as operations.md says; fewer where the process may have fewer descriptors
        assertThat(backend.mostOpenFiles()).isBetween(8, 448);
    }

    @Test
    void pageAlignedDataIsReadToPageAlignedMemory() {
        try (LoadedTensors tensors = dense(SafetensorsWriter.Padding.PAGE).plan().load(driver)) {
            check(tensors, 256);
        }
        assertThat(backend.reads()).allSatisfy(read -> assertThat(read.address() % 4096).isZero());
    }

    @ParameterizedTest
    @CsvSource({"HOST, 256", "HOST, 4096", "HOST, 65536", "CUDA_DEVICE, 256", "CUDA_DEVICE, 4096"})
    void tensorsAtOddOffsetsAreAligned(MemoryKind kind, long alignment) {
        LoadPlan plan = odd().plan().to(kind).alignment(alignment);
        try (LoadedTensors tensors = plan.load(driver)) {
            check(tensors, alignment);
        }
        assertThat(backend.reads().size()).as("few requests").isLessThan(plan.tensors().size() / 2);
        AlignmentReport report = plan.alignmentReport();
        assertThat(report.tensors()).isEqualTo(28);
        assertThat(report.read() + report.gathered()).isEqualTo(28);
        assertThat(report.gathered()).isGreaterThan(16);
    }

    @Test
    void gatheredTensorsReachTheGpuInOneCopy() {
        SafetensorsWriter writer = writer("scales.safetensors");
        for (int i = 0; i < 300; i++) {
            writer.tensor("scale." + i, DType.F32);
        }
        writer.write(PATTERN);
        try (LoadedTensors tensors = Checkpoint.open(folder.resolve("scales.safetensors"))
                .plan()
                .to(MemoryKind.CUDA_DEVICE)
                .load(driver)) {
            check(tensors, 256);
            // what is read, and what is copied
            assertThat(tensors.report().peakStagingBytes()).isBetween(2 * 299 * 256L, 3 * 300 * 256L);
        }
        assertThat(backend.reads()).hasSize(1);
        assertThat(backend.allocator().copies()).isEqualTo(1);
    }

    @Test
    void scatteredTensorsAreReadWithoutTheirGaps() {
        SafetensorsWriter writer = writer("bnb.safetensors").sorted(false);
        for (int i = 0; i < 5; i++) {
            writer.tensor("w" + i, DType.U8, 2 << 20);
            writer.tensor("scale" + i, DType.F32);
        }
        writer.write(PATTERN);
        Checkpoint checkpoint = Checkpoint.open(folder.resolve("bnb.safetensors"));
        LoadPlan scales = checkpoint.plan().include("^scale").to(MemoryKind.CUDA_DEVICE);
        try (LoadedTensors tensors = scales.load(driver)) {
            check(tensors, 256);
            assertThat(tensors.names()).containsExactly("scale0", "scale1", "scale2", "scale3", "scale4");
        }
        assertThat(scales.requests().stream().mapToLong(LoadRequest::length).sum()).isLessThan(5 * 4096 * 2);
        assertThat(backend.allocator().copies()).as("one copy to the GPU").isEqualTo(1);
        try (LoadedTensors tensors = checkpoint.plan().load(driver)) {
            check(tensors, 256);
        }
    }

    @Test
    void tensorsWithoutBytesBetweenOthersShareNothing() {
        writer("empty.safetensors").sorted(false)
                .tensor("none0", DType.U8, 0)
                .tensor("x", DType.U8, 1)
                .tensor("none1", DType.U8, 0)
                .tensor("y", DType.U8, 1)
                .write(PATTERN);
        Checkpoint checkpoint = Checkpoint.open(folder.resolve("empty.safetensors"));
        try (LoadedTensors tensors = checkpoint.plan().load(driver)) {
            check(tensors, 256);
            assertThat(tensors.address("x")).isNotEqualTo(tensors.address("y"));
        }
    }

    @Test
    void randomCheckpointsAreLoadedCompletely() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        RandomGenerator random = RandomGeneratorFactory.of("Xoshiro256PlusPlus").create(seed);
        long end = System.nanoTime() + Long.getLong("gds4j.property.seconds", 0) * 1_000_000_000 + 300_000_000;
        for (int round = 0; round < 5 || System.nanoTime() < end; round++) {
            String what = "-Dgds4j.property.seed=" + seed + ", round " + round;
            Checkpoint checkpoint = random(random);
            LoadPlan plan = random(random, checkpoint);
            try (LoadedTensors tensors = plan.load(driver)) {
                check(tensors, plan.alignment());
                assertThat(tensors.report().bytes()).isEqualTo(plan.bytes());
                disjoint(tensors);
            } catch (Throwable e) {
                throw new AssertionError(what + ": " + plan, e);
            }
            assertThat(backend.allocator().open()).as(what).isZero();
        }
    }

    private Checkpoint random(RandomGenerator random) {
        SafetensorsWriter writer = writer("random.safetensors")
                .padding(SafetensorsWriter.Padding.values()[random.nextInt(4)])
                .sorted(random.nextBoolean());
        List<DType> dtypes = DType.ofSafetensors();
        int count = random.nextInt(60);
        for (int i = 0; i < count; i++) {
            DType dtype = dtypes.get(random.nextInt(dtypes.size()));
            long elements = switch (random.nextInt(4)) {
                case 0 -> random.nextInt(3);
                case 1 -> random.nextInt(5000);
                case 2 -> 256L * random.nextInt(1000);
                default -> random.nextInt(200_000);
            };
            writer.tensor("t" + i, dtype, elements * (dtype.bits() < 8 ? 4 : 1));
        }
        writer.write(PATTERN);
        return Checkpoint.open(folder.resolve("random.safetensors"));
    }

    private LoadPlan random(RandomGenerator random, Checkpoint checkpoint) {
        LoadPlan plan = checkpoint.plan()
                .to(random.nextBoolean() ? MemoryKind.HOST : MemoryKind.CUDA_DEVICE)
                .alignment(256L << random.nextInt(8))
                .requestsInFlight(1 + random.nextInt(5))
                .requestSize((1L << 20) + random.nextInt(1 << 20));
        if (random.nextInt(3) == 0) {
            plan = plan.stagingBudget((128L << 10) * 5);
        }
        if (random.nextInt(3) == 0) {
            LoadPlan some = plan.include("[" + random.nextInt(10) + random.nextInt(10) + "]$");
            return some.tensors().isEmpty() ? plan : some;
        }
        return plan;
    }

    private static void disjoint(LoadedTensors tensors) {
        List<LoadedTensor> sorted = new ArrayList<>(tensors.tensors());
        sorted.removeIf(tensor -> tensor.length() == 0);
        sorted.sort((a, b) -> Long.compareUnsigned(a.address(), b.address()));
        for (int i = 1; i < sorted.size(); i++) {
            LoadedTensor before = sorted.get(i - 1);
            assertThat(before.address() + before.length()).isLessThanOrEqualTo(sorted.get(i).address());
        }
    }

    private Checkpoint twoFiles() {
        writer("model-00001-of-00002.safetensors").tensor("a", DType.F32, 1000).write(PATTERN);
        writer("model-00002-of-00002.safetensors").tensor("b", DType.F32, 3000).write(PATTERN);
        HeaderText.write(
                folder.resolve("model.safetensors.index.json"),
                ("{\"metadata\":{\"total_size\":16000},\"weight_map\":{\"a\":\"model-00001-of-00002.safetensors\","
                        + "\"b\":\"model-00002-of-00002.safetensors\"}}")
                        .getBytes(StandardCharsets.UTF_8));
        return Checkpoint.open(folder);
    }

    /** The files lie one after the other; the refusal counts what the first one takes. */
    @Test
    void filesShareTheMemoryOfTheCaller() {
        LoadPlan plan = twoFiles().plan();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(plan.destinationBytes(), 1);
            try (LoadedTensors tensors = plan.into(MemoryRange.ofSegment(memory)).load(driver)) {
                check(tensors, 256);
                assertThat(tensors.get("b").address())
                        .isGreaterThanOrEqualTo(tensors.get("a").address() + 4000);
            }
            LoadPlan tooSmall = plan.into(MemoryRange.ofSegment(memory.asSlice(0, memory.byteSize() - 1)));
            assertThatThrownBy(() -> tooSmall.load(driver)).hasMessageContaining(
                    "the destination has %s bytes, of which ".formatted(memory.byteSize() - 1))
                    .hasMessageContaining("are used").hasMessageContaining("model-00002-of-00002.safetensors needs");
        }
    }

    @Test
    void eachFileHasOneAllocation() {
        writer("one.safetensors").tensor("a", DType.U8, (1 << 20) + 1).write(PATTERN);
        writer("two.safetensors").tensor("b", DType.U8, (1 << 20) + 1).write(PATTERN);
        try (LoadedTensors tensors = Checkpoint.open(folder).plan().load(driver)) {
            check(tensors, 256);
            assertThat(tensors.report().files()).isEqualTo(2);
        }
        assertThat(backend.allocator().made()).isEqualTo(2);
    }

    @Test
    void smallFilesShareAllocations() {
        try (LoadedTensors tensors = twoFiles().plan().load(driver)) {
            check(tensors, 256);
            assertThat(tensors.names()).containsExactly("a", "b");
        }
        assertThat(backend.allocator().made()).isEqualTo(1);
    }

    /** Blocks of 16 MiB are full; a large file ends one, too. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void smallFilesFillBlocks(boolean into) {
        int[] sizes = new int[50];
        Arrays.fill(sizes, 1 << 20);
        sizes[20] = 3 << 20;
        for (int i = 0; i < sizes.length; i++) {
            writer("f%02d.safetensors".formatted(i)).tensor("t" + i, DType.U8, sizes[i]).write(PATTERN);
        }
        LoadPlan plan = Checkpoint.open(folder).plan();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(plan.destinationBytes(), 4096);
            try (LoadedTensors tensors =
                    (into ? plan.into(MemoryRange.ofSegment(memory)) : plan).load(driver)) {
                check(tensors, 256);
                assertThat(tensors.size()).isEqualTo(50);
            }
        }
        // 16 and 4 files, the large one, 16 and 13 files
        assertThat(backend.allocator().made()).isEqualTo(into ? 0 : 5);
    }

    @Test
    void severalRequestsAreInFlight() throws Exception {
        LoadPlan plan = dense(SafetensorsWriter.Padding.EIGHT).plan().requestSize(1 << 20).requestsInFlight(3);
        CyclicBarrier three = new CyclicBarrier(3);
        AtomicInteger waits = new AtomicInteger();
        backend.hook((path, offset) -> {
            if (waits.getAndIncrement() < 3) {
                try {
                    three.await(20, TimeUnit.SECONDS);
                } catch (BrokenBarrierException | TimeoutException e) {
                    throw new IOException("three reads were never in flight at the same time", e);
                }
            }
        });
        try (LoadedTensors tensors = plan.load(driver)) {
            check(tensors, 256);
        }
        assertThat(backend.mostReading()).isEqualTo(3);
    }

    @Test
    void listenerReceivesEveryTensorOnceAndAllBytes() {
        List<String> placed = new CopyOnWriteArrayList<>();
        List<Long> done = new CopyOnWriteArrayList<>();
        Checkpoint checkpoint = odd();
        LoadPlan plan = checkpoint.plan().requestSize(1 << 20);
        LoadListener listener = new LoadListener() {
            @Override
            public void started(LoadPlan started) {
                assertThat(started).isSameAs(plan);
                assertThat(done).isEmpty();
            }

            @Override
            public void progress(LoadProgress now) {
                assertThat(now.bytesTotal()).isEqualTo(checkpoint.bytes());
                assertThat(now.file()).isEqualTo(folder.resolve("odd.safetensors"));
                done.add(now.bytesDone());
            }

            @Override
            public void tensorPlaced(TensorInfo tensor) {
                placed.add(tensor.name());
            }
        };
        plan.load(driver, listener).close();
        assertThat(done).isSorted().last().isEqualTo(checkpoint.bytes());
        List<String> expected = new ArrayList<>(checkpoint.tensors().keySet());
        expected.remove("z.empty");
        assertThat(placed).containsExactlyInAnyOrderElementsOf(expected);
    }

    @Test
    void takenTensorOutlivesTheOthers() {
        LoadedTensors tensors = odd().plan().load(driver);
        MemoryAllocation flags = tensors.take("z.flags");
        MemoryAllocation empty = tensors.take("z.empty");
        assertThat(tensors.names()).doesNotContain("z.flags", "z.empty").hasSize(26);
        assertThatThrownBy(() -> tensors.get("z.flags")).hasMessageContaining("'z.flags'");
        tensors.close();
        tensors.close();
        assertThat(backend.allocator().open()).isEqualTo(1);
        assertThat(PATTERN.mismatch("z.flags", 0, flags.range().segment().orElseThrow())).isEqualTo(-1);
        assertThat(flags.range().length()).isEqualTo(13);
        flags.close();
        assertThat(empty.range().length()).isZero();
        assertThat(backend.allocator().open()).isEqualTo(1);
        empty.close();
        assertThat(backend.allocator().open()).isZero();
    }

    @Test
    void closedTensorsAreInaccessible() {
        LoadedTensors tensors = odd().plan().load(driver);
        MemoryRange range = tensors.range("z.flags");
        tensors.close();
        assertThat(tensors.isOpen()).isFalse();
        assertThatThrownBy(() -> tensors.get("z.flags")).hasMessageContaining("closed");
        assertThatThrownBy(() -> tensors.take("z.flags")).hasMessageContaining("closed");
        assertThatThrownBy(range::retain)
                .isInstanceOfSatisfying(
                        CuFileException.class,
                        e -> assertThat(e.error()).isEqualTo(CuFileError.CUDA_POINTER_INVALID));
    }

    @Test
    void tensorIsCopiedToTheHost() {
        try (LoadedTensors tensors = odd().plan().to(MemoryKind.CUDA_DEVICE).load(driver)) {
            byte[] bytes = new byte[20];
            tensors.copyToHost("z.flags", MemorySegment.ofArray(bytes));
            assertThat(PATTERN.mismatch("z.flags", 0, MemorySegment.ofArray(bytes).asSlice(0, 13))).isEqualTo(-1);
            assertThat(bytes).endsWith(0, 0, 0, 0, 0, 0, 0);
            tensors.copyToHost("z.empty", MemorySegment.ofArray(new byte[0]));
            assertThatThrownBy(() -> tensors.copyToHost("z.flags", MemorySegment.ofArray(new byte[12])))
                    .hasMessageContaining("13 bytes");
            assertThatThrownBy(() -> tensors.segment("z.flags")).hasMessageContaining("CUDA_DEVICE");
        }
    }

    @Test
    void memoryOfTheCallerIsFilledAndNotFreed() {
        LoadPlan plan = odd().plan();
        try (Arena arena = Arena.ofShared()) {
            long bytes = plan.destinationBytes();
            MemorySegment memory = arena.allocate(bytes + 2, 1);
            MemorySegment inner = memory.asSlice(1, bytes);
            try (LoadedTensors tensors = plan.into(MemoryRange.ofSegment(inner)).load(driver)) {
                check(tensors, 256);
                assertThat(tensors.tensors()).allSatisfy(tensor -> assertThat(tensor.address())
                        .isBetween(inner.address(), inner.address() + bytes - tensor.length()));
                assertThatThrownBy(() -> tensors.take("z.flags")).hasMessageContaining("already belongs to the caller");
            }
            assertThat(backend.allocator().made()).as("allocations for staging").isLessThanOrEqualTo(4);
            assertThat(memory.get(ValueLayout.JAVA_BYTE, 0)).isZero();
            assertThat(memory.get(ValueLayout.JAVA_BYTE, bytes + 1)).isZero();
            LoadPlan tooSmall = plan.into(MemoryRange.ofSegment(inner.asSlice(0, bytes - 1)));
            assertThatThrownBy(() -> tooSmall.load(driver))
                    .isInstanceOfSatisfying(
                            CuFileException.class,
                            e -> assertThat(e.error()).isEqualTo(CuFileError.CUDA_POINTER_RANGE_ERROR))
                    .hasMessageContaining("odd.safetensors");
        }
    }

    @Test
    void memoryOfAConfinedArenaIsRefused() {
        LoadPlan plan = odd().plan();
        try (Arena arena = Arena.ofConfined()) {
            MemoryRange confined = MemoryRange.ofSegment(arena.allocate(plan.destinationBytes(), 1));
            assertThatThrownBy(() -> plan.into(confined)).satisfies(LoadTest::isConfined);
            LoadPlan perTensor = plan.destinations(tensor -> confined);
            assertThatThrownBy(() -> perTensor.load(driver)).satisfies(LoadTest::isConfined);
        }
        assertThat(backend.reads()).isEmpty();
    }

    private static void isConfined(Throwable thrown) {
        assertThat(thrown).isInstanceOfSatisfying(CuFileException.class,
                e -> assertThat(e.error()).isEqualTo(CuFileError.CUDA_POINTER_INVALID))
                .hasMessageContaining("belongs to a confined arena");
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"HOST", "CUDA_DEVICE"})
    void eachTensorMayHaveMemoryOfTheCaller(MemoryKind kind) {
        Checkpoint checkpoint = odd();
        try (Arena arena = Arena.ofShared()) {
            Map<String, MemoryRange> places = new HashMap<>();
            checkpoint.tensors().values().forEach(tensor -> {
                MemorySegment memory = arena.allocate(tensor.length() + 33, 1).asSlice(17);
                places.put(
                        tensor.name(),
                        kind == MemoryKind.HOST
                                ? MemoryRange.ofSegment(memory)
                                : MemoryRange.ofAddress(memory.address(), memory.byteSize(), kind));
            });
            LoadPlan plan = checkpoint.plan().destinations(tensor -> places.get(tensor.name()));
            try (LoadedTensors tensors = plan.load(driver)) {
                check(tensors, 1);
                assertThat(tensors.tensors()).allSatisfy(tensor -> assertThat(tensor.address())
                        .isEqualTo(places.get(tensor.info().name()).address()));
            }
            places.forEach((name, range) -> assertThat(TrackingAllocator.raw(range)
                    .asSlice(checkpoint.tensors().get(name).length())
                    .toArray(ValueLayout.JAVA_BYTE))
                    .as("after " + name)
                    .containsOnly(0));
        }
    }

    @Test
    void shortDestinationIsRefusedBeforeTheFirstRead() {
        LoadPlan plan = odd().plan()
                .include("z.flags")
                .destinations(tensor -> MemoryRange.ofAddress(4096, 12, MemoryKind.HOST));
        assertThatThrownBy(() -> plan.load(driver)).hasMessageContaining("'z.flags' has 12 bytes, it needs 13");
        assertThat(backend.reads()).isEmpty();
    }

    @Test
    void planDescribesTheLoad() {
        Checkpoint checkpoint = dense(SafetensorsWriter.Padding.EIGHT);
        LoadPlan plan = checkpoint.plan().include("layers\\.[01]\\.").include("proj");
        assertThat(plan.tensors()).extracting(TensorInfo::name).containsExactly(
                "model.layers.0.mlp.up_proj.weight",
                "model.layers.0.self_attn.k_proj.weight",
                "model.layers.1.mlp.up_proj.weight",
                "model.layers.1.self_attn.k_proj.weight");
        assertThat(plan.bytes()).isEqualTo(2 * (1376 + 128) * 512 * 2);
        assertThat(plan.destinationBytes()).isGreaterThan(plan.bytes()).isLessThan(plan.bytes() + 5 * 8192);
        assertThat(plan.files()).hasSize(1);
        assertThat(plan.checkpoint()).isSameAs(checkpoint);
        assertThat(plan.alignmentReport().alignedInFile()).isZero();
        assertThat(checkpoint.plan().tensors()).hasSize(13);
        try (LoadedTensors tensors = plan.load(driver)) {
            check(tensors, 256);
            assertThat(tensors.report().bytes()).isEqualTo(plan.bytes());
            assertThat(backend.reads()).hasSameSizeAs(plan.requests());
            assertThat(tensors.report().ioPaths()).containsOnlyKeys(IoPath.COMPAT_BUFFERED);
            assertThat(tensors.report().seconds())
                    .isGreaterThanOrEqualTo(tensors.report().headerSeconds() + tensors.report().memorySeconds());
            assertThat(tensors.report().bytesPerSecond()).isPositive();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void filesAreOpenedAsThePlanSays(boolean direct) {
        dense(SafetensorsWriter.Padding.EIGHT).plan().direct(direct).load(driver).close();
        assertThat(backend.options().contains(CuFileOpenOption.DIRECT)).isEqualTo(direct);
    }

    /** The time of a load begins with its headers. */
    @Test
    void secondsCountFromTheFirstHeaderByte() throws IOException {
        Path file = Files.write(folder.resolve("slow"), new byte[100]);
        long start = System.nanoTime();
        Checkpoint checkpoint = Checkpoint.open(file, (TestFormat) in -> {
            long began = System.nanoTime();
            while (System.nanoTime() - began < 30_000_000) {
                Thread.onSpinWait();
            }
            return CheckpointFile.of(in.path(), in.size(), 0,
                    List.of(new TensorInfo("a", DType.U8, List.of(100L), in.path(), 0, 100)), Map.of());
        });
        try (LoadedTensors tensors = checkpoint.plan().load(driver)) {
            assertThat(tensors.report().headerSeconds()).isGreaterThanOrEqualTo(0.03);
            assertThat(tensors.report().seconds()).isBetween(
                    tensors.report().headerSeconds() + tensors.report().memorySeconds(),
                    (System.nanoTime() - start) / 1e9);
        }
    }

    @Test
    void memorySecondsReachToTheLastAllocation() {
        writer("one.safetensors").tensor("a", DType.U8, (1 << 20) + 1).write(PATTERN);
        writer("two.safetensors").tensor("b", DType.U8, (1 << 20) + 1).write(PATTERN);
        AtomicLong first = new AtomicLong();
        backend.allocator().beforeEach(number -> {
            first.compareAndSet(0, System.nanoTime());
            while (number == 2 && System.nanoTime() - first.get() < 30_000_000) {
                Thread.onSpinWait();
            }
        });
        try (LoadedTensors tensors = Checkpoint.open(folder).plan().load(driver)) {
            assertThat(backend.allocator().made()).isEqualTo(2);
            assertThat(tensors.report().memorySeconds()).isGreaterThanOrEqualTo(0.03);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void loadIsRecorded(boolean succeeds) throws IOException {
        LoadPlan plan = dense(SafetensorsWriter.Padding.EIGHT).plan();
        backend.hook((path, offset) -> {
            if (!succeeds) {
                throw new IOException("a bad sector");
            }
        });
        try (CheckpointRecording recording = new CheckpointRecording()) {
            if (succeeds) {
                plan.load(driver).close();
            } else {
                assertThatThrownBy(() -> plan.load(driver)).isInstanceOf(CuFileException.class);
            }
            recording.check(folder.resolve("load.jfr"), "dense.safetensors", false, plan.tensors().size(), plan.bytes(),
                    succeeds);
        }
    }

    @ParameterizedTest
    @CsvSource({"1000000000, 8", "16000000000, 66", "1000000000000, 3732"})
    void requestsShrinkTowardsTheEndOfTheLoad(long bytes, int requests) {
        writer("sparse.safetensors").tensor("a", DType.U8, bytes).writeSparse();
        List<LoadRequest> planned =
                Checkpoint.open(folder.resolve("sparse.safetensors")).plan().requests();
        assertThat(planned)
                .hasSize(requests)
                .allSatisfy(request -> assertThat(request.length()).isBetween(64L << 20, 256L << 20));
        assertThat(planned.getFirst().length()).isGreaterThan(100L << 20);
        assertThat(planned.getLast().length()).isLessThan(128L << 20);
        assertThat(planned).extracting(LoadRequest::length).isSortedAccordingTo(LoadTest::largerFirstButForAPage);
    }

    /** Parts of equal length differ by the rounding to pages at both ends. */
    private static int largerFirstButForAPage(long one, long other) {
        return Math.abs(one - other) <= 8192 ? 0 : Long.compare(other, one);
    }

    @Test
    void loadOfAChoiceWithoutMatchFails() {
        LoadPlan plan = dense(SafetensorsWriter.Padding.EIGHT).plan().include("nothing");

        assertThat(plan.tensors()).isEmpty();
        assertThat(plan.bytes()).isZero();
        assertInvalid(() -> plan.load(driver), "the choice matches none of the checkpoint's tensors");
        assertInvalid(() -> plan.loadAsync(driver), "the choice matches none of the checkpoint's tensors");
        assertThat(backend.allocator().made()).isZero();
    }

    @Test
    void checkpointWithoutTensorsLoads() {
        writer("none.safetensors").write(PATTERN);
        LoadPlan plan = Checkpoint.open(folder.resolve("none.safetensors")).plan().include("any");
        try (LoadedTensors tensors = plan.load(driver)) {
            assertThat(tensors.names()).isEmpty();
            assertThat(tensors.report().bytes()).isZero();
        }
    }

    @Test
    void bestMemoryIsThatOfTheGpu() {
        assertThat(odd().plan().toBest(driver).kind()).isEqualTo(MemoryKind.CUDA_DEVICE);
        assertThat(odd().plan().toBest(driver).device()).isZero();
    }

    @Test
    void tensorsWithoutElementsHaveAlignedAddresses() {
        writer("empty.safetensors").tensor("a", DType.F32, 0).tensor("b", DType.U8, 3, 0).write(PATTERN);
        try (LoadedTensors tensors =
                Checkpoint.open(folder.resolve("empty.safetensors")).plan().load(driver)) {
            check(tensors, 256);
            assertThat(tensors.address("a")).isNotZero();
            assertThat(tensors.segment("b").byteSize()).isZero();
        }
        assertThat(backend.reads()).isEmpty();
    }

    @Test
    void loadAsyncCompletesItsFuture() {
        try (LoadedTensors tensors = odd().plan().loadAsync(driver).join()) {
            check(tensors, 256);
        }
    }

    @Test
    void optionsOutOfRangeAreRefused() {
        LoadPlan plan = odd().plan();
        assertInvalid(() -> plan.alignment(128), "256");
        assertInvalid(() -> plan.alignment(768), "power of two");
        assertInvalid(() -> plan.alignment(1L << 31), "1073741824");
        assertInvalid(() -> plan.requestSize(4096), "1048576");
        assertInvalid(() -> plan.requestsInFlight(0), "1 to 64");
        assertInvalid(() -> plan.requestsInFlight(65), "1 to 64");
        assertInvalid(() -> plan.stagingBudget(1), "524288");
        assertInvalid(() -> plan.to(MemoryKind.CUDA_DEVICE, -1), "needs a device");
        assertInvalid(() -> plan.include("a["), "not a regular expression");
    }

    private static void assertInvalid(ThrowableAssert.ThrowingCallable call, String message) {
        CuFileException e = catchThrowableOfType(CuFileException.class, call);
        assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(e.getMessage()).contains(message).doesNotContain("\n");
    }
}
