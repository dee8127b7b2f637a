package io.gds4j.spark.example;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.save.SavePlan;
import io.gds4j.spark.LocalCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
@ExtendWith(LocalCluster.class)
class LoadCheckpointTest {
    private static final int RANKS = 2;

    @TempDir
    Path folder;

    private long bytesOfEachRank(String... names) {
        Path path = folder.resolve("model.safetensors");
        SavePlan.Builder plan = SavePlan.builder();
        for (String name : names) {
            plan.generated(name, DType.F32, new TensorPattern(23), 32, 32);
        }
        plan.toFile(path).save();
        var table = LoadCheckpoint.load(LocalCluster.session(), path.toString(), RANKS).collectAsList();
        assertThat(table).hasSize(RANKS);
        return table.stream().map(row -> row.<Long>getAs("bytes")).distinct().reduce((one, other) -> {
            throw new AssertionError("ranks have %d and %d bytes".formatted(one, other));
        }).orElseThrow();
    }

    @Test
    void ranksShareALlamaAndGetAllOfOtherModels() throws IOException {
        Files.writeString(folder.resolve("config.json"), "{\"num_attention_heads\": 4}");
        assertThat(bytesOfEachRank("model.layers.0.self_attn.q_proj.weight", "model.layers.0.mlp.down_proj.weight"))
                .isEqualTo(32 * 32 * 4);
        assertThat(bytesOfEachRank("encoder", "decoder")).isEqualTo(2 * 32 * 32 * 4);
    }
}
