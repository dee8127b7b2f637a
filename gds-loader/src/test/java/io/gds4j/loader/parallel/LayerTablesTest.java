package io.gds4j.loader.parallel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Layers, a plan as JSON, and the shapes that the last rank has of each tensor, or why the plan is refused. A wrong shape is a wrong
 * slice, which a program would compute with.
 */
class LayerTablesTest {
    private static final Path FILE = Path.of("m.safetensors");

    @TempDir
    Path folder;

    private static List<Long> shape(String text) {
        return Arrays.stream(text.split("x")).filter(size -> !size.isEmpty()).map(Long::valueOf).toList();
    }

    /** Returns a tensor of a name, a type and a shape, such as {@code .weight:F32:8x4} of layer a. */
    private static TensorInfo tensor(String text) {
        String[] parts = text.split(":", -1);
        DType type = DType.ofSafetensors().stream().filter(one -> one.id().equals(parts[1])).findFirst().orElseThrow();
        List<Long> shape = shape(parts[2]);
        return new TensorInfo(
                parts[0].startsWith(".") ? "a" + parts[0] : parts[0], type, shape, FILE, 0,
                type.bytes(shape).orElseThrow());
    }

    private static void check(ParallelPlan plan, int world, String tensors, String expected) {
        List<TensorInfo> all = Arrays.stream(tensors.split(" +")).map(LayerTablesTest::tensor).toList();
        if (expected.contains(" ") && !Character.isDigit(expected.charAt(0))) {
            assertThatThrownBy(() -> plan.slice(FILE, all, world)).isInstanceOf(CheckpointException.class)
                    .hasMessageContaining(expected);
            return;
        }
        assertThat(plan.slice(FILE, all, world).stream().filter(slice -> slice.rank() == world - 1)
                .map(slice -> slice.shape().stream().map(Objects::toString).collect(Collectors.joining("x")))
                .collect(Collectors.joining(" "))).isEqualTo(expected);
    }

