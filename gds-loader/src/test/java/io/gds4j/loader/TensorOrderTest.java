package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.ParallelRule;
import io.gds4j.loader.parallel.Split;
import io.gds4j.loader.save.ChecksumVerifier;
import io.gds4j.loader.save.Consistency;
import io.gds4j.loader.save.SaveListener;
import io.gds4j.loader.save.SaveOptions;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.loader.save.ShardedSave;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryUsage;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tensors whose dimensions lie in another order than their shape has: what is saved, divided, viewed and decoded. */
@Tag("slow")
@Timeout(60)
class TensorOrderTest {
    private static final ParallelRule REST = new ParallelRule("*", Split.replicate(), true);

    @TempDir
    private Path folder;

    private final CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat");

    @AfterEach
    void everythingIsReleased() {
        MemoryUsage host = driver.allocator().usage().get(MemoryKind.HOST);
        assertThat(host == null ? 0 : host.bytes()).as("bytes of host memory").isZero();
        driver.close();
    }

    /** A tensor with its bytes in row-major order, moved by the definition: the bytes of an index are at the sum of its strides. */
    private record Expected(DType dtype, List<Long> shape, DimensionOrder order, byte[] rowMajor) {
        static Expected random(Random random) {
            List<DType> types = List.of(DType.U8, DType.BF16, DType.F32, DType.F64, DType.C128, DType.opaque("V3", 3));
            DType dtype = types.get(random.nextInt(types.size()));
            List<Long> shape = new ArrayList<>();
            List<Integer> order = new ArrayList<>();
            for (int i = random.nextInt(5); i >= 0; i--) {
                order.add(shape.size());
                shape.add((long) (random.nextInt(8) == 0 ? 1 : 1 + random.nextInt(9)));
            }
            Collections.shuffle(order, random);
            return random(random, dtype, shape, new DimensionOrder(order));
        }

        static Expected random(Random random, DType dtype, List<Long> shape, DimensionOrder order) {
            byte[] bytes = new byte[(int) dtype.bytes(shape).orElseThrow()];
            random.nextBytes(bytes);
            return new Expected(dtype, shape, order, bytes);
        }

        /** Returns the bytes of a part of the shape in this order. */
        byte[] stored(DimensionOrder as, long[] begin, long[] end) {
            int element = dtype.blockBytes();
            List<Integer> dimensions = as.dimensions();
            int count = (int) IntStream.range(0, begin.length).mapToLong(i -> end[i] - begin[i]).reduce(1,
                    Math::multiplyExact);
            byte[] stored = new byte[count * element];
            long[] index = begin.clone();
            for (int i = 0; i < count; i++) {
                long from = 0;
                for (int d = 0; d < index.length; d++) {
                    from = from * shape.get(d) + index[d];
                }
                System.arraycopy(rowMajor, (int) from * element, stored, i * element, element);
                for (int d = dimensions.size() - 1; d >= 0; d--) {
                    int dimension = dimensions.get(d);
                    if (++index[dimension] < end[dimension]) {
                        break;
                    }
                    index[dimension] = begin[dimension];
                }
            }
            return stored;
        }

        byte[] stored() {
            return stored(order, new long[shape.size()], shape.stream().mapToLong(Long::longValue).toArray());
        }
    }

    private Checkpoint checkpoint(Map<String, Expected> tensors) throws IOException {
        Path file = folder.resolve("data");
        List<TensorInfo> infos = new ArrayList<>();
        long offset = 0;
        try (var out = Files.newOutputStream(file)) {
            for (Map.Entry<String, Expected> entry : tensors.entrySet()) {
                Expected tensor = entry.getValue();
                byte[] bytes = tensor.stored();
                out.write(bytes);
                infos.add(new TensorInfo(
                        entry.getKey(), tensor.dtype, tensor.shape, file, offset, bytes.length, tensor.order));
                offset += bytes.length;
            }
        }
        TestFormat format = in -> CheckpointFile.of(in.path(), in.size(), 0, infos, Map.of());
        return Checkpoint.open(file, format);
    }

