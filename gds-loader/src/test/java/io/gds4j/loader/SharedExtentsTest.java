package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tensors that share bytes of a file, and tensors with padding between them. */
class SharedExtentsTest {
    private static final int SIZE = 6 << 20;

    @TempDir
    Path folder;

    private final FileChannelBackend backend = new FileChannelBackend();
    private final CuFileDriver driver = CuFileDriver.open(backend);
    private final byte[] bytes = new byte[SIZE];

    @AfterEach
    void everythingIsReleased() {
        driver.close();
        assertThat(backend.openFiles()).as("open files").isZero();
        assertThat(backend.allocator().open()).as("allocations").isZero();
    }

    /** A tensor of bytes at a place in the file. */
    private record At(String name, long offset, long length) {
    }

    /** Any bytes, with these tensors in them. */
    private record Extents(List<At> extents) implements TestFormat {
        @Override
        public CheckpointFile read(FormatInput in) {
            List<TensorInfo> tensors = new ArrayList<>();
            extents.forEach(at -> tensors.add(
                    new TensorInfo(at.name, DType.U8, List.of(at.length), in.path(), at.offset, at.length)));
            return CheckpointFile.of(in.path(), in.size(), 0, tensors, Metadata.ofStrings(Map.of()));
        }
    }

    private Checkpoint open(List<At> extents) throws Exception {
        Path file = folder.resolve("bytes");
        if (!Files.exists(file)) {
            new Random(1).nextBytes(bytes);
            Files.write(file, bytes);
        }
        return Checkpoint.open(file, new Extents(extents));
    }

    private void check(LoadedTensors tensors, long alignment) {
        for (LoadedTensor tensor : tensors.tensors()) {
            MemorySegment expected = MemorySegment.ofArray(bytes)
                    .asSlice(tensor.info().fileOffset(), tensor.info().length());
            assertThat(expected.mismatch(TrackingAllocator.raw(tensor.range()))).as(tensor.info().name()).isEqualTo(-1);
            assertThat(tensor.address() % alignment).as(tensor.info().name()).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"HOST", "CUDA_DEVICE"})
    void tiedWeightsAreLoadedOnceAndShareMemory(MemoryKind kind) throws Exception {
        PlacedNames placed = new PlacedNames();
        Checkpoint checkpoint = open(List.of(
                new At("embed", 100, 4 << 20), new At("head", 100, 4 << 20),
                new At("small", (4 << 20) + 137, 50), new At("tied", (4 << 20) + 137, 50)));
        LoadPlan plan = checkpoint.plan().to(kind);
        try (LoadedTensors tensors = plan.load(driver, placed)) {
            check(tensors, 256);
            assertThat(tensors.names()).containsExactly("embed", "head", "small", "tied");
            assertThat(tensors.address("head")).isEqualTo(tensors.address("embed"));
            assertThat(tensors.address("tied")).isEqualTo(tensors.address("small"));
            assertThat(tensors.report().bytes()).isEqualTo((4 << 20) + 50);
        }
        assertThat(plan.bytes()).isEqualTo(checkpoint.bytes()).isEqualTo((4 << 20) + 50);
        assertThat(placed.names()).containsExactlyInAnyOrder("embed", "head", "small", "tied");
        assertThat(backend.reads().stream().mapToLong(read -> read.size()).sum()).isLessThan((4 << 20) + 3 * 4096);
    }

    @Test
    void tiedTensorThatIsTakenKeepsItsMemory() throws Exception {
        Checkpoint checkpoint = open(List.of(new At("a", 0, 1000), new At("b", 0, 1000)));
        LoadedTensors tensors = checkpoint.plan().load(driver);
        try (var taken = tensors.take("a")) {
            assertThat(tensors.address("b")).isEqualTo(taken.range().address());
            tensors.close();
            assertThat(backend.allocator().open()).isOne();
        }
    }

    @Test
    void viewsWithinATensorShareItsMemory() throws Exception {
        Checkpoint checkpoint = open(List.of(
                new At("whole", 512, 5 << 20), new At("row", 512 + 2560, 2560), new At("start", 512, 256)));
        LoadPlan plan = checkpoint.plan();
        try (LoadedTensors tensors = plan.load(driver)) {
            check(tensors, 256);
            assertThat(tensors.address("row") - tensors.address("whole")).isEqualTo(2560);
            assertThat(tensors.address("start")).isEqualTo(tensors.address("whole"));
        }
        assertThat(plan.requests()).hasSize(1);
        assertThat(plan.bytes()).isEqualTo(5 << 20);
    }

