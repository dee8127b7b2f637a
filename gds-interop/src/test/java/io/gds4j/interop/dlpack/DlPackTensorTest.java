package io.gds4j.interop.dlpack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Types, shapes, strides and devices. */
class DlPackTensorTest {
    private static final DlPackType F32 = new DlPackType(2, 32, 1);

    static List<DType> types() {
        return DType.ofSafetensors();
    }

    @ParameterizedTest
    @MethodSource("types")
    void everyTypeOfSafetensorsHasAnEquivalent(DType type) {
        DlPackType equivalent = DlPackType.of(type);
        assertThat(equivalent.dtype()).contains(type);
        assertThat(equivalent.elementBits()).isEqualTo(type.bits());
    }

    @ParameterizedTest
    @CsvSource({"F8_E4M3,10,8", "F8_E5M2,12,8", "F8_E8M0,14,8", "F6_E2M3,15,6", "F6_E3M2,16,6", "F4,17,4",
            "BF16,4,16", "BOOL,6,8", "C64,5,64", "U16,1,16"})
    void codesAreThoseOfTheHeader(String type, int code, int bits) {
        assertThat(DlPackType.of(DType.of(type).orElseThrow())).isEqualTo(new DlPackType(code, bits, 1));
    }

    @Test
    void quantisedTypeHasNoEquivalent() {
        refuses(() -> DlPackType.of(new DType("Q4_0", 32, 18)), "Q4_0");
        refuses(() -> DlPackTensor.of(tensor(new DType("Q4_0", 32, 18), List.of(32L), 18)), "no equivalent");
    }

    @Test
    void checkpointTensorIsCompact() {
        DlPackTensor tensor = DlPackTensor.of(tensor(DType.BF16, List.of(3L, 5L, 7L), 210));
        assertThat(tensor.strides()).containsExactly(35L, 7L, 1L);
        assertThat(tensor.bytes()).isEqualTo(210);
        assertThat(tensor.isCompact()).isTrue();
        assertThat(tensor.device()).isEqualTo(DlPackDevice.CPU);
    }

    @ParameterizedTest
    @CsvSource({"0 1,4 1,true", "1 0,1 2,false"})
    void stridesAreThoseOfTheOrder(String order, String strides, boolean compact) {
        List<Integer> dimensions = Stream.of(order.split(" ")).map(Integer::valueOf).toList();
        TensorInfo info = new TensorInfo("t", DType.F32, List.of(2L, 4L), Path.of("t.npy"), 0, 32,
                new DimensionOrder(dimensions));
        DlPackTensor tensor = DlPackTensor.of(new LoadedTensor(info, memory(32)));
        assertThat(tensor.shape()).containsExactly(2L, 4L);
        assertThat(tensor.strides()).isEqualTo(Stream.of(strides.split(" ")).map(Long::valueOf).toList());
        assertThat(tensor.isCompact()).isEqualTo(compact);
        assertThat(tensor.bytes()).isEqualTo(32);
    }

    @Test
    void shortFloatsArePackedUnlessPadded() {
        DlPackType f4 = DlPackType.of(DType.F4);
        MemoryRange range = memory(8);
        assertThat(DlPackTensor.compact(range, f4, List.of(3L, 5L)).bytes()).isEqualTo(8);
        refuses(() -> DlPackTensor.compact(range, f4, List.of(17L)), "9 bytes");
        DlPackTensor padded =
                new DlPackTensor(memory(15), f4, List.of(3L, 5L), List.of(5L, 1L), DlPackDevice.CPU,
                        Set.of(DlPackFlag.SUBBYTE_PADDED));
        assertThat(padded.bytes()).isEqualTo(15);
        assertThat(DlPackTensor.compact(memory(6), DlPackType.of(DType.F6_E3M2), List.of(8L)).bytes()).isEqualTo(6);
    }

    @Test
    void packedElementsHaveNoStrides() {
        refuses(() -> new DlPackTensor(memory(64), DlPackType.of(DType.F4), List.of(2L, 4L), List.of(8L, 1L),
                DlPackDevice.CPU, Set.of()), "compact");
    }

    @Test
    void pairsOfShortFloatsAreVectors() {
        DlPackTensor pairs = DlPackTensor.compact(memory(8), DlPackType.of(DType.F4), List.of(2L, 8L)).vectors(2);
        assertThat(pairs.shape()).containsExactly(2L, 4L);
        assertThat(pairs.type()).isEqualTo(new DlPackType(17, 4, 2));
        assertThat(pairs.bytes()).isEqualTo(8);
        assertThat(pairs.type().dtype()).isEmpty();
        refuses(() -> pairs.vectors(2), "2 lanes");
        refuses(() -> DlPackTensor.compact(memory(8), F32, List.of()).vectors(2), "no vectors");
    }

    @Test
    void elementsStayInsideTheMemory() {
        MemoryRange range = memory(64);
        assertThat(new DlPackTensor(range, F32, List.of(4L, 2L), List.of(4L, 1L), DlPackDevice.CPU, Set.of()).bytes())
                .isEqualTo(56);
        refuses(() -> new DlPackTensor(range, F32, List.of(4L, 2L), List.of(5L, 1L), DlPackDevice.CPU, Set.of()),
                "68 bytes, its memory 64");
        refuses(() -> DlPackTensor.compact(range, F32, List.of(17L)), "68 bytes");
        refuses(() -> DlPackTensor.compact(range, F32, List.of(1L << 40, 1L << 40)), "2^63-1");
        refuses(() -> DlPackTensor.compact(range, F32, List.of(-1L)), "negative");
        refuses(() -> new DlPackTensor(range, F32, List.of(2L), List.of(-1L), DlPackDevice.CPU, Set.of()), "negative");
        refuses(() -> new DlPackTensor(range, F32, List.of(2L), List.of(), DlPackDevice.CPU, Set.of()), "dimensions");
        refuses(() -> DlPackTensor.compact(range, F32, java.util.Collections.nCopies(65, 1L)), "65");
    }