    private Map<String, Expected> random(Random random, int count) {
        Map<String, Expected> tensors = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            tensors.put("t" + i, Expected.random(random));
        }
        return tensors;
    }

    private static byte[] bytes(LoadedTensor tensor) {
        return tensor.segment().toArray(ValueLayout.JAVA_BYTE);
    }

    private void assertSaved(String what, Path saved, Map<String, Expected> tensors) {
        try (LoadedTensors loaded = Checkpoint.open(saved).plan().load(driver)) {
            assertThat(loaded.names()).as(what).containsExactlyInAnyOrderElementsOf(tensors.keySet());
            tensors.forEach((name, tensor) -> {
                TensorInfo info = loaded.get(name).info();
                assertThat(info.order().isRowMajor()).as(what).isTrue();
                if (DType.ofSafetensors().contains(tensor.dtype)) {
                    assertThat(info.shape()).as(what).isEqualTo(tensor.shape);
                }
                assertThat(bytes(loaded.get(name))).as("%s, %s in %s", what, name, tensor.order)
                        .isEqualTo(tensor.rowMajor);
            });
        }
    }

    @Test
    void orderIsAPermutationWithTwoNamedOnes() {
        assertThat(DimensionOrder.rowMajor(3).dimensions()).containsExactly(0, 1, 2);
        assertThat(DimensionOrder.columnMajor(3).dimensions()).containsExactly(2, 1, 0);
        assertThat(DimensionOrder.rowMajor(12).isRowMajor()).isTrue();
        assertThat(DimensionOrder.columnMajor(12).isColumnMajor()).isTrue();
        assertThat(new DimensionOrder(List.of(0, 2, 3, 1))).hasToString("[0, 2, 3, 1]")
                .isEqualTo(new DimensionOrder(List.of(0, 2, 3, 1))).isNotEqualTo(DimensionOrder.rowMajor(4));
        assertThat(DimensionOrder.rowMajor(2)).hasToString("row-major")
                .hasSameHashCodeAs(new DimensionOrder(List.of(0, 1)));
        assertThat(DimensionOrder.columnMajor(2)).hasToString("column-major");
        for (List<Integer> wrong : List.of(List.of(1), List.of(0, 0), List.of(-1, 0), List.of(0, 2))) {
            assertThatThrownBy(() -> new DimensionOrder(wrong)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("once");
        }
    }

    private static TensorInfo info(DType dtype, DimensionOrder order, Long... shape) {
        long bytes = dtype.bytes(List.of(shape)).orElseThrow();
        return new TensorInfo("t", dtype, List.of(shape), Path.of("f"), 0, bytes, order);
    }

    @Test
    void orderIsRowMajorWhereTheBytesAre() {
        DimensionOrder columns = DimensionOrder.columnMajor(2);
        assertThat(info(DType.F32, columns, 1L, 5L).order().isRowMajor()).isTrue();
        assertThat(info(DType.F32, columns, 0L, 5L).order().isRowMajor()).isTrue();
        assertThat(info(DType.F32, columns, 2L, 5L).order()).isEqualTo(columns);
        assertThat(info(DType.F32, columns, 2L, 5L).strides()).containsExactly(1L, 2L);
        assertThat(info(DType.F32, columns, 2L, 5L).toString()).contains("[2, 5] in the order column-major");
        assertThat(info(DType.F32, new DimensionOrder(List.of(0, 2, 3, 1)), 2L, 3L, 4L, 5L).strides())
                .containsExactly(60L, 1L, 15L, 3L);
        assertThat(new TensorInfo("t", DType.F32, List.of(2L, 5L), Path.of("f"), 0, 40).strides())
                .containsExactly(5L, 1L);
        assertThatThrownBy(() -> info(DType.F32, columns, 2L)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("1 dimensions and an order of 2");
        assertThatThrownBy(() -> info(DType.F4, columns, 2L, 4L)).isInstanceOf(CuFileException.class)
                .hasMessageContaining("must be row-major");
    }

    @Test
    void everyOrderIsSavedInRowMajorOrder() throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int round = 0; round < 12; round++) {
            String what = "-Dgds4j.property.seed=%d, round %d".formatted(seed, round);
            Map<String, Expected> tensors = random(random, 12);
            Path out = folder.resolve("out" + round);
            SaveOptions options = SaveOptions.DEFAULTS.withAlign(round % 2 == 0 ? 8 : 4096)
                    .withMaxShardBytes(round % 3 == 0 ? 5000 : Long.MAX_VALUE)
                    .withChecksums(round % 4 < 2).withWritesInFlight(1 + random.nextInt(3));
            SavePlan.builder().checkpoint(checkpoint(tensors)).options(options).toFolder(out).save(driver);
            assertSaved(what, out, tensors);
            if (options.checksums()) {
                assertThat(ChecksumVerifier.verify(driver, out).verified()).as(what).isTrue();
            }
        }
    }

    /** Parts of the source begin and end within elements, and several threads need the same tensor. */
    @ParameterizedTest
    @ValueSource(longs = {8, 4096})
    void tensorsOfManyPartsAreSavedInRowMajorOrder(long align) throws IOException {
        Random random = new Random(1);
        Map<String, Expected> tensors = new LinkedHashMap<>();
        tensors.put("small", Expected.random(random, DType.U8, List.of(3L, 5L), DimensionOrder.columnMajor(2)));
        tensors.put("large", Expected.random(
                random, DType.opaque("V3", 3), List.of(1021L, 1033L, 7L), new DimensionOrder(List.of(1, 2, 0))));
        tensors.put("columns", Expected.random(
                random, DType.F32, List.of(1021L, 2503L), DimensionOrder.columnMajor(2)));
        SaveOptions options = SaveOptions.DEFAULTS.withAlign(align).withChecksums(true);
        SavePlan.builder().checkpoint(checkpoint(tensors)).options(options).toFolder(folder.resolve("out"))
                .save(driver);
        assertSaved("align " + align, folder.resolve("out"), tensors);
        assertThat(ChecksumVerifier.verify(driver, folder.resolve("out")).verified()).isTrue();
    }

    @ParameterizedTest
    @EnumSource(Consistency.class)
    void loadedTensorsAreSavedInRowMajorOrder(Consistency consistency) throws IOException {
        Random random = new Random(2);
        Map<String, Expected> tensors = random(random, 10);
        tensors.values().removeIf(tensor -> !DType.ofSafetensors().contains(tensor.dtype));
        tensors.put("f", Expected.random(random, DType.F32, List.of(70L, 90L), DimensionOrder.columnMajor(2)));
        try (LoadedTensors loaded = checkpoint(tensors).plan().load(driver)) {
            SavePlan.Builder builder = SavePlan.builder().options(SaveOptions.DEFAULTS.withConsistency(consistency));
            loaded.tensors().forEach(builder::tensor);
            builder.toFolder(folder.resolve("out")).save(driver);
        }
        assertSaved(consistency.name(), folder.resolve("out"), tensors);
    }

    @Test
    void severalWritersSaveInRowMajorOrder() throws IOException {
        Map<String, Expected> tensors = random(new Random(3), 8);
        tensors.values().removeIf(tensor -> !DType.ofSafetensors().contains(tensor.dtype));
        tensors.put("f", Expected.random(new Random(4), DType.F32, List.of(70L, 90L), DimensionOrder.columnMajor(2)));
        Path out = folder.resolve("out");
        try (LoadedTensors loaded = checkpoint(tensors).plan().load(driver)) {
            try (ShardedSave save = ShardedSave.begin(out, 1)) {
                for (int rank = 0; rank < 2; rank++) {
                    SavePlan.Builder builder = SavePlan.builder().options(SaveOptions.DEFAULTS.withAlign(8));
                    int number = rank;
                    for (LoadedTensor tensor : loaded.tensors()) {
                        if (number++ % 2 == 0) {
                            builder.tensor(tensor);
                        }
                    }
                    builder.toFile(save.part(rank)).save(driver);
                }
                save.commit(2, Duration.ZERO);
            }
        }
        assertSaved("two writers", out, tensors);
    }

    @Test
    void rangesOfEveryOrderAreOfTheRightDimension() throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int round = 0; round < 60; round++) {
            DType dtype = List.of(DType.U8, DType.F32, DType.C128).get(random.nextInt(3));
            List<Long> shape = new ArrayList<>();
            List<Integer> order = new ArrayList<>();
            for (int i = 1 + random.nextInt(3); i >= 0; i--) {
                order.add(shape.size());
                shape.add(2L * (1 + random.nextInt(5)));
            }
            Collections.shuffle(order, random);
            Expected whole = Expected.random(random, dtype, shape, new DimensionOrder(order));
            boolean column = random.nextBoolean();
            int divided = shape.size() - (column ? 2 : 1);
            Split role = column ? Split.column() : Split.row();
            Split split = shape.size() == 2 ? role : Split.dimension(divided); // roles are for layers of known layouts
            ParallelPlan rules = ParallelPlan.of("p", List.of(new ParallelRule("x.weight", split), REST));
            String what = "-Dgds4j.property.seed=%d, round %d: %s of %s".formatted(seed, round, whole.order, shape);
            Checkpoint checkpoint = checkpoint(Map.of("x.weight", whole));
            List<LoadDestination> destinations = List.of(LoadDestination.host(), LoadDestination.host());
            try (ParallelTensors loaded = checkpoint.plan().across(destinations, rules).load(driver)) {
                for (int rank = 0; rank < 2; rank++) {
                    LoadedTensor slice = loaded.rank(rank).get("x.weight");
                    long[] begin = new long[shape.size()];
                    long[] end = shape.stream().mapToLong(Long::longValue).toArray();
                    long half = shape.get(divided) / 2;
                    begin[divided] = rank * half;
                    end[divided] = begin[divided] + half;
                    assertThat(slice.info().shape().get(divided)).as(what).isEqualTo(half);
                    assertThat(bytes(slice)).as(what + ", rank " + rank)
                            .isEqualTo(whole.stored(slice.info().order(), begin, end));
                    assertThat(CheckpointVerifier.verify(loaded.rank(rank)).verified()).as(what).isTrue();
                }
            }
        }
    }

    @Test
    void elementsAreViewedInRowMajorOrderOrNotAtAll() throws IOException {
        Path file = npy("<f4", 2, 4);
        try (LoadedTensors loaded = Checkpoint.open(file).plan().load(driver)) {
            LoadedTensor tensor = loaded.get("a");
            assertThat(tensor.info().order().isColumnMajor()).isTrue();
            assertThat(tensor.toFloatArray()).containsExactly(0, 1, 2, 3, 4, 5, 6, 7);
            assertThat(tensor.asByteBuffer().asFloatBuffer().get(1)).isEqualTo(4f);
            CheckpointException e = catchThrowableOfType(CheckpointException.class, tensor::asFloatBuffer);
            assertThat(e.rule()).isEqualTo(CheckpointRule.TENSOR_ORDER);
            assertThat(e.getMessage()).contains("a.npy", "'a'", "[2, 4]", "column-major").doesNotContain("\n");
        }
    }

    @Test
    void arraysInFortranOrderAreSavedAsTheirIndexesSay() throws IOException {
        Checkpoint checkpoint = Checkpoint.open(npy("<f4", 2, 4));
        SavePlan.builder().checkpoint(checkpoint).toFolder(folder.resolve("out")).save(driver);
        Checkpoint saved = Checkpoint.open(folder.resolve("out"));
        assertThat(saved.tensors().get("a").shape()).containsExactly(2L, 4L);
        assertThat(saved.typedMetadata().keys()).doesNotContain("a.fortran_order");
        try (LoadedTensors loaded = saved.plan().load(driver)) {
            assertThat(loaded.get("a").asFloatBuffer().get(4)).isEqualTo(4f);
            assertThat(loaded.get("a").toFloatArray()).containsExactly(0, 1, 2, 3, 4, 5, 6, 7);
        }
    }

    /** The check after each test finds memory that remains. */
    @Test
    void saveThatEndsBetweenPiecesFreesTransposedTensors() throws IOException {
        SavePlan plan = SavePlan.builder().checkpoint(Checkpoint.open(npy("<f4", 2000, 3000)))
                .toFolder(folder.resolve("out"));
        assertThatThrownBy(() -> plan.save(driver, new SaveListener() {
            @Override
            public void progress(long bytesDone, long bytesTotal) {
                throw new IllegalStateException("stop");
            }
        })).hasMessage("stop");
        assertThat(folder.resolve("out/model.safetensors")).doesNotExist();
    }

    /** Writes an array in Fortran order whose elements count in row-major order. */
    private Path npy(String descr, int rows, int columns) throws IOException {
        String header = "{'descr': '%s', 'fortran_order': True, 'shape': (%d, %d), }".formatted(descr, rows, columns);
        int length = (10 + header.length() + 1 + 63) / 64 * 64 - 10;
        ByteBuffer file = ByteBuffer.allocate(10 + length + 4 * rows * columns).order(ByteOrder.LITTLE_ENDIAN);
        file.put((byte) 0x93).put(new byte[]{'N', 'U', 'M', 'P', 'Y', 1, 0}).putShort((short) length);
        file.put((header + " ".repeat(length - header.length() - 1) + "\n")
                .getBytes(StandardCharsets.US_ASCII));
        for (int column = 0; column < columns; column++) {
            for (int row = 0; row < rows; row++) {
                file.putFloat(row * columns + column);
            }
        }
        return Files.write(folder.resolve("a.npy"), file.array());
    }
}
