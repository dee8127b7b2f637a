package io.gds4j.loader.parallel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.Split.Part;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Rules, their vocabulary and what does not fit. */
class ParallelPlanTest {
    private static final Path FILE = Path.of("m.safetensors");

    @TempDir
    Path folder;

    private static TensorInfo tensor(String name, DType type, Long... shape) {
        List<Long> dimensions = Arrays.asList(shape);
        return new TensorInfo(name, type, dimensions, FILE, 0, type.bytes(dimensions).orElseThrow());
    }

    private static TensorInfo bf16(String name, Long... shape) {
        return tensor(name, DType.BF16, shape);
    }

    private static Optional<List<Long>> shape(ParallelPlan plan, int world, int rank, String name, TensorInfo... all) {
        return plan.slice(FILE, List.of(all), world).stream()
                .filter(slice -> slice.rank() == rank && slice.tensor().name().equals(name))
                .map(TensorSlice::shape)
                .findFirst();
    }

    private ParallelPlan json(String text) throws IOException {
        return ParallelPlan.read(Files.writeString(folder.resolve("plan.json"), text));
    }

    @Test
    void patternsMatchModulesBelowAnyPrefix() {
        ParallelRule rule = new ParallelRule("layers.*.self_attn.q_proj", Split.column());
        assertThat(rule.matches("model.layers.11.self_attn.q_proj.weight")).isTrue();
        assertThat(rule.matches("layers.0.self_attn.q_proj.bias")).isTrue();
        assertThat(rule.matches("layers.0.self_attn.q_proj")).isTrue();
        assertThat(rule.matches("layers.0.x.self_attn.q_proj.weight")).isFalse();
        assertThat(rule.matches("layers.0.self_attn.my_q_proj.weight")).isFalse();
        assertThat(new ParallelRule("*norm*", Split.replicate()).matches("a.input_layernorm.weight")).isTrue();
        assertThat(new ParallelRule("*", Split.replicate()).matches("x")).isTrue();
    }

    @Test
    void llamaPlanDividesLlama() {
        ParallelPlan plan = ParallelPlan.llama(new AttentionHeads(4, 2));
        TensorInfo[] all = {bf16("model.embed_tokens.weight", 96L, 8L),
                bf16("model.layers.0.self_attn.q_proj.weight", 16L, 8L),
                bf16("model.layers.0.self_attn.k_proj.weight", 8L, 8L),
                bf16("model.layers.0.self_attn.o_proj.weight", 8L, 16L),
                bf16("model.layers.0.mlp.down_proj.weight", 8L, 24L),
                bf16("model.layers.0.input_layernorm.weight", 8L),
                bf16("lm_head.weight", 96L, 8L)};
        assertThat(shape(plan, 4, 3, all[0].name(), all)).contains(List.of(24L, 8L));
        assertThat(shape(plan, 4, 3, all[1].name(), all)).contains(List.of(4L, 8L));
        assertThat(shape(plan, 4, 3, all[2].name(), all)).as("two heads for four ranks").contains(List.of(4L, 8L));
        assertThat(shape(plan, 4, 3, all[3].name(), all)).contains(List.of(8L, 4L));
        assertThat(shape(plan, 4, 3, all[4].name(), all)).contains(List.of(8L, 6L));
        assertThat(shape(plan, 4, 3, all[5].name(), all)).contains(List.of(8L));
        assertThat(shape(plan, 4, 3, all[6].name(), all)).contains(List.of(24L, 8L));
    }

    @Test
    void ranksShareHeadsWhenThereAreFewer() {
        ParallelPlan plan = ParallelPlan.of("p", List.of(new ParallelRule("k",
                new Split.Column(List.of(new Part(1, 2)), false))));
        List<Long> offsets = plan.slice(FILE, List.of(bf16("k.weight", 8L, 4L)), 4).stream()
                .map(slice -> slice.copies().getFirst().fileOffset())
                .toList();
        assertThat(offsets).containsExactly(0L, 0L, 32L, 32L);
    }

    @Test
    void fusedPartsAreDividedOneByOne() throws IOException {
        ParallelPlan plan = json("{\"qkv\": {\"style\": \"packed_colwise\", \"heads\": [4, 2, 2]}}");
        TensorSlice slice = plan.slice(FILE, List.of(tensor("qkv.weight", DType.U8, 8L, 10L)), 2).get(1);
        assertThat(slice.shape()).containsExactly(4L, 10L);
        assertThat(slice.copies()).extracting(StridedCopy::fileOffset).containsExactly(20L, 50L, 70L);
        assertThat(slice.copies()).extracting(StridedCopy::sliceOffset).containsExactly(0L, 20L, 30L);
    }