    @Test
    void emptyTensorIsCompactWithAnyStrides() {
        DlPackTensor empty =
                new DlPackTensor(memory(8), F32, List.of(0L, 6L), List.of(1L, -7L), DlPackDevice.CPU, Set.of());
        assertThat(empty.isCompact()).isTrue();
        assertThat(empty.vectors(3).shape()).containsExactly(0L, 2L);
        assertThat(DlPackTensor.compact(memory(8), F32, List.of(0L, 1L << 61, 4L, 1L)).bytes()).isZero();
    }

    @Test
    void strideOfASingleIndexMeansNothing() {
        assertThat(new DlPackTensor(memory(16), F32, List.of(1L, 4L), List.of(-4L, 1L), DlPackDevice.CPU, Set.of()))
                .matches(DlPackTensor::isCompact)
                .returns(16L, DlPackTensor::bytes);
    }

    @Test
    void tooLongShapeIsNotCalledNegative() {
        refuses(() -> DlPackTensor.compact(memory(8), F32, List.of(3L, Long.MAX_VALUE, 2L)), "exceeds 2^63-1 bytes");
    }

    @Test
    void paddedElementsAreNotGroupedIntoVectors() {
        DlPackTensor padded = new DlPackTensor(
                memory(8), DlPackType.of(DType.F4), List.of(8L), List.of(1L), DlPackDevice.CPU, Set.of())
                .with(DlPackFlag.SUBBYTE_PADDED);
        refuses(() -> padded.vectors(2), "SUBBYTE_PADDED");
        assertThat(DlPackTensor.compact(memory(8), DlPackType.of(DType.U8), List.of(8L))
                .with(DlPackFlag.SUBBYTE_PADDED)
                .vectors(2)
                .bytes()).isEqualTo(8);
    }

    @Test
    void partsOfADescriptionAreNotNull() {
        List<Long> none = List.of(0L);
        assertThatNullPointerException()
                .isThrownBy(() -> new DlPackTensor(memory(8), F32, none, none, null, Set.of()));
        assertThatNullPointerException()
                .isThrownBy(() -> new DlPackTensor(memory(8), null, none, none, DlPackDevice.CPU, Set.of()));
        assertThatNullPointerException().isThrownBy(() -> DlPackCapsule.ofAddress(4096, null));
    }

    @Test
    void gpuMemoryIsOnNoOtherMakersDevice() {
        DlPackTensor tensor =
                DlPackTensor.compact(MemoryRange.ofAddress(4096, 8, MemoryKind.CUDA_DEVICE), F32, List.of(2L));
        assertThat(tensor.onDevice(DlPackDevice.CUDA_MANAGED).device()).isEqualTo(DlPackDevice.CUDA_MANAGED);
        refuses(() -> tensor.onDevice(new DlPackDevice(8, 0)), "CUDA_DEVICE memory is not on");
    }

    @ParameterizedTest
    @EnumSource
    void deviceOfEveryKindLeadsBack(MemoryKind kind) {
        MemoryRange range = kind.isCuda()
                ? MemoryRange.ofAddress(4096, 64, kind, 3)
                : MemoryRange.ofAddress(4096, 64, kind);
        DlPackDevice device = DlPackTensor.compact(range, F32, List.of(16L)).device();
        int type = switch (kind) {
            case HOST, HOST_HUGEPAGE -> 1;
            case HOST_PINNED, HOST_REGISTERED -> 3;
            case CUDA_MANAGED -> 13;
            default -> 2;
        };
        assertThat(device).isEqualTo(new DlPackDevice(type, type == 2 ? 3 : 0));
    }

    @Test
    void pinnedMemoryMayBePlainHostMemory() {
        MemoryRange range = MemoryRange.ofAddress(4096, 64, MemoryKind.HOST_PINNED);
        DlPackTensor tensor = DlPackTensor.compact(range, F32, List.of(16L));
        assertThat(tensor.onDevice(DlPackDevice.CPU).device()).isEqualTo(DlPackDevice.CPU);
        refuses(() -> tensor.onDevice(DlPackDevice.cuda(0)), "HOST_PINNED");
    }

    @Test
    void structFollowsTheConsumersVersion() {
        assertThat(DlPackVersion.forConsumer(0).capsuleName()).isEqualTo("dltensor");
        assertThat(DlPackVersion.forConsumer(1).usedCapsuleName()).isEqualTo("used_dltensor_versioned");
        refuses(() -> DlPackVersion.forConsumer(-1), "-1");
    }

    private static MemoryRange memory(long bytes) {
        return MemoryRange.ofAddress(4096, bytes, MemoryKind.HOST);
    }

    private static LoadedTensor tensor(DType type, List<Long> shape, long bytes) {
        return new LoadedTensor(new TensorInfo("t", type, shape, Path.of("f"), 0, bytes), memory(bytes));
    }

    private static void refuses(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String reason) {
        assertThatExceptionOfType(CuFileException.class).isThrownBy(call).withMessageContaining(reason);
    }
}
