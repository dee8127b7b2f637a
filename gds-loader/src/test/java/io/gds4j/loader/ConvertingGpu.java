package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.internal.Conversion;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Conversions by a GPU, beside those of the host. */
@Timeout(180)
abstract class ConvertingGpu {
    private static final long SEED = Long.getLong("gds4j.property.seed", System.nanoTime());
    private static final ValueLayout.OfShort SHORT =
            ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    @TempDir
    Path folder;

    private final CuFileDriver driver = open();

    /** Opens a driver that has a GPU. */
    abstract CuFileDriver open();

    /** Blocks of a type to convert. */
    abstract int blocks();

    @AfterEach
    void close() {
        driver.close();
    }

    static Stream<DType> types() {
        return JavaConversion.SOURCES.stream();
    }

    @ParameterizedTest
    @MethodSource("types")
    void elementsAreThoseOfTheHost(DType type) {
        Random random = new Random(SEED);
        int blocks = type.blockBytes() == 2 ? 1 << 16 : blocks();
        byte[] bytes = new byte[blocks * type.blockBytes()];
        random.nextBytes(bytes);
        MemorySegment from = MemorySegment.ofArray(bytes);
        if (type.blockBytes() == 2) {
            for (int i = 0; i < blocks; i++) { // each value
                from.set(SHORT, 2L * i, (short) i);
            }
        } else if (type.equals(DType.F32)) {
            // half of the values lie close to those of a smaller type, where rounding decides
            for (int i = 0; i < blocks; i++) {
                from.set(INT, 4L * i, random.nextBoolean() ? random.nextInt()
                        : (random.nextInt() & 0xfffff000) + (random.nextInt(3) - 1) * (1 + random.nextInt(2)));
            }
        }
        MemoryAllocator allocator = driver.allocator();
        for (DType to : JavaConversion.TARGETS) {
            if (to.equals(type)) {
                continue;
            }
            assertThat(allocator.converts(type.id(), to.id())).isTrue();
            long results = (long) blocks * type.blockElements() * to.blockBytes();
            int skipped = random.nextInt(4); // elements begin at any byte
            try (Arena arena = Arena.ofConfined();
                    MemoryAllocation source = allocator.allocate(MemoryKind.CUDA_DEVICE, bytes.length + skipped);
                    MemoryAllocation target = allocator.allocate(MemoryKind.CUDA_DEVICE, results + 64)) {
                allocator.fill(target.range(), (byte) 0x5a);
                allocator.copyFromHost(from, source.range().slice(skipped, bytes.length));
                allocator.convert(source.range().slice(skipped, bytes.length), type.id(),
                        target.range().slice(32, results), to.id());
                MemorySegment all = arena.allocate(results + 64);
                allocator.copyToHost(target.range(), all);
                MemorySegment expected = arena.allocate(results);
                Conversion.of(type, to).orElseThrow().convert(from, expected);
                String what = "%s to %s, -Dgds4j.property.seed=%d".formatted(type, to, SEED);
                assertThat(difference(expected, all.asSlice(32, results), to)).as(what).isEqualTo(-1);
                for (long i = 0; i < 32; i++) {
                    assertThat(all.get(ValueLayout.JAVA_BYTE, i)).as(what).isEqualTo((byte) 0x5a);
                    assertThat(all.get(ValueLayout.JAVA_BYTE, 32 + results + i)).as(what).isEqualTo((byte) 0x5a);
                }
            }
        }
    }

    /** Returns the first element that differs, -1 if none does. Which NaN it is says no format. */
    private static long difference(MemorySegment expected, MemorySegment actual, DType type) {
        long at = expected.mismatch(actual);
        while (at >= 0) {
            long element = at / type.blockBytes();
            if (!isNan(expected, element, type) || !isNan(actual, element, type)) {
                return element;
            }
            long next = (element + 1) * type.blockBytes();
            long more = expected.asSlice(next).mismatch(actual.asSlice(next));
            at = more < 0 ? -1 : next + more;
        }
        return -1;
    }

    private static boolean isNan(MemorySegment values, long element, DType type) {
        return switch (type.id()) {
            case "F32" -> (values.get(INT, 4 * element) & 0x7fffffff) > 0x7f800000;
            case "F16" -> (values.get(SHORT, 2 * element) & 0x7fff) > 0x7c00;
            default -> (values.get(SHORT, 2 * element) & 0x7fff) > 0x7f80;
        };
    }