    @Test
    void blockScalesFollowTheirWeights() {
        ParallelPlan plan = ParallelPlan.llama(AttentionHeads.UNKNOWN);
        TensorInfo weight = tensor("q_proj.weight", DType.F8_E4M3, 512L, 300L);
        TensorInfo scale = tensor("q_proj.weight_scale_inv", DType.F32, 4L, 3L);
        assertThat(shape(plan, 2, 1, scale.name(), weight, scale)).contains(List.of(2L, 3L));
        TensorInfo down = tensor("down_proj.weight", DType.F8_E4M3, 300L, 512L);
        TensorInfo downScale = tensor("down_proj.weight_scale_inv", DType.F32, 3L, 4L);
        assertThat(shape(plan, 4, 3, downScale.name(), down, downScale)).contains(List.of(3L, 1L));
        assertThatThrownBy(() -> plan.slice(FILE, List.of(weight, scale), 8))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("block of 128 elements, and rank 0 would keep elements 0 to 63");
    }

    @Test
    void scalarScalesAndRowBiasesGoToEveryRank() {
        ParallelPlan plan = ParallelPlan.llama(AttentionHeads.UNKNOWN);
        TensorInfo scale = tensor("o_proj.weight_scale", DType.F32);
        TensorInfo bias = bf16("o_proj.bias", 7L);
        assertThat(shape(plan, 2, 1, scale.name(), scale, bias)).contains(List.of());
        assertThat(shape(plan, 2, 1, bias.name(), scale, bias)).contains(List.of(7L));
    }

    @Test
    void packedQuantisedWeightsAreTransposed() {
        ParallelPlan plan = ParallelPlan.llama(AttentionHeads.UNKNOWN);
        TensorInfo weight = tensor("q_proj.qweight", DType.I32, 8L, 16L);
        TensorInfo order = tensor("q_proj.g_idx", DType.I32, 64L);
        assertThat(shape(plan, 2, 1, weight.name(), weight, order)).contains(List.of(8L, 8L));
        assertThat(shape(plan, 2, 1, order.name(), weight, order)).contains(List.of(64L));
    }

    @Test
    void blocksOfQuantisedTypesAreNeverCut() {
        ParallelPlan plan = ParallelPlan.llama(AttentionHeads.UNKNOWN);
        TensorInfo down = tensor("blk.0.ffn_down.weight", new DType("Q4_0", 32, 18), 4L, 96L);
        assertThat(shape(plan, 3, 2, down.name(), down)).contains(List.of(4L, 32L));
        assertThatThrownBy(() -> plan.slice(FILE, List.of(down), 2))
                .hasMessageContaining("is of type Q4_0, and the split would cut a block of 32 elements");
    }

    @Test
    void expertsGoToTheirOwners() {
        ParallelPlan plan = ParallelPlan.llama(AttentionHeads.UNKNOWN);
        TensorInfo[] all = {bf16("l.mlp.experts.0.up_proj.weight", 2L, 2L),
                bf16("l.mlp.experts.1.up_proj.weight", 2L, 2L),
                bf16("l.mlp.experts.2.up_proj.weight", 2L, 2L),
                bf16("l.mlp.experts.3.up_proj.weight", 2L, 2L),
                bf16("blk.0.ffn_up_exps.weight", 4L, 2L, 2L)};
        assertThat(shape(plan, 2, 0, all[1].name(), all)).isPresent();
        assertThat(shape(plan, 2, 1, all[1].name(), all)).isEmpty();
        assertThat(shape(plan, 2, 1, all[2].name(), all)).isPresent();
        assertThat(shape(plan, 2, 1, all[4].name(), all)).contains(List.of(2L, 2L, 2L));
        assertThatThrownBy(() -> plan.slice(FILE, List.of(all), 3)).hasMessageContaining("is one of 4 experts");
    }

    @Test
    void vocabularyOfTransformersIsRead() throws IOException {
        ParallelPlan plan = json("""
                {"model_type": "llama"}""".replace("\"llama\"", "\"replicate\""));
        assertThat(plan.rules()).hasSize(1);
        plan = json("""
                {"base_model_tp_plan": {"a": "colwise", "b": "rowwise", "c": "colwise_rep", "d": "rowwise_rep",
                 "e": "local_packed_rowwise", "embed_tokens": "embedding_rowwise", "norm": "sequence_parallel",
                 "mlp.experts": "gather", "x": {"style": "expert", "dim": 1, "round_up": true},
                 "y": {"style": "owner", "rank": 1}, "*": "replicate"}}""");
        assertThat(plan.rules()).extracting(ParallelRule::split).containsExactly(
                Split.column(), Split.row(), Split.column(), Split.row(),
                new Split.Row(List.of(new Part(1, 0), new Part(1, 0)), false), Split.column(), Split.replicate(),
                Split.replicate(), new Split.Expert(1, true), new Split.Owner(1), Split.replicate());
    }

