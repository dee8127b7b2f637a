package io.gds4j.interop.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.TensorInfo;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Arrays of DJL over tensors, where the natives of the profile djl are on the class path. */
class SharedArrayTest {
    @TempDir
    private Path folder;

    @BeforeAll
    static void onlyWithPyTorch() {
        assumeTrue(SharedArrayTest.class.getResource("/native/lib/pytorch.properties") != null,
                "no PyTorch here; the profile djl adds it");
        System.setProperty("OPT_OUT_TRACKING", "true");
        System.setProperty("ai.djl.offline", "true");
        System.setProperty("ENGINE_CACHE_DIR", Path.of("target", "djl").toAbsolutePath().toString());
    }

    private LoadedTensors load(CuFileDriver driver) {
        Path path = folder.resolve("m.safetensors");
        new SafetensorsWriter(path)
                .tensor("f32", DType.F32, 4, 6)
                .tensor("bf16", DType.BF16, 8)
                .tensor("f8", DType.F8_E4M3, 8)
                .durable(false)
                .write(new TensorPattern(1));
        return Checkpoint.open(path).plan().load(driver);
    }

    @Test
    void arrayAndTensorAreOneMemory() {
        try (CuFileDriver driver = CuFileDriver.open();
                NDManager manager = NDManager.newBaseManager();
                LoadedTensors tensors = load(driver)) {
            for (int i = 0; i < 24; i++) {
                tensors.segment("f32").setAtIndex(ValueLayout.JAVA_FLOAT, i, i);
            }
            try (SharedArray shared = SharedArray.of(tensors.get("f32"), manager)) {
                NDArray array = shared.array();
                assertThat(array.getShape().getShape()).containsExactly(4, 6);
                assertThat(array.getDataType()).isEqualTo(DataType.FLOAT32);
                assertThat(array.sum().getFloat()).isEqualTo(276f);
                array.addi(1);
                assertThat(tensors.segment("f32").getAtIndex(ValueLayout.JAVA_FLOAT, 23)).isEqualTo(24f);
                tensors.segment("f32").setAtIndex(ValueLayout.JAVA_FLOAT, 0, -5f);
                assertThat(array.getFloat(0, 0)).isEqualTo(-5f);
                assertThatExceptionOfType(CuFileException.class).isThrownBy(tensors::close)
                        .withMessageContaining("claimed");
            }
        }
    }

    @Test
    void arrayHasTheOrderOfItsTensor() {
        try (CuFileDriver driver = CuFileDriver.open();
                NDManager manager = NDManager.newBaseManager();
                LoadedTensors tensors = load(driver)) {
            for (int i = 0; i < 24; i++) {
                tensors.segment("f32").setAtIndex(ValueLayout.JAVA_FLOAT, i, i);
            }
            TensorInfo columns = new TensorInfo("f32", DType.F32, List.of(4L, 6L), folder.resolve("f.npy"), 0, 96,
                    DimensionOrder.columnMajor(2));
            try (SharedArray shared = SharedArray.of(new LoadedTensor(columns, tensors.range("f32")), manager)) {
                assertThat(shared.array().getFloat(1, 0)).isEqualTo(1f);
                assertThat(shared.array().getFloat(0, 1)).isEqualTo(4f);
            }
        }
    }

    @Test
    void typesAreThoseOfDjl() {
        try (CuFileDriver driver = CuFileDriver.open();
                NDManager manager = NDManager.newBaseManager();
                LoadedTensors tensors = load(driver)) {
            float[] expected = tensors.get("bf16").toFloatArray();
            SharedArray shared = SharedArray.of(tensors.get("bf16"), manager);
            try (NDArray floats = shared.array().toType(DataType.FLOAT32, true)) {
                assertThat(floats.toFloatArray()).containsExactly(expected);
            } finally {
                shared.close();
                shared.close();
            }
            assertThatExceptionOfType(CuFileException.class)
                    .isThrownBy(() -> SharedArray.of(tensors.get("f8"), manager))
                    .withMessageContaining("DJL has no type F8_E4M3");
        }
    }
}
