package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.ParallelRule;
import io.gds4j.loader.parallel.Split;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tensors by name, and under other names than the checkpoint's. */
class RenamedTensorsTest {
    private static final TensorPattern PATTERN = new TensorPattern(76);

    private final CuFileDriver driver = CuFileDriver.open(new FileChannelBackend());

    @TempDir
    Path folder;

    private Path file;
    private Checkpoint checkpoint;

    @BeforeEach
    void write() {
        file = folder.resolve("model.safetensors");
        new SafetensorsWriter(file)
                .tensor("model.a", DType.F32, 4, 6)
                .tensor("model.b", DType.BF16, 7)
                .tensor("model.none", DType.F32, 4, 0)
                .write(PATTERN);
        checkpoint = Checkpoint.open(file);
    }

    @AfterEach
    void close() {
        driver.close();
    }

    private static String shortened(String name) {
        return name.replace("model.", "");
    }

    private static CuFileException refused(ThrowingCallable call) {
        CuFileException refused = catchThrowableOfType(CuFileException.class, call);
        assertThat(refused.error()).isEqualTo(CuFileError.INVALID_VALUE);
        assertThat(refused.getMessage()).doesNotContain("\n");
        return refused;
    }

    @Test
    void tensorsAreFoundAndCounted() {
        LoadedTensors tensors = checkpoint.plan().load(driver);
        try (tensors) {
            assertThat(tensors.size()).isEqualTo(3);
            assertThat(tensors.find("model.b").orElseThrow()).isSameAs(tensors.get("model.b"));
            assertThat(tensors.find("b")).isEmpty();
            tensors.take("model.b").close();
            assertThat(tensors.find("model.b")).isEmpty();
            assertThat(tensors.size()).isEqualTo(2);
        }
        assertThat(tensors.size()).isZero();
        CuFileException closed = catchThrowableOfType(CuFileException.class, () -> tensors.find("model.a"));
        assertThat(closed.error()).isEqualTo(CuFileError.CUDA_POINTER_INVALID);
    }

    @Test
    void loadedTensorsHaveTheNewNames() {
        PlacedNames placed = new PlacedNames();
        LoadPlan plan = checkpoint.plan().rename(RenamedTensorsTest::shortened).include("^model\\.[ab]$");
        assertThat(plan.tensors()).extracting(TensorInfo::name).containsExactly("model.a", "model.b");
        try (LoadedTensors tensors = plan.load(driver, placed)) {
            assertThat(tensors.names()).containsExactly("a", "b");
            assertThat(tensors.find("model.a")).isEmpty();
            TensorInfo a = tensors.get("a").info();
            TensorInfo old = checkpoint.tensors().get("model.a");
            assertThat(a).isEqualTo(new TensorInfo("a", old.dtype(), old.shape(), old.file(), old.fileOffset(),
                    old.length(), old.order()));
            assertThat(PATTERN.mismatch("model.a", 0, tensors.segment("a"))).isEqualTo(-1);
            assertThat(CheckpointVerifier.verify(tensors).mismatches()).isEmpty();
            tensors.take("b").close();
            assertThat(tensors.names()).containsExactly("a");
        }
        assertThat(placed.names()).containsExactlyInAnyOrder("model.a", "model.b");
    }

    @Test
    void aSecondRenamingReceivesTheNamesOfTheFirst() {
        LoadPlan plan = checkpoint.plan().rename(RenamedTensorsTest::shortened).rename(name -> "x." + name);
        try (LoadedTensors tensors = plan.load(driver)) {
            assertThat(tensors.names()).containsExactlyInAnyOrder("x.a", "x.b", "x.none");
        }
    }

    @Test
    void namesMayBeExchanged() {
        LoadPlan plan = checkpoint.plan().rename(name -> switch (name) {
            case "model.a" -> "model.b";
            case "model.b" -> "model.a";
            default -> name;
        });
        try (LoadedTensors tensors = plan.load(driver)) {
            assertThat(tensors.get("model.b").shape()).containsExactly(4L, 6L);
            assertThat(PATTERN.mismatch("model.b", 0, tensors.segment("model.a"))).isEqualTo(-1);
        }
    }

    @Test
    void oneNameForTwoTensorsIsRefusedBeforeTheFirstRead() throws Exception {
        LoadPlan plan = checkpoint.plan().rename(name -> name.replaceAll("[ab]$", "c\n"));
        Files.delete(file);
        CuFileException refused = refused(() -> plan.load(driver));
        assertThat(refused).hasMessageContaining("model.a").hasMessageContaining("model.b")
                .hasMessageContaining("would have the same name");
        refused(() -> plan.loadAsync(driver));
        refused(plan::bytes);
        refused(() -> plan.rank(0, 2, ParallelPlan.replicate()));
        assertThat(plan.include("b$").tensors()).as("only chosen tensors count").hasSize(1);
    }

    @Test
    void noNameIsRefused() {
        LoadPlan plan = checkpoint.plan().rename(name -> name.endsWith("b") ? null : name).rename(String::trim);
        assertThat(refused(() -> plan.load(driver))).hasMessageContaining("the new name of tensor 'model.b' is null");
    }

    @Test
    void slicesOfRanksHaveTheNewNames() {
        LoadDestination host = LoadDestination.host();
        ParallelPlan rules = ParallelPlan.of("halves", List.of(
                new ParallelRule("model.a", Split.dimension(0)),
                new ParallelRule("model.b", Split.replicate()),
                new ParallelRule("model.none", Split.replicate())));
        LoadPlan plan = checkpoint.plan().rename(RenamedTensorsTest::shortened);
        try (ParallelTensors ranks = plan.across(List.of(host, host), rules).load(driver)) {
            for (int rank = 0; rank < 2; rank++) {
                LoadedTensors tensors = ranks.rank(rank);
                assertThat(tensors.names()).containsExactlyInAnyOrder("a", "b", "none");
                assertThat(tensors.get("a").shape()).containsExactly(2L, 6L);
                assertThat(CheckpointVerifier.verify(tensors).mismatches()).isEmpty();
            }
        }
    }
}