    @Test
    void tensorsOfATurnAreConvertedInGpuMemory() {
        TensorPattern pattern = new TensorPattern(3);
        Path file = folder.resolve("typed.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(file).sorted(false);
        for (int i = 0; i < 20; i++) {
            writer.tensor("u" + i, DType.U8, 1 + i).tensor("a" + i, DType.BF16, 7, 3000 + i)
                    .tensor("b" + i, DType.F32, i, 3).tensor("c" + i, DType.F16, 100 * i)
                    .tensor("d" + i, DType.F8_E4M3, 500 + i).tensor("e" + i, DType.I32, 5);
        }
        writer.write(pattern);
        LoadPlan plan = Checkpoint.open(file).plan();
        for (DType type : JavaConversion.TARGETS) {
            List<String> types = new ArrayList<>();
            try (TensorsInTurn onHost = plan.as(type).inTurn(driver, Budget.bytes(1 << 20));
                    TensorsInTurn onGpu = plan.as(type).toGpu(0).inTurn(driver, Budget.bytes(1 << 20))) {
                for (TensorInTurn turn : onGpu) {
                    LoadedTensor tensor = turn.tensor();
                    try (TensorInTurn same = onHost.next().orElseThrow()) {
                        LoadedTensor expected = same.tensor();
                        assertThat(tensor.range().kind()).isEqualTo(MemoryKind.CUDA_DEVICE);
                        assertThat(tensor.name()).isEqualTo(expected.name());
                        assertThat(tensor.dtype()).isEqualTo(expected.dtype());
                        assertThat(tensor.shape()).isEqualTo(expected.shape());
                        MemorySegment copy = tensor.toHost().segment();
                        if (JavaConversion.TARGETS.contains(tensor.dtype())) {
                            assertThat(difference(expected.segment(), copy, tensor.dtype())).as(tensor.name())
                                    .isEqualTo(-1);
                        } else {
                            assertThat(expected.segment().mismatch(copy)).as(tensor.name()).isEqualTo(-1);
                        }
                        types.add(tensor.dtype().id());
                    }
                }
                assertThat(onHost.next()).isEmpty();
            }
            assertThat(types).hasSize(120).contains("U8", "I32", type.id()).doesNotContain("F8_E4M3");
        }
    }

    @Test
    void whatTheKernelCannotDoIsRefused() {
        MemoryAllocator allocator = driver.allocator();
        try (MemoryAllocation gpu = allocator.allocate(MemoryKind.CUDA_DEVICE, 4096);
                MemoryAllocation host = allocator.allocate(MemoryKind.HOST, 4096)) {
            assertThat(allocator.converts("F64", "F32")).isFalse();
            assertThat(allocator.converts("F32", "F64")).isFalse();
            refused(CuFileError.IO_NOT_SUPPORTED, () -> allocator.convert(
                    gpu.range().slice(0, 8), "F64", gpu.range().slice(8, 4), "F32"));
            refused(CuFileError.IO_NOT_SUPPORTED, () -> allocator.convert(
                    host.range().slice(0, 2), "F16", gpu.range().slice(8, 4), "F32"));
            refused(CuFileError.INVALID_VALUE, () -> allocator.convert(
                    gpu.range().slice(0, 3), "F16", gpu.range().slice(8, 4), "F32"));
            refused(CuFileError.INVALID_VALUE, () -> allocator.convert(
                    gpu.range().slice(0, 4), "F16", gpu.range().slice(8, 4), "F32"));
            refused(CuFileError.INVALID_VALUE, () -> allocator.convert(
                    gpu.range().slice(0, 2), "F16", gpu.range().slice(9, 4), "F32"));
            refused(CuFileError.IO_NOT_SUPPORTED, () -> allocator.convert(
                    gpu.range().slice(0, 2), "F16", host.range().slice(8, 4), "F32"));
        }
    }

    private static void refused(CuFileError error, Runnable call) {
        assertThatThrownBy(call::run).isInstanceOfSatisfying(CuFileException.class,
                e -> assertThat(e.error()).as(e.getMessage()).isEqualTo(error));
    }
}
