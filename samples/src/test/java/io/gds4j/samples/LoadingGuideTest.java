package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.Budget;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.CheckpointVerifier;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.LoadReport;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.TensorInTurn;
import io.gds4j.loader.TensorLoan;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.TensorsInTurn;
import io.gds4j.loader.VerificationReport;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Runs the code of docs/loading.md, whose snippets stand here word for word. */
@ExtendWith(QuietOutput.class)
class LoadingGuideTest {
    private static final Path GUIDE = Path.of("../docs/loading.md");

    @TempDir
    private Path folder;

    private Path path;

    @BeforeEach
    void writeCheckpoint() {
        path = folder.resolve("model.safetensors");
        SavePlan.builder()
                .generated("model.embed_tokens.weight", DType.BF16, new TensorPattern(0), 32, 8)
                .generated("model.layers.0.mlp.weight", DType.BF16, new TensorPattern(0), 16, 8)
                .generated("model.layers.0.bias", DType.F32, new TensorPattern(0), 16)
                .generated("model.layers.1.mlp.weight", DType.BF16, new TensorPattern(0), 16, 8)
                .generated("lm_head.weight", DType.BF16, new TensorPattern(0), 32, 8)
                .toFile(path).save();
    }

    @Test
    void openingReadsHeadersOnly() {
        Checkpoint checkpoint = Checkpoint.open(path);
        System.out.println(checkpoint.format().id() + ", " + checkpoint.bytes() + " bytes");
        for (TensorInfo tensor : checkpoint.tensors().values()) {
            System.out.println(tensor.name() + " " + tensor.dtype() + " " + tensor.shape());
        }
        checkpoint.warnings().forEach(System.err::println);

        assertThat(checkpoint.tensors()).hasSize(5);
    }

    @Test
    void planChoosesTensorsAndMemory() {
        Checkpoint checkpoint = Checkpoint.open(path);
        try (CuFileDriver driver = CuFileDriver.open()) {
            LoadPlan plan = checkpoint.plan()
                    .include("^model\\.layers\\.") // found anywhere in the name
                    .select(tensor -> tensor.dtype() == DType.BF16) // narrows the choice further
                    .toBest(driver); // GPU 0, or host memory without a GPU
            System.out.println(plan.bytes() + " bytes, " + plan.destinationBytes() + " bytes of memory");

            assertThat(plan.tensors()).hasSize(2);
            try (LoadedTensors tensors = plan.load(driver)) {
                assertThat(tensors.names()).hasSize(2);
            }
        }
    }

    @Test
    void allTensorsFitOneBlockOfTheCaller() {
        LoadPlan plan = Checkpoint.open(path).plan();
        try (CuFileDriver driver = CuFileDriver.open()) {
            try (MemoryAllocation mine = driver.allocator().allocate(MemoryKind.HOST, plan.destinationBytes());
                    LoadedTensors tensors = plan.into(mine.range()).load(driver)) {
                use(tensors.range("lm_head.weight"));
            }
        }
    }

    @Test
    void mapsReadNothingInAdvance() {
        Checkpoint checkpoint = Checkpoint.open(path);
        try (LoadedTensors tensors = checkpoint.plan().map()) {
            use(tensors.segment("lm_head.weight")); // read-only, where the file has it
        }
        try (LoadedTensors tensors = checkpoint.plan().map()) {
            try (TensorLoan _ = tensors.lend()) { // or tensors.get(name).lend()
                use(tensors.address("lm_head.weight"));
            }
        }
    }

    @Test
    void tensorsTakeTurns() {
        LoadPlan plan = Checkpoint.open(path).plan();
        try (CuFileDriver driver = CuFileDriver.open()) {
            try (TensorsInTurn tensors = plan.inTurn(driver, Budget.bytes(2L << 30))) {
                for (TensorInTurn turn : tensors) { // closes a tensor before the next one
                    use(turn.tensor().range());
                }
            }
        }
    }

    @Test
    void eachTensorHasMemoryOfTheCaller() {
        LoadPlan plan = Checkpoint.open(path).plan();
        try (CuFileDriver driver = CuFileDriver.open(); Arena arena = Arena.ofShared()) {
            Map<String, MemoryRange> arrays = new HashMap<>();
            LoadPlan placed = plan.destinations(
                    tensor -> arrays.computeIfAbsent(
                            tensor.name(),
                            name -> MemoryRange.ofSegment(arena.allocate(tensor.length()))));
            placed.load(driver).close();

            assertThat(arrays).hasSize(5);
        }
    }

