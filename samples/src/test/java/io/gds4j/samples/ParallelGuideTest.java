package io.gds4j.samples;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.LoadDestination;
import io.gds4j.loader.LoadedTensor;
import io.gds4j.loader.LoadedTensors;
import io.gds4j.loader.ParallelLoadPlan;
import io.gds4j.loader.ParallelTensors;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.parallel.AttentionHeads;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.ParallelRule;
import io.gds4j.loader.parallel.Split;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Runs the code of docs/parallel.md, whose snippets stand here word for word. */
@ExtendWith(QuietOutput.class)
class ParallelGuideTest {
    @TempDir
    private Path folder;

    private Path path;

    @BeforeEach
    void writeCheckpoint() throws IOException {
        Files.writeString(
                folder.resolve("config.json"), "{\"num_attention_heads\": 8, \"num_key_value_heads\": 2}");
        path = folder.resolve("model.safetensors");
        SavePlan.builder()
                .generated("model.embed_tokens.weight", DType.BF16, new TensorPattern(0), 32, 512)
                .generated("model.layers.0.self_attn.k_proj.weight", DType.BF16, new TensorPattern(0), 32, 512)
                .generated("model.layers.0.mlp.up_proj.weight", DType.BF16, new TensorPattern(0), 64, 512)
                .generated("model.layers.0.mlp.down_proj.weight", DType.BF16, new TensorPattern(0), 512, 64)
                .generated("model.norm.weight", DType.BF16, new TensorPattern(0), 512)
                .toFile(path).save();
    }

    @Test
    void ranksShareOneRead() {
        List<LoadDestination> destinations = List.of(LoadDestination.host(), LoadDestination.host());
        try (CuFileDriver driver = CuFileDriver.open()) {
            Checkpoint checkpoint = Checkpoint.open(path);
            ParallelPlan rules = ParallelPlan.llama();
            ParallelLoadPlan plan = checkpoint.plan().across(destinations, rules);
            try (ParallelTensors tensors = plan.load(driver)) {
                LoadedTensor slice = tensors.rank(1).get("model.layers.0.mlp.up_proj.weight");
                System.out.println(slice.info().shape() + " at " + slice.address());
                System.out.println(tensors.report().storageBytes() + " bytes read");
            }

            assertThat(plan.storageBytes()).isEqualTo(checkpoint.bytes());
            for (int rank : plan.ranks()) {
                System.out.println("rank " + rank + ": " + plan.destinationBytes(rank) + " bytes");
            }
            System.out.println("host: at most " + plan.stagingBytes(CuFileConfig.load()) + " bytes of bounce buffers");
        }
    }

    @Test
    void processReadsItsShare() {
        Checkpoint checkpoint = Checkpoint.open(path);
        ParallelPlan rules = ParallelPlan.llama(new AttentionHeads(8, 2));
        int rank = 1;
        int world = 2;
        try (CuFileDriver driver = CuFileDriver.open()) {
            ParallelLoadPlan mine = checkpoint.plan().toBest(driver).rank(rank, world, rules);
            try (ParallelTensors tensors = mine.load(driver)) {
                use(tensors.rank(rank));
            }

            assertThat(mine.storageBytes()).isLessThan(checkpoint.bytes());
        }
    }

    @Test
    void rulesDecideInOrder() {
        ParallelPlan own = ParallelPlan.of("own", List.of(
                new ParallelRule("mlp.gate_up_proj", Split.column(new Split.Part(1, 0), new Split.Part(1, 0))),
                new ParallelRule("self_attn.k_proj", Split.column(new Split.Part(1, 8))),
                new ParallelRule("mlp.experts.*.*", Split.expert()),
                new ParallelRule("mixer.A_log", Split.dimension(0)),
                new ParallelRule("*", Split.replicate())));

        assertThat(own.rules()).hasSize(5);
    }

    @Test
    void oneRangeFillsSeveralMemories() {
        long fileOffset = Checkpoint.open(path).files().getFirst().dataOffset();
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle handle = driver.openFile(path);
                MemoryAllocation left = driver.allocator().allocate(MemoryKind.HOST, 25_600);
                MemoryAllocation right = driver.allocator().allocate(MemoryKind.HOST, 25_600)) {
            List<ScatterCopy> halves = List.of(
                    new ScatterCopy(0, 512, 256, 100, left, 0, 256), // left half of 100 rows of 512 bytes
                    new ScatterCopy(256, 512, 256, 100, right, 0, 256));
            long bytes = handle.readScattered(fileOffset, 51_200, halves);

            assertThat(bytes).isEqualTo(51_200);
        }
    }

    private static void use(LoadedTensors tensors) {
        assertThat(tensors.names()).hasSize(5);
    }
}
