package io.gds4j.interop.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorLoan;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Arrays of DJL over tensors, where the natives of the profile djl are on the class path. {@code -Dgds4j.property.seconds} of 10 or more
 * tries 10,000 orders of closing.
 */
class SharedArrayTest {
    private static final int ORDERS = Long.getLong("gds4j.property.seconds", 0) >= 10 ? 10_000 : 300;

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
        return plan().load(driver);
    }

    private LoadPlan plan() {
        Path path = folder.resolve("m.safetensors");
        SavePlan.builder()
                .generated("f32", DType.F32, new TensorPattern(1), 4, 6)
                .generated("bf16", DType.BF16, new TensorPattern(1), 8)
                .generated("f8", DType.F8_E4M3, new TensorPattern(1), 8)
                .toFile(path).save();
        return Checkpoint.open(path).plan();
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
                        .withMessageContaining("lent by SharedArray.of('f32'), at ");
                assertThat(tensors.isOpen()).isTrue();
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

    @Test
    void closingTheManagerEndsTheLoan() {
        try (CuFileDriver driver = CuFileDriver.open(); NDManager manager = NDManager.newBaseManager()) {
            LoadedTensors tensors = load(driver);
            try (NDManager sub = manager.newSubManager()) {
                assertThat(SharedArray.of(tensors.get("f32"), sub).array().sum().getFloat()).isNotNaN();
            }
            tensors.close();
        }
    }

    @Test
    void viewKeepsTheLoan() {
        try (CuFileDriver driver = CuFileDriver.open(); NDManager manager = NDManager.newBaseManager()) {
            LoadedTensors tensors = load(driver);
            tensors.segment("f32").setAtIndex(ValueLayout.JAVA_FLOAT, 0, 7f);
            SharedArray shared = SharedArray.of(tensors.get("f32"), manager);
            NDArray view = shared.array().get("0:2");
            shared.close();
            assertThatExceptionOfType(CuFileException.class).isThrownBy(tensors::close).withMessageContaining("lent");
            assertThat(view.getFloat(0, 0)).isEqualTo(7f);
            view.close();
            tensors.close();
        }
    }

    @Test
    void everyTypeOfDjlIsShared() {
        List<DType> types = List.of(DType.U8, DType.I8, DType.I32, DType.I64, DType.F16, DType.F32, DType.F64,
                DType.C64, DType.BOOL, DType.BF16);
        MemoryRange memory = MemoryRange.ofSegment(Arena.ofAuto().allocate(64, 64));
        try (NDManager manager = NDManager.newBaseManager()) {
            for (DType type : types) {
                TensorInfo info =
                        new TensorInfo("t", type, List.of(2L, 4L), Path.of("f"), 0, type.bytes(8).getAsLong());
                LoadedTensor tensor = new LoadedTensor(info, memory.slice(0, info.length()));
                try (SharedArray shared = SharedArray.of(tensor, manager)) {
                    assertThat(shared.array().getShape().getShape()).as(type.id()).containsExactly(2, 4);
                }
            }
        }
    }

    @Test
    void anyOrderOfClosingLeavesNoLoanAndNoCrash() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        try (CuFileDriver driver = CuFileDriver.open(); NDManager base = NDManager.newBaseManager()) {
            LoadPlan plan = plan().include("f32");
            for (int order = 0; order < ORDERS; order++) {
                LoadedTensors tensors = plan.load(driver);
                float first = tensors.get("f32").asFloatBuffer().get(0);
                Model model = order % 2 == 0 ? Model.newInstance("m", "PyTorch") : null;
                NDManager manager = model == null ? base.newSubManager() : model.getNDManager();
                List<NDArray> arrays = new ArrayList<>();
                List<TensorLoan> loans = new ArrayList<>();
                List<Runnable> closes = new ArrayList<>(List.of(model == null ? manager::close : model::close));
                for (int i = random.nextInt(3); i >= 0; i--) {
                    SharedArray shared = SharedArray.of(tensors.get("f32"), manager);
                    closes.add(shared::close);
                    arrays.addAll(List.of(shared.array(), shared.array().get("0:2"), shared.array().reshape(24)));
                    loans.add(tensors.get("f32").lend());
                }
                arrays.forEach(array -> closes.add(array::close));
                loans.forEach(loan -> closes.add(loan::close));
                Collections.shuffle(closes, random);
                for (Runnable close : closes) {
                    close.run();
                    boolean isLent = arrays.stream().anyMatch(array -> !array.isReleased())
                            || loans.stream().anyMatch(TensorLoan::isOpen);
                    if (isLent && random.nextInt(4) == 0) {
                        assertThatExceptionOfType(CuFileException.class).as("seed %s, order %s", seed, order)
                                .isThrownBy(tensors::close).withMessageContaining("lent by");
                    }
                    arrays.stream().filter(array -> !array.isReleased()).findAny().ifPresent(
                            array -> assertThat(array.flatten().getFloat(0)).isEqualTo(first));
                }
                tensors.close();
            }
            assertThat(driver.allocator().usage().values()).allSatisfy(kind -> assertThat(kind.bytes()).isZero());
        }
    }
}
