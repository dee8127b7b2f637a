package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileDriver;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.parallel.AttentionHeads;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.TensorSlice;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Loads for several ranks into GPU memory; two GPUs where there are two. */
@Tag("gpu")
@Tag("alone")
@Timeout(180)
class GpuParallelLoadTest {
    private static final TensorPattern PATTERN = new TensorPattern(17);

    @TempDir
    Path folder;

    static Stream<Arguments> plansAndDestinations() {
        ParallelPlan llama = ParallelPlan.llama(new AttentionHeads(2, 2));
        LoadDestination first = LoadDestination.gpu(0);
        LoadDestination second = LoadDestination.gpu(1);
        LoadDestination pool = LoadDestination.of(MemoryKind.CUDA_POOL, 0);
        return Stream.of(
                Arguments.of("slices, one GPU", llama, List.of(first, first)),
                Arguments.of("slices, pool and host", llama, List.of(pool, LoadDestination.host())),
                Arguments.of("slices, two GPUs", llama, List.of(first, second)),
                Arguments.of("replicas, two GPUs", ParallelPlan.replicate(), List.of(first, second)),
                Arguments.of("replicas, two GPUs and host", ParallelPlan.replicate(),
                        List.of(first, second, LoadDestination.host())));
    }

    private Checkpoint llama() {
        Path file = folder.resolve("llama.safetensors");
        SafetensorsWriter writer = new SafetensorsWriter(file);
        writer.tensor("model.embed_tokens.weight", DType.BF16, 12000, 1024);
        for (int i = 0; i < 4; i++) {
            String layer = "model.layers." + i + ".";
            writer.tensor(layer + "self_attn.q_proj.weight", DType.BF16, 1024, 1024)
                    .tensor(layer + "self_attn.o_proj.weight", DType.BF16, 1024, 1026)
                    .tensor(layer + "mlp.down_proj.weight", DType.F32, 1023, 2778)
                    .tensor(layer + "mlp.up_proj.weight", DType.U8, 2778, 1023)
                    .tensor(layer + "input_layernorm.weight", DType.BF16, 1023);
        }
        writer.write(PATTERN);
        return Checkpoint.open(file);
    }

    private static boolean exists(CuFileDriver driver, LoadDestination destination) {
        try (MemoryAllocation memory = driver.allocator().allocate(destination.kind(), 1, destination.device())) {
            return memory.isOpen();
        } catch (CuFileException e) {
            return false;
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("plansAndDestinations")
    void everyRankReceivesItsSlices(String what, ParallelPlan rules, List<LoadDestination> destinations) {
        try (CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat")) {
            assumeTrue(destinations.stream().allMatch(destination -> exists(driver, destination)), what);
            ParallelLoadPlan plan = llama().plan().across(destinations, rules);
            for (int round = 0; round < 3; round++) {
                try (ParallelTensors tensors = plan.load(driver)) {
                    check(plan, tensors);
                    assertThat(tensors.report().load().ioPaths().values().stream().mapToLong(Long::longValue).sum())
                            .isEqualTo(plan.storageBytes());
                }
            }
        }
    }

    private static void check(ParallelLoadPlan plan, ParallelTensors tensors) {
        for (int rank : plan.ranks()) {
            for (TensorSlice slice : plan.slices(rank)) {
                byte[] bytes = new byte[(int) slice.bytes()];
                tensors.rank(rank).copyToHost(slice.tensor().name(), MemorySegment.ofArray(bytes));
                assertThat(Arrays.mismatch(bytes, SliceBytes.of(PATTERN, slice))).as("rank %d of %s", rank, slice)
                        .isEqualTo(-1);
            }
            assertThat(CheckpointVerifier.verify(tensors.rank(rank)).mismatches()).isEmpty();
        }
    }
}
