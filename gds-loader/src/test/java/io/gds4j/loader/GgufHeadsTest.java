package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.parallel.AttentionHeads;
import io.gds4j.loader.parallel.ParallelPlan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Heads of GGUF models, which have no config.json. */
class GgufHeadsTest {
    private static final int F32 = 0;

    @TempDir
    private Path folder;

    private Checkpoint model(GgufBytes keys) throws IOException {
        keys.tensor("blk.0.attn_q.weight", F32, 16 * 8 * 4, 8, 16)
                .tensor("blk.0.attn_k.weight", F32, 8 * 8 * 4, 8, 8);
        return Checkpoint.open(Files.write(folder.resolve("model.gguf"), keys.file()));
    }

    private static List<Long> keysOfLastRank(Checkpoint checkpoint, ParallelPlan plan, int world) {
        return checkpoint.plan().rank(world - 1, world, plan).slices(world - 1).stream()
                .filter(slice -> slice.tensor().name().contains("attn_k"))
                .findFirst().orElseThrow().shape();
    }

    private static GgufBytes llama() {
        return new GgufBytes().key("general.architecture", "llama");
    }

    @Test
    void headsComeFromKeys() throws IOException {
        GgufBytes file = llama();
        Checkpoint checkpoint = model(file
                .key("llama.attention.head_count", GgufBytes.UINT32, file.number(4, 4))
                .key("llama.attention.head_count_kv", GgufBytes.UINT32, file.number(4, 2))
                .key("llama.attention.key_length", GgufBytes.UINT32, file.number(4, 4)));
        assertThat(AttentionHeads.of(checkpoint.path(), checkpoint.typedMetadata()))
                .contains(new AttentionHeads(4, 2, 4));
        assertThat(keysOfLastRank(checkpoint, ParallelPlan.llama(), 4)).containsExactly(4L, 8L);
        Files.writeString(folder.resolve("config.json"), "{\"num_attention_heads\": 8, \"num_key_value_heads\": 4}");
        assertThat(keysOfLastRank(checkpoint, ParallelPlan.llama(), 4)).as("config.json counts first")
                .containsExactly(2L, 8L);
    }

    @Test
    void headsOfLayersMustAgree() throws IOException {
        GgufBytes file = llama();
        Checkpoint checkpoint = model(file
                .key("llama.attention.head_count", GgufBytes.UINT32, file.number(4, 4))
                .key("llama.attention.head_count_kv", GgufBytes.ARRAY,
                        file.array(GgufBytes.INT32, 3, file.number(4, 2), file.number(4, 0), file.number(4, 2))));
        assertThat(keysOfLastRank(checkpoint, ParallelPlan.llama(), 4)).containsExactly(4L, 8L);
        GgufBytes other = llama();
        Checkpoint differing = model(other
                .key("llama.attention.head_count", GgufBytes.UINT32, other.number(4, 4))
                .key("llama.attention.head_count_kv", GgufBytes.ARRAY,
                        other.array(GgufBytes.INT32, 2, other.number(4, 2), other.number(4, 4))));
        assertThatThrownBy(() -> keysOfLastRank(differing, ParallelPlan.llama(), 4))
                .isInstanceOf(CheckpointException.class).hasMessageContaining("give --heads");
    }

    @Test
    void headsOfKeysThatAreNotToldComeFromShapes() throws IOException {
        GgufBytes file = llama();
        file.key("llama.attention.head_count", GgufBytes.UINT32, file.number(4, 4));
        assertThatThrownBy(() -> keysOfLastRank(model(file), ParallelPlan.llama(), 4))
                .hasMessageContaining("give --heads");
        GgufBytes whole = llama();
        whole.key("llama.attention.head_count", GgufBytes.UINT32, whole.number(4, 4))
                .tensor("blk.0.attn_v.weight", F32, 8 * 8 * 4, 8, 8)
                .tensor("blk.0.attn_output.weight", F32, 16 * 8 * 4, 16, 8);
        assertThat(keysOfLastRank(model(whole), ParallelPlan.llama(), 4)).containsExactly(4L, 8L);
    }

    @Test
    void unknownHeadsAreRefusedUnlessThePlanHasThem() throws IOException {
        Checkpoint checkpoint = model(llama());
        assertThatThrownBy(() -> keysOfLastRank(checkpoint, ParallelPlan.llama(), 4))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("tensor 'blk.0.attn_q.weight' is of an attention layer")
                .hasMessageContaining("give --heads QUERY,KEY_VALUE");
        assertThat(keysOfLastRank(checkpoint, ParallelPlan.llama(new AttentionHeads(4, 2)), 4))
                .containsExactly(4L, 8L);
        assertThat(keysOfLastRank(checkpoint, ParallelPlan.llama(), 1)).containsExactly(8L, 8L);
    }
}
