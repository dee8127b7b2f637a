package io.gds4j.loader.parallel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.Split.Part;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rules, their vocabulary and what does not fit. */
class ParallelPlanTest {
    private static final Path FILE = Path.of("m.safetensors");
    private static final AttentionHeads HEADS = new AttentionHeads(8, 8);

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
        assertThat(rule.matches("q_proj.weight")).as("the end of a pattern").isFalse();
    }

    /** Names and patterns of a few letters, components without letters, and stars, beside regular expressions. */
    @Test
    @Timeout(value = 10, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void patternsMatchAsRegularExpressionsDo() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        SplittableRandom random = new SplittableRandom(seed);
        int matches = 0;
        for (int round = 0; round < 5000; round++) {
            String name = letters(random, "ab.", 7);
            String pattern = letters(random, "ab*.", 5).replaceAll("^\\.+|\\.+$", "").replaceAll("\\.+", ".");
            if (pattern.isEmpty()) {
                continue;
            }
            String module = name.substring(0, Math.max(0, name.lastIndexOf('.')));
            Pattern end = Pattern.compile("(?:.*\\.)?" + pattern.replace(".", "\\.").replace("*", "[^.]*"));
            boolean expected = end.matcher(name).matches() || name.contains(".") && end.matcher(module).matches();
            String what = "-Dgds4j.property.seed=%d: %s for '%s'".formatted(seed, pattern, name);
            ParallelRule rule = new ParallelRule(pattern, Split.replicate());
            assertThat(rule.matches(name)).as(what).isEqualTo(expected);
            BitSet found = new BitSet();
            assertThat(new RuleTree(List.of(rule)).find(name, found)).isTrue();
            assertThat(found.get(0)).as(what).isEqualTo(expected);
            matches += expected ? 1 : 0;
        }
        assertThat(matches).isGreaterThan(500);
    }

    private static String letters(SplittableRandom random, String of, int most) {
        return random.ints(1 + random.nextInt(most), 0, of.length()).mapToObj(i -> of.substring(i, i + 1))
                .collect(Collectors.joining());
    }

    /** A name costs a step for each node of the tree, and the letters that are compared there. */
    @ParameterizedTest
    @CsvSource({"a.b, a.b, 7", "a.*, a.bb, 14", "*x, ab, 10", "*a*, ab.ab, 28"})
    void workForANameHasABudget(String pattern, String name, long steps) {
        List<ParallelRule> rules = List.of(new ParallelRule(pattern, Split.replicate()));
        long free = steps - RuleTree.STEPS_PER_CHARACTER * name.length();
        assertThat(new RuleTree(rules, free).find(name, new BitSet())).isTrue();
        assertThat(new RuleTree(rules, free - 1).find(name, new BitSet())).isFalse();
    }

    @Test
    void limitsOfPlansAreAllowedThemselves() throws IOException {
        ParallelPlan.checkWorld(ParallelPlan.MAX_WORLD);
        assertThatThrownBy(() -> ParallelPlan.checkWorld(65_537)).hasMessageContaining("allowed are 1 to 65536");
        String longest = "a".repeat(ParallelRule.MAX_PATTERN);
        String plan = "{\"%s\": \"colwise\"}";
        assertThat(json(plan.formatted(longest)).rules()).containsExactly(new ParallelRule(longest, Split.column()));
        assertThatThrownBy(() -> json(plan.formatted(longest + "a"))).hasMessageContaining("has 1025 characters");
        assertThatThrownBy(() -> new ParallelRule(longest + "a", Split.column()))
                .hasMessageContaining("has 1025 characters");
        assertThat(json("""
                {"a": {"style": "expert", "dim": 63}, "b": {"style": "dimension", "dim": 0},
                 "c": {"style": "owner", "rank": 0}, "d": {"style": "owner", "rank": 2147483647},
                 "e": {"style": "packed_colwise", "heads": 4}}""").rules()).extracting(ParallelRule::split)
                .containsExactly(new Split.Expert(63, false), Split.dimension(0), new Split.Owner(0),
                        new Split.Owner(Integer.MAX_VALUE), Split.column(new Part(1, 4), new Part(1, 4)));
        for (String wrong : List.of("64", "18446744073709551615")) {
            assertThatThrownBy(() -> json("{\"a\": {\"style\": \"expert\", \"dim\": " + wrong + "}}"))
                    .hasMessageContaining("dim is " + wrong + "; allowed are 0 to 63");
        }
        assertThat(new AttentionHeads(1, 1 << 20).keyValueHeads()).isEqualTo(1 << 20);
        assertThatThrownBy(() -> new AttentionHeads(1 + (1 << 20))).hasMessageContaining("allowed are 1 to 1048576");
    }

    @Test
    void headsWithoutNumberHaveAnySize() {
        ParallelPlan plan = ParallelPlan.of("p", List.of(new ParallelRule("*", Split.dimension(0, new Part(1, 0, 3)))));
        TensorInfo tensor = bf16("a.weight", 8L, 2L);
        assertThat(shape(plan, 4, 3, tensor.name(), tensor)).contains(List.of(2L, 2L));
    }

    @Test
    void plansTellTheirNames() {
        ParallelPlan plan = ParallelPlan.replicate();
        assertThat(plan.name()).isEqualTo("replicate");
        assertThat(plan).hasToString("ParallelPlan[replicate, 1 rules]");
        assertThat(plan.slice(FILE, List.of(bf16("w", 2L)), 2)).allMatch(TensorSlice::isWhole).hasSize(2);
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
                bf16("lm_head.weight", 96L, 8L), tensor("model.layers.0.mlp.gate_up_proj.weight", DType.U8, 8L, 1L)};
        assertThat(shape(plan, 4, 3, all[0].name(), all)).contains(List.of(24L, 8L));
        assertThat(shape(plan, 4, 3, all[1].name(), all)).contains(List.of(4L, 8L));
        assertThat(shape(plan, 4, 3, all[2].name(), all)).as("two heads for four ranks").contains(List.of(4L, 8L));
        assertThat(shape(plan, 4, 3, all[3].name(), all)).contains(List.of(8L, 4L));
        assertThat(shape(plan, 4, 3, all[4].name(), all)).contains(List.of(8L, 6L));
        assertThat(shape(plan, 4, 3, all[5].name(), all)).contains(List.of(8L));
        assertThat(shape(plan, 4, 3, all[6].name(), all)).contains(List.of(24L, 8L));
        assertThat(plan.slice(FILE, List.of(all), 4).getLast().copies()).as("both halves")
                .extracting(StridedCopy::fileOffset).containsExactly(3L, 7L);
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
        ParallelPlan plan = ParallelPlan.llama(HEADS);
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
        ParallelPlan plan = ParallelPlan.llama(HEADS);
        TensorInfo scale = tensor("o_proj.weight_scale", DType.F32);
        TensorInfo bias = bf16("o_proj.bias", 7L);
        assertThat(shape(plan, 2, 1, scale.name(), scale, bias)).contains(List.of());
        assertThat(shape(plan, 2, 1, bias.name(), scale, bias)).contains(List.of(7L));
    }

    @Test
    void packedQuantisedWeightsAreTransposed() {
        ParallelPlan plan = ParallelPlan.llama(HEADS);
        TensorInfo[] all = {tensor("q_proj.qweight", DType.I32, 8L, 16L), tensor("q_proj.g_idx", DType.I32, 64L),
                tensor("q_proj.scales", DType.F16, 2L, 16L), tensor("q_proj.qzeros", DType.I32, 2L, 2L)};
        assertThat(shape(plan, 2, 1, all[0].name(), all)).contains(List.of(8L, 8L));
        assertThat(shape(plan, 2, 1, all[1].name(), all)).contains(List.of(64L));
    }

    @Test
    void blocksOfQuantisedTypesAreNeverCut() {
        ParallelPlan plan = ParallelPlan.llama(HEADS);
        TensorInfo down = tensor("blk.0.ffn_down.weight", new DType("Q4_0", 32, 18), 4L, 96L);
        assertThat(shape(plan, 3, 2, down.name(), down)).contains(List.of(4L, 32L));
        assertThatThrownBy(() -> plan.slice(FILE, List.of(down), 2))
                .hasMessageContaining("is of type Q4_0, and the split would cut a block of 32 elements");
    }

    @Test
    void expertsGoToTheirOwners() {
        ParallelPlan plan = ParallelPlan.llama(HEADS);
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
                Split.column(), Split.row(), Split.column(new Part(1, Part.GATHERED)), Split.row(),
                new Split.Row(List.of(new Part(1, 0), new Part(1, 0)), false), Split.column(), Split.replicate(),
                new Split.Expert(1, true), new Split.Owner(1), Split.replicate(), Split.replicate());
    }

    /** All styles that transformers 5.24 registers, with the slice of rank 1 of 2 of a tensor [8, 6]. */
    @ParameterizedTest
    @CsvSource(delimiter = ';', value = {
            "colwise; 4,6", "colwise_rep; 4,6", "colwise_gather_output; 4,6", "rowwise; 8,3", "rowwise_rep; 8,3",
            "rowwise_split_input; 8,3", "packed_colwise; 4,6", "packed_rowwise; -", "embedding_rowwise; 4,6",
            "embedding_colwise; 8,3", "sequence_parallel; 8,6", "replicated_with_grad_allreduce; 8,6",
            "mla_kv_a_proj; 8,6", "replicate; 8,6", "grouped_gemm; 4,6"})
    void stylesOfTransformersDivideAsTransformersDoes(String style, String expected) throws IOException {
        ParallelPlan plan = json("{\"base_model_tp_plan\": {\"layers.*.x\": \"%s\"}}".formatted(style));
        TensorInfo tensor = bf16("model.layers.3.x.weight", 8L, 6L);
        if (expected.equals("-")) {
            // each of two parts of three inputs
            assertThatThrownBy(() -> plan.slice(FILE, List.of(tensor), 2))
                    .hasMessageContaining("2 ranks do not divide");
            return;
        }
        List<Long> shape = Arrays.stream(expected.split(",")).map(Long::valueOf).toList();
        assertThat(shape(plan, 2, 1, tensor.name(), tensor)).contains(shape);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"all_reduce", "moe_tp_experts", "moe_identity_expert", "local_params", "ep_dispatch_experts",
                    "ep_router", "gather", "local"})
    void stylesOfModulesDecideAboutNoTensorThatAnotherRuleNames(String style) throws IOException {
        ParallelPlan plan = json("""
                {"base_model_ep_plan": {"layers.*.mlp.experts": "%s", "layers.*.mlp.none": "%s",
                 "layers.*.mlp.experts.gate_up_proj": "packed_colwise", "layers.*.mlp.experts.down_proj": "grouped_gemm",
                 "layers.*.self_attn.sinks": "colwise"}}""".formatted(style, style));
        TensorInfo[] all = {bf16("layers.0.mlp.experts.gate_up_proj", 2L, 8L, 4L),
                bf16("layers.0.mlp.experts.down_proj", 2L, 4L, 4L), bf16("layers.0.self_attn.sinks", 8L)};
        assertThat(shape(plan, 2, 1, all[0].name(), all)).contains(List.of(2L, 4L, 4L));
        assertThat(shape(plan, 2, 1, all[1].name(), all)).contains(List.of(1L, 4L, 4L));
        assertThat(shape(plan, 2, 1, all[2].name(), all)).contains(List.of(4L));
    }

    @Test
    void rulesOfJsonMayBeOptional() throws IOException {
        TensorInfo up = bf16("layers.0.up_proj.weight", 4L, 2L);
        String rules = "{\"up_proj\": \"colwise\", \"lm_head\": {\"style\": \"colwise_rep\", \"optional\": %s}}";
        assertThat(json(rules.formatted("true")).slice(FILE, List.of(up), 2)).hasSize(2);
        ParallelPlan required = json(rules.formatted("false"));
        assertThatThrownBy(() -> required.slice(FILE, List.of(up), 2)).hasMessageContaining("'lm_head'");
    }

    @Test
    void unmatchedTensorsAndRulesAreAllowedOnRequest() throws IOException {
        TensorInfo[] all = {bf16("model.layers.0.mlp.up_proj.weight", 4L, 2L), bf16("model.norm.weight", 2L),
                bf16("model.layers.1.mlp.experts.0.gate_proj.weight", 4L, 2L),
                bf16("model.layers.1.mlp.experts.1.w2.weight", 2L, 4L)};
        String plan = """
                {"unmatched": "replicate", "base_model_tp_plan": {"model.layers.*.mlp.up_proj": "colwise",
                 "lm_head": "colwise_gather_output", "model.layers.*.mlp.experts.gate_up_proj": "packed_colwise",
                 "model.layers.*.mlp.experts.down_proj": "rowwise", "model.layers.*.mlp.experts": "moe_tp_experts"}}""";
        assertThat(json(plan).slice(FILE, List.of(all), 2)).extracting(TensorSlice::shape).containsExactly(
                List.of(2L, 2L), List.of(2L, 2L), List.of(2L), List.of(2L),
                List.of(2L, 2L), List.of(2L, 2L), List.of(2L, 2L), List.of(2L, 2L));
        List<TensorSlice> owned =
                json(plan.replace("packed_colwise", "grouped_gemm").replace("rowwise", "grouped_gemm"))
                        .slice(FILE, List.of(all), 2);
        assertThat(owned).filteredOn(slice -> slice.tensor().equals(all[3])).extracting(TensorSlice::rank)
                .containsExactly(1);
        TensorInfo up = bf16("backbone.layers.1.mixer.experts.3.up_proj.weight", 4L, 2L);
        assertThat(shape(json("""
                {"unmatched": "replicate", "tp_plan": {"model.layers.*.mixer.experts.up_proj": "colwise"}}"""), 2, 1,
                up.name(), up)).contains(List.of(2L, 2L));
        ParallelPlan other = json("{\"unmatched\": \"replicate\", \"x_proj\": \"colwise\"}");
        assertThatThrownBy(() -> other.slice(FILE, List.of(all), 2)).hasMessageContaining("it is for another model");
    }

    @Test
    void blocksOfCodeGenAreNeverCut() throws IOException {
        TensorInfo[] all = {bf16("transformer.h.0.attn.qkv_proj.weight", 96L, 32L),
                bf16("transformer.h.0.attn.out_proj.weight", 32L, 32L)};
        String rules = """
                {"unmatched": "replicate", "base_model_tp_plan": {"transformer.h.*.attn.qkv_proj": "colwise",
                 "transformer.h.*.attn.out_proj": "rowwise"}}""";
        ParallelPlan plan = forModel(json(rules), "{\"model_type\": \"codegen\", \"n_head\": 8}");
        for (int world : new int[]{2, 4}) {
            List<TensorSlice> slices = plan.slice(FILE, List.of(all), world);
            assertThat(slices).extracting(TensorSlice::bytes).containsOnly(96L * 32 * 2 / world, 32L * 32 * 2 / world);
            assertThat(slices.get(1).copies().getFirst().fileOffset()).as("whole blocks in their order")
                    .isEqualTo(all[0].fileOffset() + 96L * 32 * 2 / world);
        }
        for (TensorInfo tensor : all) {
            assertThatThrownBy(() -> plan.slice(FILE, List.of(all), tensor::equals, 8))
                    .hasMessageContaining("4 blocks of queries, values and keys, which 8 ranks would cut")
                    .hasMessageContaining("allowed are [1, 2, 4]");
        }
        ParallelPlan six = forModel(json(rules), "{\"model_type\": \"codegen\", \"n_head\": 6}");
        assertThatThrownBy(() -> six.slice(FILE, List.of(all), 4)).hasMessageContaining("allowed are [1, 2]");
        ParallelPlan other = forModel(json(rules), "{\"model_type\": \"other\", \"n_head\": 8}");
        assertThatThrownBy(() -> other.slice(FILE, List.of(all), 2)).hasMessageContaining("heads is unknown");
    }

    private ParallelPlan forModel(ParallelPlan plan, String config) throws IOException {
        Files.writeString(folder.resolve("config.json"), config);
        return plan.forModel(folder, Metadata.ofStrings(Map.of()));
    }

    @Test
    void scalesOfLogitsFollowTheirHead() throws IOException {
        TensorInfo[] all = {bf16("lm_head.weight", 8L, 4L), bf16("lm_head.logit_scale", 8L)};
        ParallelPlan plan = json("{\"unmatched\": \"replicate\", \"lm_head\": \"colwise_gather_output\"}");
        assertThat(shape(plan, 4, 3, all[1].name(), all)).contains(List.of(2L));
        TensorInfo[] odd = {all[0], bf16("lm_head.logit_scale", 4L)};
        assertThatThrownBy(() -> plan.slice(FILE, List.of(odd), 4)).hasMessageContaining("no layout that is known");
    }

    @Test
    void layersWithMoreKeyHeadsThanMostAreDividedByTheirOwn() throws IOException {
        List<TensorInfo> all = new ArrayList<>();
        for (long keys : new long[]{2, 4}) { // with 8 heads of 6 elements, and values of 4
            String module = "model.layers.%d.self_attn.".formatted(keys / 2 - 1);
            all.addAll(List.of(bf16(module + "q_proj.weight", 48L, 16L), bf16(module + "k_proj.weight", keys * 6, 16L),
                    bf16(module + "v_proj.weight", keys * 4, 16L), bf16(module + "o_proj.weight", 16L, 32L)));
        }
        TensorInfo[] tensors = all.toArray(TensorInfo[]::new);
        String config = "{\"num_attention_heads\": 8, \"num_key_value_heads\": 2%s}";
        ParallelPlan plan = forModel(ParallelPlan.llama(), config.formatted(", \"head_dim\": 6, \"v_head_dim\": 4"));
        assertThat(shape(plan, 4, 1, all.get(5).name(), tensors)).contains(List.of(6L, 16L));
        assertThat(shape(plan, 4, 1, all.get(6).name(), tensors)).contains(List.of(4L, 16L));
        assertThat(shape(plan, 4, 1, all.get(1).name(), tensors)).as("as told").contains(List.of(6L, 16L));
        ParallelPlan unsure = forModel(ParallelPlan.llama(), config.formatted(""));
        assertThatThrownBy(() -> unsure.slice(FILE, all, 4)).as("the size is not told")
                .hasMessageContaining("layers.1.self_attn.k_proj");
    }

    @ParameterizedTest
    @CsvSource({"colwise, rowwise, gate_proj", "packed_rowwise, colwise, gate_proj", "packed_rowwise, colwise, w2",
            "packed_colwise, colwise, down_proj", "colwise, grouped_gemm, w3"})
    void rulesForAllExpertsThatSingleOnesCannotFollowAreRefused(String gateUp, String down, String layer)
            throws IOException {
        TensorInfo[] all = {bf16("layers.0.experts.0." + layer + ".weight", 4L, 4L), bf16("q_proj.weight", 4L, 4L)};
        String rules = """
                {"unmatched": "replicate", "tp_plan": {"q_proj": "replicate", %s
                 "layers.*.experts.gate_up_proj": "%s", "layers.*.experts.down_proj": "%s"}}""";
        ParallelPlan plan = json(rules.formatted("", gateUp, down));
        assertThatThrownBy(() -> plan.slice(FILE, List.of(all), 2)).hasMessageContaining("is of one expert")
                .hasMessageContaining("give 'experts.*." + layer + "' a rule");
        ParallelPlan own = json(rules.formatted("\"experts.*." + layer + "\": \"dimension\",".replace("\"dimension\"",
                "{\"style\": \"dimension\", \"dim\": 0}"), gateUp, down));
        assertThat(shape(own, 2, 1, all[0].name(), all)).contains(List.of(2L, 4L));
        TensorInfo[] stacked = {bf16("layers.0.experts.gate_up_proj", 2L, 4L, 4L), all[1]};
        assertThat(plan.slice(FILE, List.of(stacked), 2)).as("a tensor of all experts").hasSize(4);
    }

    @Test
    void towersWithOtherRulesForExpertsAreRefused() throws IOException {
        TensorInfo[] all = {bf16("a.experts.0.down_proj.weight", 4L, 4L), bf16("b.experts.0.down_proj.weight", 4L, 4L)};
        String rules = "{\"unmatched\": \"replicate\", \"a.experts.down_proj\": \"rowwise\","
                + " \"b.experts.down_proj\": \"%s\"}";
        assertThat(shape(json(rules.formatted("rowwise")), 2, 1, all[0].name(), all)).contains(List.of(4L, 2L));
        ParallelPlan plan = json(rules.formatted("replicate"));
        assertThatThrownBy(() -> plan.slice(FILE, List.of(all), 2)).hasMessageContaining("is of one expert");
    }

    @ParameterizedTest
    @CsvSource({"q_proj, out_proj", "q_proj, dense", "query_key_value, dense", "q_proj, o_proj", "wq, wo"})
    void layersBehindAttentionHaveTheHeadsOfItsQueries(String queries, String output) throws IOException {
        boolean fused = queries.equals("query_key_value");
        TensorInfo[] all = {bf16("l.0.attn." + queries + ".weight", fused ? 24L : 8L, 8L),
                bf16("l.0.attn." + output + ".weight", 8L, 8L), bf16("l.0.mixer." + output + ".weight", 8L, 12L)};
        String rules = "{\"unmatched\": \"replicate\", \"%s\": %s, \"%s\": \"rowwise\"}";
        ParallelPlan told =
                json(rules.formatted(queries, "\"colwise\"", output)).withHeads(new AttentionHeads(2, 2));
        ParallelPlan own = json(rules.formatted(queries, fused ? "{\"style\": \"colwise\", \"heads\": [2, 2, 2]}"
                : "{\"style\": \"colwise\", \"heads\": 2}", output));
        for (ParallelPlan plan : List.of(told, own)) {
            assertThat(shape(plan, 2, 1, all[1].name(), all)).contains(List.of(8L, 4L));
            assertThatThrownBy(() -> plan.slice(FILE, List.of(all), 4)).hasMessageContaining(all[1].name())
                    .hasMessageContaining("has 2 heads, fewer than the 4 ranks");
        }
        boolean shared = output.equals("out_proj") || output.equals("dense");
        if (shared) {
            assertThat(shape(told, 4, 1, all[2].name(), all[2])).as("no attention").contains(List.of(8L, 3L));
        }
    }

    @Test
    void gatheredOutputsMayCutHeads() throws IOException {
        TensorInfo key = bf16("k_proj.weight", 8L, 2L);
        ParallelPlan gathered = json("{\"k_proj\": \"colwise_gather_output\"}").withHeads(new AttentionHeads(4, 2));
        assertThat(shape(gathered, 8, 1, key.name(), key)).contains(List.of(1L, 2L));
        ParallelPlan own =
                json("{\"k_proj\": {\"style\": \"colwise\", \"heads\": 4}}").withHeads(new AttentionHeads(8, 2));
        assertThat(shape(own, 4, 1, key.name(), key)).as("heads of the rule").contains(List.of(2L, 2L));
    }

    @Test
    void brokenPlansAreRefusedInOneLine() {
        for (String[] broken : new String[][]{
                {"", "the text ends early"}, {"[]", "a plan must be one JSON object"}, {"{}", "the plan has no rule"},
                {"{\"a\": 1}", "the style of 'a' must be"}, {"{\"a\": \"diagonal\"}", "the style of 'a' is 'diagonal'"},
                {"{\"a\": \"colwise\", \"a\": \"rowwise\"}", "occurs twice"},
                {"{\"\": \"colwise\"}", "empty component"},
                {"{\"a\": {\"style\": \"owner\"}}", "needs a rank"}, {"{\"a\": \"dimension\"}", "needs a dim"},
                {"{\"a\": {\"style\": \"row\", \"optional\": 1}}", "optional must be true or false"},
                {"{\"a\": {\"parts\": 0}}", "parts has 0"},
                {"{\"a\": {\"style\": \"colwise\", \"parts\": [1, 2], \"heads\": [1, 2, 3]}}", "2 parts have 3"},
                {"{\"unmatched\": \"drop\", \"a\": \"colwise\"}", "unmatched is the string 'drop'; allowed is"},
                {"{\"unmatched\": \"replicate\"}", "the plan has no rule"},
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
        assertThat(plan.slice(FILE, List.of(bf16("w.weight", 5L, 2L)), 4)).extracting(TensorSlice::shape)
                .containsExactly(
                        List.of(2L, 2L), List.of(2L, 2L), List.of(1L, 2L), List.of(0L, 2L));
    }
}