    @Test
    void listenerSeesProgressAndCancelFreesEverything() {
        LoadPlan plan = Checkpoint.open(path).plan();
        try (CuFileDriver driver = CuFileDriver.open()) {
            AtomicReference<String> shown = new AtomicReference<>("");
            CompletableFuture<LoadedTensors> load = plan.loadAsync(driver, now -> shown.set(
                    "%d of %d bytes, %s".formatted(now.bytesDone(), now.bytesTotal(), now.file())));
            load.join().close();
            assertThat(shown.get()).startsWith("1600 of 1600 bytes");

            CompletableFuture<LoadedTensors> another = plan.loadAsync(driver);
            another.cancel(true); // waits for the pieces in flight, then frees everything
            if (!another.isCancelled()) {
                another.join().close();
            }
            assertThat(driver.allocator().usage().values()).allSatisfy(kind -> assertThat(kind.bytes()).isZero());
        }
    }

    @Test
    void reportAndVerificationDescribeTheLoad() {
        LoadPlan plan = Checkpoint.open(path).plan();
        try (CuFileDriver driver = CuFileDriver.open()) {
            try (LoadedTensors tensors = plan.load(driver)) {
                LoadReport report = tensors.report();
                System.out.printf("%d bytes in %.3f s%n", report.bytes(), report.seconds());
                System.out.println(report.ioPaths()); // {COMPAT_BUFFERED=…}: which way the bytes went
                report.whyNotDirect().ifPresent(System.out::println); // why it was not GPUDirect Storage

                VerificationReport verification = CheckpointVerifier.verify(tensors);
                verification.mismatches().forEach(System.err::println);

                assertThat(verification.verified()).isTrue();
                assertThat(report.bytes()).isEqualTo(1600);
            }
        }
    }

    @Test
    void viewsDecodeTensorsOfTheHost() {
        LoadPlan plan = Checkpoint.open(path).plan();
        try (CuFileDriver driver = CuFileDriver.open()) {
            try (LoadedTensors tensors = plan.to(MemoryKind.HOST).load(driver)) {
                LoadedTensor bias = tensors.get("model.layers.0.bias");
                FloatBuffer view = bias.toHost().asFloatBuffer(); // F32: a view; GPU memory is copied
                float[] weights = tensors.get("lm_head.weight").toFloatArray(); // BF16: decoded copy
                MemoryAllocation mine = tensors.take("model.embed_tokens.weight"); // outlives close
                use(mine.range());

                assertThat(view.remaining()).isEqualTo(16);
                assertThat(weights).hasSize(256);
                mine.close();
            }
        }
    }

    @Test
    void errorsTellWhatIsWrong() {
        assertThat(explain(folder.resolve("absent.safetensors"))).isEqualTo("no such file");
        assertThat(explain(GUIDE)).startsWith("broken checkpoint: ");
        try (CuFileDriver driver = CuFileDriver.open()) {
            LoadPlan nothing = Checkpoint.open(path).plan().include("nomatch");
            assertThatThrownBy(() -> nothing.load(driver)).isInstanceOf(CuFileException.class)
                    .hasMessageContaining("matches none of the checkpoint's tensors (5)");
        }
    }

    private static String explain(Path path) {
        try {
            Checkpoint.open(path);
            return "fine";
        } catch (CheckpointException e) {
            if (e.isNotFound()) {
                return "no such file";
            }
            return "broken checkpoint: " + e.rule() + ", " + e.getMessage(); // one line: file, rule, byte, tensor
        }
    }

    @Test
    void guideNamesTheFormat() throws Exception {
        assertThat(Files.readString(GUIDE)).contains(Checkpoint.open(path).format().id());
    }

    private static void use(long address) {
        assertThat(address).isNotZero();
    }

    private static void use(MemorySegment segment) {
        assertThat(segment.isReadOnly()).isTrue();
    }

    private static void use(MemoryRange range) {
        assertThat(range.address()).isNotZero();
    }
}
