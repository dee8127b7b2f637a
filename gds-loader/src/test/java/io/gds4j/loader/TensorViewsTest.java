package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.function.Consumer;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Views and decoded values of tensors in host memory. */
class TensorViewsTest {
    private final CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat");

    @TempDir
    private Path folder;

    @AfterEach
    void close() {
        driver.close();
    }

    /** Returns a little-endian array of bytes. */
    private static byte[] bytes(int length, Consumer<ByteBuffer> content) {
        ByteBuffer buffer = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        content.accept(buffer);
        return buffer.array();
    }

    /** Writes a checkpoint of one tensor, loads it and returns what the reader makes of it. */
    private <T> T loaded(DType dtype, byte[] content, Function<LoadedTensor, T> reader) {
        Path file = folder.resolve("one.safetensors");
        long elements = content.length * 8L / dtype.bits();
        new SafetensorsWriter(file)
                .tensor("one", dtype, elements)
                .write((tensor, offset, to) -> MemorySegment.copy(
                        MemorySegment.ofArray(content), offset, to, 0, to.byteSize()));
        try (LoadedTensors tensors = Checkpoint.open(file).plan().load(driver)) {
            return reader.apply(tensors.get("one"));
        }
    }

    private void with(DType dtype, byte[] content, Consumer<LoadedTensor> check) {
        loaded(dtype, content, tensor -> {
            check.accept(tensor);
            return tensor;
        });
    }

    @Test
    void viewsShowTheElementsInLittleEndian() {
        byte[] eight = bytes(8, to -> to.putInt(1).putInt(-2));

        with(DType.I32, eight, tensor -> assertThat(tensor.asIntBuffer().get(1)).isEqualTo(-2));
        with(DType.U32, eight, tensor -> assertThat(tensor.asIntBuffer().get(0)).isOne());
        with(
                DType.I64, bytes(8, to -> to.putLong(1L << 40)),
                tensor -> assertThat(tensor.asLongBuffer().get(0)).isEqualTo(1L << 40));
        with(
                DType.F64, bytes(8, to -> to.putDouble(-0.1)),
                tensor -> assertThat(tensor.asDoubleBuffer().get(0)).isEqualTo(-0.1));
        with(DType.F32, bytes(8, to -> to.putFloat(7).putFloat(0.1f)), tensor -> {
            assertThat(tensor.asFloatBuffer().remaining()).isEqualTo(2);
            assertThat(tensor.asFloatBuffer().get(1)).isEqualTo(0.1f);
        });
        with(DType.BF16, eight, tensor -> assertThat(tensor.asShortBuffer().get(2)).isEqualTo((short) -2));
        with(DType.BOOL, eight, tensor -> assertThat(tensor.asByteBuffer().get(4)).isEqualTo((byte) -2));
        with(DType.U8, eight, tensor -> assertThat(tensor.segment().byteSize()).isEqualTo(8));
    }

    @Test
    void viewOfATensorWithoutElementsIsEmpty() {
        with(DType.F32, new byte[0], tensor -> assertThat(tensor.asFloatBuffer().remaining()).isZero());
        assertThat(loaded(DType.BF16, new byte[0], LoadedTensor::toFloatArray)).isEmpty();
    }

    @Test
    void wideFloatsAreDecodedExactly() {
        float[] expected = {0f, -0f, 1f, -2.5f, Float.POSITIVE_INFINITY, 65280f};
        byte[] f32 = bytes(24, to -> to.asFloatBuffer().put(expected));
        byte[] f16 = bytes(12, to -> {
            for (float value : expected) {
                to.putShort(Float.floatToFloat16(value));
            }
        });
        byte[] bf16 = bytes(12, to -> {
            for (float value : expected) {
                to.putShort((short) (Float.floatToRawIntBits(value) >>> 16));
            }
        });

        assertThat(loaded(DType.F32, f32, LoadedTensor::toFloatArray)).containsExactly(expected);
        assertThat(loaded(DType.F16, f16, LoadedTensor::toFloatArray)).containsExactly(expected);
        assertThat(loaded(DType.BF16, bf16, LoadedTensor::toFloatArray)).containsExactly(expected);
    }

