package io.gds4j.interop.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.core.Linear;
import ai.djl.training.ParameterStore;
import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.save.SavePlan;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Blocks of DJL over tensors, where the natives of the profile djl are on the class path. */
class DjlParametersTest {
    private static final Map<String, String> NAMES = Map.of("weight", "0.weight", "bias", "0.bias");

    @TempDir
    private Path folder;

    @BeforeAll
    static void onlyWithPyTorch() {
        assumeTrue(DjlParametersTest.class.getResource("/native/lib/pytorch.properties") != null,
                "no PyTorch here; the profile djl adds it");
        System.setProperty("OPT_OUT_TRACKING", "true");
        System.setProperty("ai.djl.offline", "true");
        System.setProperty("ENGINE_CACHE_DIR", Path.of("target", "djl").toAbsolutePath().toString());
    }

    private LoadedTensors load(CuFileDriver driver) {
        Path file = folder.resolve("m.safetensors");
        SavePlan.builder().tensor("0.weight", new float[]{1, 2, 3, 4, 5, 6}, 2, 3)
                .tensor("0.bias", new float[]{10, 20}, 2).toFile(file).save(driver);
        return Checkpoint.load(file, driver);
    }

    private static Block linear() {
        return Linear.builder().setUnits(2).build();
    }

    @Test
    void blockComputesWithTheTensorsUntilItsModelIsClosed() {
        try (CuFileDriver driver = CuFileDriver.open()) {
            LoadedTensors tensors = load(driver);
            try (Model model = Model.newInstance("linear", "PyTorch")) {
                Block block = linear();
                model.setBlock(block);
                NDManager manager = model.getNDManager();
                DjlParameters.share(block, tensors, manager, NAMES);
                block.initialize(manager, DataType.FLOAT32, new Shape(1, 3));
                NDArray input = manager.create(new float[]{1, 1, 1}, new Shape(1, 3));
                assertThat(block.forward(new ParameterStore(manager, false), new NDList(input), false)
                        .singletonOrThrow().toFloatArray()).containsExactly(16, 35);
                assertThatExceptionOfType(CuFileException.class).isThrownBy(tensors::close)
                        .withMessageContaining("lent by SharedArray.of(");
            }
            tensors.close();
        }
    }

    @Test
    void parameterWithoutATensorLeavesNoLoan() {
        try (CuFileDriver driver = CuFileDriver.open();
                Model model = Model.newInstance("linear", "PyTorch");
                LoadedTensors tensors = load(driver)) {
            Block block = linear();
            refused(() -> DjlParameters.share(block, tensors, model.getNDManager(), Map.of()), "has no tensor");
            refused(() -> DjlParameters.share(
                    block, tensors, model.getNDManager(), Map.of("weight", "0.weight", "bias", "1.bias")),
                    "parameter 'bias' has no tensor '1.bias'");
        }
    }

    @Test
    void parameterWithAShapeIsRefused() {
        try (CuFileDriver driver = CuFileDriver.open();
                Model model = Model.newInstance("linear", "PyTorch");
                LoadedTensors tensors = load(driver)) {
            Block block = linear();
            block.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, 3));
            refused(() -> DjlParameters.share(block, tensors, model.getNDManager(), NAMES), "shape already");
        }
    }

    private static void refused(Runnable call, String reason) {
        assertThatExceptionOfType(CuFileException.class).isThrownBy(call::run)
                .withMessageContaining(reason)
                .returns(CuFileError.INVALID_VALUE, CuFileException::error);
    }
}