    @Test
    void viewAtAnUnalignedPlaceIsLoadedOnItsOwn() throws Exception {
        Checkpoint checkpoint = open(List.of(
                new At("whole", 0, 3 << 20), new At("view", 3, 2 << 20), new At("short", 7, 9)));
        try (LoadedTensors tensors = checkpoint.plan().load(driver)) {
            check(tensors, 256);
        }
    }

    @Test
    void paddingBetweenTensorsIsReadThrough() throws Exception {
        List<At> extents = IntStream.range(0, 20)
                .mapToObj(i -> new At("t" + i, 32 + i * 256_000L, 256_000 - i * 30)).toList();
        LoadPlan plan = open(extents).plan();
        assertThat(plan.requests()).hasSize(1);
        assertThat(plan.bytes()).isEqualTo(extents.stream().mapToLong(At::length).sum());
        try (LoadedTensors tensors = plan.load(driver)) {
            check(tensors, 256);
            assertThat(tensors.report().bytes()).isEqualTo(plan.bytes());
        }
        assertThat(backend.allocator().copies()).isZero();
    }

    @Test
    void longGapsAreNeitherReadNorGivenMemory() throws Exception {
        List<At> extents = IntStream.range(0, 90).mapToObj(i -> new At("t" + i, i * 61_440L, 2048)).toList();
        LoadPlan plan = open(extents).plan();
        assertThat(plan.destinationBytes()).isLessThan(90 * 2048 + 3 * 4096);
        try (LoadedTensors tensors = plan.load(driver)) {
            check(tensors, 256);
        }
    }

    @Test
    void destinationsMayBeOneForTheSameBytesOnly() throws Exception {
        List<At> extents = List.of(new At("a", 0, 3000), new At("tied", 0, 3000), new At("b", 1000, 3000));
        LoadPlan plan = open(extents).plan();
        try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 6000)) {
            try (LoadedTensors tensors = plan.destinations(
                    tensor -> memory.range().slice(tensor.name().equals("b") ? 3000 : 0, 3000)).load(driver)) {
                check(tensors, 1);
            }
            LoadPlan overlapping = plan.destinations(
                    tensor -> memory.range().slice(tensor.name().equals("b") ? 2999 : 0, 3000));
            assertThatThrownBy(() -> overlapping.load(driver)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("'b' overlap");
        }
    }

    @Test
    void randomExtentsAreLoadedCompletely() throws Exception {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        RandomGenerator random = RandomGeneratorFactory.of("Xoshiro256PlusPlus").create(seed);
        long end = System.nanoTime() + Long.getLong("gds4j.property.seconds", 0) * 500_000_000 + 300_000_000;
        for (int round = 0; round < 5 || System.nanoTime() < end; round++) {
            List<At> extents = new ArrayList<>();
            long at = 0;
            int count = 1 + random.nextInt(40);
            for (int i = 0; i < count; i++) {
                At previous = extents.isEmpty() ? new At("", 0, 0) : extents.getLast();
                long offset = switch (random.nextInt(5)) {
                    case 0 -> previous.offset;
                    case 1 -> random.nextInt(SIZE);
                    case 2 -> Math.min(SIZE, (at + 31) & -32L);
                    case 3 -> Math.min(SIZE, at + random.nextInt(100_000));
                    default -> Math.min(SIZE, (at + 255) & -256L);
                };
                long length = switch (random.nextInt(4)) {
                    case 0 -> previous.length;
                    case 1 -> random.nextInt(100);
                    case 2 -> random.nextInt(2_000_000);
                    default -> 256L * random.nextInt(1000);
                };
                length = Math.min(length, SIZE - offset);
                extents.add(new At("t" + i, offset, length));
                at = offset + length;
            }
            LoadPlan plan = open(extents).plan()
                    .to(random.nextBoolean() ? MemoryKind.HOST : MemoryKind.CUDA_DEVICE)
                    .alignment(256L << random.nextInt(8))
                    .requestSize((1L << 20) + random.nextInt(1 << 20));
            try (LoadedTensors tensors = plan.load(driver)) {
                check(tensors, plan.alignment());
                assertThat(tensors.names()).hasSize(count);
                assertThat(tensors.report().bytes()).isEqualTo(plan.bytes());
            } catch (Throwable e) {
                throw new AssertionError("-Dgds4j.property.seed=%d, round %d: %s".formatted(seed, round, extents), e);
            }
        }
    }
}