    @Test
    void brokenPlansAreRefusedInOneLine() {
        for (String[] broken : new String[][]{
                {"", "the text ends early"}, {"[]", "a plan must be one JSON object"}, {"{}", "the plan has no rule"},
                {"{\"a\": 1}", "the style of 'a' must be"}, {"{\"a\": \"diagonal\"}", "the style of 'a' is 'diagonal'"},
                {"{\"a\": \"colwise\", \"a\": \"rowwise\"}", "occurs twice"},
                {"{\"\": \"colwise\"}", "empty component"},
                {"{\"a\": {\"style\": \"owner\"}}", "needs a rank"}, {"{\"a\": {\"parts\": 0}}", "parts has 0"},
                {"{\"a\": {\"style\": \"colwise\", \"parts\": [1, 2], \"heads\": [1, 2, 3]}}", "2 parts have 3"},
                {"{\"a\": {\"size\": 3}}", "'size' is no field"}, {"{\"a\": \"colwise\"} x", "more text follows"}}) {
            assertThatThrownBy(() -> json(broken[0]), broken[0])
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining(broken[1])
                    .hasMessageContaining("plan.json")
                    .hasMessageNotContaining("\n");
        }
        assertThatThrownBy(() -> ParallelPlan.read(folder.resolve("none.json"))).hasMessageContaining("no such file");
    }

    @Test
    void plansThatDoNotFitAreRefused() {
        TensorInfo up = bf16("layers.0.up_proj.weight", 6L, 2L);
        ParallelRule rule = new ParallelRule("up_proj", Split.column());
        ParallelRule unused = new ParallelRule("x_proj", Split.column());
        refused(List.of(unused), up, 1, "it is for another model");
        refused(List.of(rule, unused), up, 1, "the rule 'x_proj' of the plan 'p' matches no tensor");
        assertThatThrownBy(() -> ParallelPlan.of("p", List.of(rule))
                .slice(FILE, List.of(up, bf16("norm.weight", 2L)), 2))
                .hasMessageContaining("no rule of the plan 'p' matches tensor 'norm.weight'");
        refused(List.of(rule), up, 4, "has 6 elements there, which 4 ranks do not divide; a rule may round up");
        refused(List.of(new ParallelRule("up_proj", new Split.Owner(2))), up, 2,
                "belongs to rank 2; the ranks are 0 to 1");
        refused(List.of(new ParallelRule("up_proj", new Split.Expert(2, false))), up, 2, "dimension 2 of the rule");
        assertThatThrownBy(() -> ParallelPlan.replicate().slice(FILE, List.of(up), 0))
                .isInstanceOf(CuFileException.class).hasMessageContaining("the number of ranks is 0");
    }

    private static void refused(List<ParallelRule> rules, TensorInfo tensor, int world, String message) {
        assertThatThrownBy(() -> ParallelPlan.of("p", rules).slice(FILE, List.of(tensor), world))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(message)
                .hasMessageNotContaining("\n");
    }

    @Test
    void roundedUpSharesMayEndEmpty() {
        ParallelPlan plan = ParallelPlan.of("p", List.of(new ParallelRule("*",
                new Split.Column(List.of(new Part(1, 0)), true))));
        assertThat(plan.slice(FILE, List.of(bf16("w", 5L, 2L)), 4)).extracting(TensorSlice::shape).containsExactly(
                List.of(2L, 2L), List.of(2L, 2L), List.of(1L, 2L), List.of(0L, 2L));
    }

    @Test
    void headsComeFromTheConfiguration() throws IOException {
        Files.writeString(folder.resolve("config.json"),
                "{\"x\": [1, {}, Infinity, -Infinity, NaN], \"text_config\": {\"num_attention_heads\": 32, \"num_key_value_heads\": 8}}");
        assertThat(AttentionHeads.of(folder)).isEqualTo(new AttentionHeads(32, 8));
        assertThat(AttentionHeads.of(folder.resolve("model.safetensors"))).isEqualTo(new AttentionHeads(32, 8));
        Files.writeString(folder.resolve("config.json"), "{\"num_attention_heads\": 0}");
        assertThatThrownBy(() -> AttentionHeads.of(folder)).hasMessageContaining("allowed are 1 to");
        Files.delete(folder.resolve("config.json"));
        assertThat(AttentionHeads.of(folder)).isEqualTo(AttentionHeads.UNKNOWN);
    }
}