    /** Every tensor has the same rule. Without g_idx, the groups of GPTQ have the order of the inputs. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            # GPTQ: 1 bit; outputs that fill no word; the smallest groups; without zero points
            colwise | 2 | .qweight:I32:2x64 .scales:F16:2x64 .qzeros:I32:2x2 | 2x32 2x32 2x1
            rowwise | 2 | .qweight:I32:16x20 .scales:F16:4x20 .qzeros:I32:4x3 | 8x20 2x20 2x3
            colwise | 2 | .qweight:I32:8x16 .scales:F16:4x16 .qzeros:I32:4x2 | 8x8 4x8 4x1
            colwise | 2 | .qweight:I32:8x16 .scales:F16:8x16 .qzeros:I32:8x2 | is in no layout that is known
            colwise | 2 | .qweight:I32:8x16 .scales:F16:2x16 .qzeros:I32:2x2 .g_idx:I32:100 | is in no layout that is known
            colwise | 2 | .qweight:I32:8x16 .scales:F16:2x16 .g_idx:I32:64 | 8x8 2x8 64
            # compressed-tensors
            colwise | 2 | .weight_packed:I32:4x8x16 .weight_scale:F16:4x8x4 | 4x4x16 4x4x4
            colwise | 2 | .weight_packed:I32:64 | is in no layout that is known
            colwise | 2 | .weight_packed:I32:2x4x8x16 | is in no layout that is known
            rowwise | 3 | .weight_packed:I32:4x15 .weight_scale:F16:4x1 | block of
            rowwise | 3 | .weight_packed:I32:4x15 .weight_scale:F16:4x3 .weight_g_idx:I32:120 | block of
            rowwise | 2 | .weight_packed:I32:4x6 .weight_scale:F16:4x2 | 4x3 4x1
            colwise | 2 | .weight_packed:I32:8x16 .weight_scale:F16:8 | 4x16 4
            colwise | 2 | .weight_packed:I32:8x16 .weight_scale:F16:6 | is in no layout that is known
            colwise | 2 | .weight_packed:I32:8x16 .weight_scale:F16:8x4 .weight_zero_point:I8:8x4 | 4x16 4x4 4x4
            # torchao: scales of inputs are a vector; a group of 4-bit floats is not two halves
            rowwise | 2 | ._weight_qdata:I8:64x32 ._weight_scale:F16:2x64 ._weight_zero_point:F16:2x64 ._weight_act_pre_scale:F16:64 | 64x16 1x64 1x64 32
            rowwise | 2 | ._weight_qdata:I8:64x32 ._weight_scale:F16:64x1 ._weight_act_pre_scale:F16:1x32 | 64x16 64x1 1x16
            rowwise | 2 | ._weight_qdata:I8:64x32 ._weight_act_pre_scale:F16:2x32 | is in no layout that is known
            rowwise | 2 | ._weight_qdata:I8:64x32 ._weight_act_pre_scale:F16:16 | is in no layout that is known
            rowwise | 2 | ._weight_qdata:U8:64x8 ._weight_scale:F8_E4M3:64x1 | block of
            # EXL3: the signs of inputs and outputs, 16 in a word
            rowwise | 2 | .trellis:I16:16x32x64 .su:I16:16 .sv:I16:32 | 8x32x64 8 32
            colwise | 2 | .trellis:I16:16x32x64 .su:I16:16 .sv:I16:32 | 16x16x64 16 16
            colwise | 2 | .trellis:I16:16x32x64 .su:I16:15 | is in no layout that is known
            colwise | 2 | .trellis:I16:16x32x64 .sv:I16:31 | is in no layout that is known
            colwise | 2 | .trellis:I16:16x32x64 .su:I16:16x1 | is in no layout that is known
            colwise | 2 | .trellis:I16:16x32x64 .sv:I16:32x1 | is in no layout that is known
            # MLX with experts
            colwise | 2 | a.switch_mlp.up.weight:U32:4x8x16 a.switch_mlp.up.scales:F16:4x8x2 | 4x4x16 4x4x2
            colwise | 2 | .weight:U32:4x8x16 .scales:F16:4x8x2 | is in no layout that is known
            # plain weights, their scales and biases
            colwise | 2 | .weight:F8_E4M3:64x32 .weight_scale:F32:4x1 | 32x32 2x1
            colwise | 2 | .weight:F8_E4M3:64x32 .weight_scale:F32:8x1 | an order that is not known
            colwise | 2 | .weight:F8_E4M3:64x32 .weight_scale:F32:60 | is in no layout that is known
            colwise | 2 | .weight:F8_E4M3:0x8 .weight_scale:F32:0x1 | 0x8 0x1
            colwise | 2 | .weight:F8_E4M3:64x32 .scale:F32:64 | 32x32 32
            colwise | 2 | .weight:BF16:64x32 .scale:F32:64 | is in no layout that is known
            colwise | 2 | experts.weight:F16:4x8x2 experts.bias:F16:4x8 | 4x4x2 4x4
            colwise | 2 | experts.weight:F16:4x8x2 experts.bias:F16:2x4x8 | is in no layout that is known
            rowwise | 2 | embed_tokens.weight:F32:96x8 | 48x8
            rowwise | 2 | embed_tokens.lora_embedding_A:F32:4x96 | 4x48
            # weights with the name of their layer
            rowwise | 2 | experts.down_proj:F8_E4M3:4x128x256 experts.down_proj_scale_inv:F32:4x1x2 | 4x128x128 4x1x1
            colwise | 2 | experts.gate_up_proj:F16:4x16x8 experts.gate_up_proj_bias:F16:4x16 | 4x8x8 4x8
            colwise | 2 | x.lm_head:F8_E4M3:8 x.lm_head_scale:F32:8 | 4 4
            colwise | 2 | x.up_proj_scale:F32:2x2x4x4 x.up_proj:F8_E4M3:2x2x4x4 | up_proj_scale' is in no layout
            colwise | 2 | x.up_proj_scale:F32:8 x.up_proj:F8_E4M3: | up_proj_scale' is in no layout
            colwise | 2 | x.foo_bias:F16:4x16 | is in no layout that is known
            colwise | 2 | x.up_proj_bias:F16:2x4x16 | is in no layout that is known
            # adapters
            colwise | 2 | .lora_B.bias:F32:8 | 4
            colwise | 2 | .lora_A.bias:F32:8 | is in no layout that is known
            expert  | 2 | a.experts.lora_B.weight:F32:4x64x16 | 2x64x16
            """)
    void lastRankHasItsPartOfEachTensor(String style, int world, String tensors, String expected) throws IOException {
        check(json("{\"*\": \"%s\"}".formatted(style)), world, tensors, expected);
    }

    /** HEADS are those that are told for the model, QUERIES,KEYS,SIZE; none for {@code -}. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            # ranks add up products of inputs, which must not count twice, wherever a layout has its inputs
            - | {"*": {"style": "rowwise", "heads": 2}} | 4 | .qweight:I32:8x16 .scales:F16:1x16 .qzeros:I32:1x2 | has 2 heads, fewer
            # zero points of 31 outputs fill their last word in part
            - | {"*": {"style": "colwise", "round_up": true}} | 4 | .qweight:I32:8x31 .scales:F16:1x31 .qzeros:I32:1x4 | 8x7 1x7 1x1
            # a scale has the rule of its weight, not the rule for the rest
            - | {"a.weight": "colwise", "*": "replicate"} | 2 | .weight:F8_E4M3:64x32 .weight_scale:F32:64 | 32x32 32
            - | {"experts.gate_up_proj": "colwise", "*": "replicate"} | 2 | experts.gate_up_proj:F8_E4M3:4x16x8 experts.gate_up_proj_scale:F32:4x16x1 | 4x8x8 4x8x1
            # heads of keys only, gathered keys, values without keys
            - | {"k_proj": {"style": "colwise", "heads": 2}, "*": "replicate"} | 2 | q_proj.weight:F32:8x4 k_proj.weight:F32:4x4 v_proj.weight:F32:4x4 o_proj.weight:F32:4x8 | 8x4 2x4 4x4 4x8
            - | {"q_proj": {"style": "colwise", "heads": 4}, "k_proj": "colwise_rep", "*": "replicate"} | 2 | q_proj.weight:F32:8x4 k_proj.weight:F32:4x4 v_proj.weight:F32:4x4 o_proj.weight:F32:4x8 | 4x4 2x4 4x4 4x8
            - | {"q_proj": {"style": "colwise", "heads": 4}, "v_proj": {"style": "colwise", "heads": 2}, "*": "replicate"} | 2 | q_proj.weight:F32:8x4 v_proj.weight:F32:4x4 o_proj.weight:F32:4x8 | 4x4 2x4 4x8
            # units of several heads of queries, if a rule says so; told heads are exact
            - | {"*": {"style": "colwise", "heads": 2, "round_up": true}} | 2 | q_proj.weight:F32:12x4 k_proj.weight:F32:4x4 | 6x4 2x4
            - | {"*": {"style": "colwise", "heads": 2, "round_up": true}} | 2 | q_proj.weight:F32:10x4 k_proj.weight:F32:4x4 | its queries heads of 5
            - | {"*": {"style": "colwise", "heads": [2, 2, 2], "parts": [6, 2, 2], "round_up": true}} | 2 | qkv_proj.weight:F32:20x4 | 10x4
            4,2,0 | {"*": {"style": "colwise", "round_up": true}} | 2 | q_proj.weight:F32:24x4 k_proj.weight:F32:4x4 | heads of 2 elements, and its queries heads of 6
            # the heads of a fused layer are those of the layer behind it
            - | {"qkv_proj": {"style": "packed_colwise", "heads": [2, 2, 2]}, "o_proj": "rowwise"} | 2 | qkv_proj.weight:F32:24x4 o_proj.weight:F32:4x8 | 12x4 4x4
            - | {"qkv_proj": {"style": "packed_colwise", "heads": [2, 2, 2]}, "o_proj": "rowwise"} | 4 | qkv_proj.weight:F32:24x4 o_proj.weight:F32:4x8 | o_proj.weight' has 2 heads, fewer
            # shapes decide the heads of keys: by any name of the layer behind, by packed inputs only if their number is known
            4,0,0 | {"*_proj": "colwise"} | 4 | q_proj.weight:F32:16x16 k_proj.weight:F32:8x16 v_proj.weight:F32:8x16 | the number of its heads is unknown
            4,0,0 | {"out_proj": "rowwise", "*_proj": "colwise"} | 4 | q_proj.weight:F32:16x16 k_proj.weight:F32:8x16 v_proj.weight:F32:8x16 out_proj.weight:F32:16x16 | 4x16 4x16 4x16 16x4
            4,0,4 | {"o_proj": "rowwise", "*_proj": "colwise"} | 4 | q_proj.weight:U8:16x8 k_proj.weight:U8:8x8 v_proj.weight:U8:8x8 o_proj.weight:U8:16x8 | 4x8 4x8 4x8 16x2
            4,0,0 | {"o_proj": "rowwise", "*": "colwise"} | 2 | q_proj.qweight:I32:8x32 k_proj.qweight:I32:8x16 k_proj.scales:F16:1x16 k_proj.qzeros:I32:1x2 v_proj.qweight:I32:8x16 v_proj.scales:F16:1x16 v_proj.qzeros:I32:1x2 o_proj.qweight:I32:4x64 o_proj.scales:F16:1x64 o_proj.qzeros:I32:1x8 q_proj.scales:F16:1x32 q_proj.qzeros:I32:1x4 | 8x16 8x8 1x8 1x1 8x8 1x8 1x1 2x64 1x64 1x8 1x16 1x2
            4,0,0 | {"o_proj": "rowwise", "*_proj": "colwise"} | 2 | k_proj.weight:F32:8x16 o_proj.weight:F32:16x16 | the number of its heads is unknown
            # sizes are known up to 2^40
            4,0,0 | {"*": "colwise"} | 2 | q_proj.weight:U8:1099511627776x1 k_proj.weight:U8:1099511627776x1 | 549755813888x1 549755813888x1
            4,0,0 | {"*": "colwise"} | 2 | q_proj.weight:U8:1099511627780x1 k_proj.weight:U8:1099511627780x1 | a rule may tell its heads
            """)
    void lastRankHasItsHeads(String heads, String rules, int world, String tensors, String expected)
            throws IOException {
        ParallelPlan plan = json(rules);
        if (!heads.equals("-")) {
            long[] numbers = Arrays.stream(heads.split(",")).mapToLong(Long::parseLong).toArray();
            plan = plan.withHeads(new AttentionHeads(numbers[0], numbers[1], numbers[2]));
        }
        check(plan, world, tensors, expected);
    }

    private ParallelPlan json(String text) throws IOException {
        return ParallelPlan.read(Files.writeString(folder.resolve("plan.json"), text));
    }
}