    /** Values of the specifications: OCP 8-bit floats and microscaling formats, and FNUZ of MLIR. */
    @ParameterizedTest(name = "{0} 0x{1} is {2}")
    @CsvSource({
            "F8_E4M3, 00, 0",
            "F8_E4M3, 80, -0.0",
            "F8_E4M3, 01, 0.001953125",
            "F8_E4M3, 08, 0.015625",
            "F8_E4M3, 38, 1",
            "F8_E4M3, b9, -1.125",
            "F8_E4M3, 7e, 448",
            "F8_E4M3, 7f, NaN",
            "F8_E4M3, ff, NaN",
            "F8_E5M2, 01, 0.0000152587890625",
            "F8_E5M2, 3c, 1",
            "F8_E5M2, 7b, 57344",
            "F8_E5M2, fc, -Infinity",
            "F8_E5M2, 7d, NaN",
            "F8_E4M3FNUZ, 00, 0",
            "F8_E4M3FNUZ, 80, NaN",
            "F8_E4M3FNUZ, 01, 0.0009765625",
            "F8_E4M3FNUZ, 40, 1",
            "F8_E4M3FNUZ, 7f, 240",
            "F8_E4M3FNUZ, ff, -240",
            "F8_E5M2FNUZ, 80, NaN",
            "F8_E5M2FNUZ, 01, 0.00000762939453125",
            "F8_E5M2FNUZ, 40, 1",
            "F8_E5M2FNUZ, 7f, 57344",
            "F8_E8M0, 00, 5.877471754111438E-39",
            "F8_E8M0, 7f, 1",
            "F8_E8M0, fe, 1.7014118346046923E38",
            "F8_E8M0, ff, NaN"
    })
    void byteFloatsHaveTheValuesOfTheirSpecification(String id, String bits, float value) {
        DType dtype = DType.of(id).orElseThrow();
        byte[] content = {(byte) Integer.parseInt(bits, 16)};

        assertThat(loaded(dtype, content, LoadedTensor::toFloatArray)).containsExactly(value);
    }

    @ParameterizedTest
    @ValueSource(strings = {"BOOL", "F4", "F6_E2M3", "U8", "I32", "F64", "C64"})
    void otherTypesAreNotDecoded(String id) {
        DType dtype = DType.of(id).orElseThrow();
        CuFileException e = catchThrowableOfType(
                CuFileException.class, () -> loaded(dtype, new byte[24], LoadedTensor::toFloatArray));

        assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(e).hasMessageContaining("'one' is of type " + dtype);
    }

    @Test
    void viewOfAnotherTypeIsRefused() {
        assertThatThrownBy(() -> loaded(DType.BF16, new byte[8], LoadedTensor::asFloatBuffer))
                .isInstanceOf(CuFileException.class)
                .hasMessageContaining("toFloatArray() decodes this type");
        assertThatThrownBy(() -> loaded(DType.F32, new byte[8], LoadedTensor::asIntBuffer))
                .hasMessageContaining("needs I32 or U32");
    }

    @Test
    void viewEndsWithItsTensor() {
        FloatBuffer view = loaded(DType.F32, new byte[8], LoadedTensor::asFloatBuffer);

        assertThatThrownBy(() -> view.get(0)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void memoryOfAGpuHasNoView() {
        TensorInfo info = loaded(DType.F32, new byte[8], LoadedTensor::info);
        LoadedTensor onGpu = new LoadedTensor(info, MemoryRange.ofAddress(4096, 8, MemoryKind.CUDA_DEVICE));

        CuFileException e = catchThrowableOfType(CuFileException.class, onGpu::asFloatBuffer);
        assertThat(e.error()).isEqualTo(CuFileError.CUDA_MEMORY_TYPE_INVALID);
        assertThat(e).hasMessageContaining("toHost() copies it");
    }
}
