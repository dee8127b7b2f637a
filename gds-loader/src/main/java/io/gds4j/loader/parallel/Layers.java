package io.gds4j.loader.parallel;

import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.DimensionSplit.Uneven;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Knows where the outputs and the inputs of a layer lie in each of its tensors. The layouts are those of the libraries that write
 * them; a tensor of any other layout has no axes. Pure.
 */
final class Layers {
    /** Parameters that determine the split of the others in their layer, in this order. */
    private static final List<String> MAIN = List.of("weight", "qweight", "weight_packed", "_weight_qdata", "trellis");
    private static final String BIAS = "bias";
    /** Values that a head of a vocabulary multiplies its outputs by, one for each. */
    private static final String OUTPUT_SCALES = "logit_scale";
    private static final List<String> SCALE_SUFFIXES = List.of("_scale_inv", "_scale");
    /** Scales of outputs that bitsandbytes adds to a weight of 8 bits. */
    private static final String INT8_SCALES = "SCB";
    /** Adapters of LoRA: the first matrix has the inputs of the layer, the second the outputs, and a vector of DoRA, too. */
    static final String ADAPTER_A = ".lora_A";
    static final String ADAPTER_B = ".lora_B";
    /** The layer itself, where its adapters are beside it. */
    private static final String BASE_LAYER = ".base_layer";
    private static final Pattern ADAPTER =
            Pattern.compile("(.+)\\.lora_(A|B|embedding_A|embedding_B|magnitude_vector)(?:\\.[^.]+){0,2}");
    /** Scales and zero points of a plain weight; a single value of each is known, too. */
    private static final Set<String> SCALES = Set.of(
            "weight_scale", "weight_scale_inv", "weight_zero_point", "weight_scale_2", "scale");
    /** Parameters that follow the rule of their weight. */
    private static final Set<String> FOLLOWING = Set.of(
            "weight_scale", "weight_scale_inv", "weight_zero_point", "weight_scale_2", "scale", "weight_g_idx",
            "weight_shape", "weight_global_scale", "scales", "biases", "qzeros", "g_idx", "_weight_scale",
            "_weight_zero_point", "_weight_act_pre_scale", "suh", "svh", "su", "sv", "mcg", "mul1", INT8_SCALES,
            "weight_format");
    /** Names of layers that some files give to the weight itself, as {@code experts.gate_up_proj}. */
    private static final Set<String> BARE = Set.of(
            "q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "gate_proj", "up_proj", "down_proj", "gate_up_proj",
            "lm_head", "embed_tokens");
    /** Vectors with a value for each head. */
    private static final Set<String> OF_HEADS = Set.of("sinks", "gate_bias");
    /** Weights of these layers have the experts in their first dimension. */
    private static final Pattern STACKED = Pattern.compile(".*(?:exps|experts|switch_mlp|moe)(?:\\..*|$)");

    private final boolean naturalGroups;
    private final Map<String, Map<String, TensorInfo>> layers = new HashMap<>();

    /**
     * Creates the layers of tensors.
     *
     * @param naturalGroups true if the groups of GPTQ follow the order of the inputs, whatever {@code g_idx} says
     */
    Layers(Map<String, TensorInfo> tensors, boolean naturalGroups) {
        this.naturalGroups = naturalGroups;
        for (TensorInfo tensor : tensors.values()) {
            of(layer(tensor.name())).put(parameter(tensor.name()), tensor);
            Matcher adapter = ADAPTER.matcher(tensor.name());
            if (isForAdapters(tensor.name()) && adapter.matches() && tensor.name().endsWith(".weight")) {
                // also without the name that an adapter may have
                of(adapter.group(1) + ".lora_" + adapter.group(2)).putIfAbsent("weight", tensor);
            }
        }
    }

    private Map<String, TensorInfo> of(String layer) {
        return layers.computeIfAbsent(layer, name -> new HashMap<>());
    }

    /** Returns the name of the layer: all but the last component. */
    static String layer(String tensor) {
        return tensor.substring(0, Math.max(0, tensor.lastIndexOf('.')));
    }

    /** Returns the last component of a name. */
    static String parameter(String tensor) {
        return tensor.substring(tensor.lastIndexOf('.') + 1);
    }

    private Map<String, TensorInfo> siblings(TensorInfo tensor) {
        return layers.getOrDefault(layer(tensor.name()), Map.of());
    }

    /** Returns the name of the weight that an adapter belongs to; that of any other tensor without what adapters add to it. */
    static String adapted(String tensor) {
        Matcher adapter = ADAPTER.matcher(tensor);
        String weight = isForAdapters(tensor) && adapter.matches() ? adapter.group(1) + ".weight" : tensor;
        String layer = layer(weight);
        return layer.endsWith(BASE_LAYER)
                ? layer.substring(0, layer.length() - BASE_LAYER.length()) + "." + parameter(weight)
                : weight;
    }

    /** Returns whether a pattern is for adapters, or for the layers within them. */
    static boolean isForParts(String pattern) {
        return isForAdapters(pattern) || pattern.contains(BASE_LAYER.substring(1));
    }

    /** Returns whether a name is one of an adapter. */
    static boolean isForAdapters(String name) {
        return name.contains("lora_");
    }

    /** Returns the name of the weight whose rule decides about a scale, a zero point, an order or an adapter; null for any other tensor. */
    @Nullable
    String weight(TensorInfo tensor) {
        String adapted = adapted(tensor.name());
        if (!adapted.equals(tensor.name())) {
            return adapted;
        }
        TensorInfo weight = ofParameter(tensor);
        return weight == null ? null : weight.name();
    }

    private @Nullable TensorInfo ofParameter(TensorInfo tensor) {
        String parameter = parameter(tensor.name());
        Map<String, TensorInfo> siblings = siblings(tensor);
        TensorInfo scaled = scaled(siblings, parameter);
        if (scaled != null) {
            return scaled;
        }
        return FOLLOWING.contains(parameter) ? main(siblings) : null;
    }

    /** Returns the tensor whose scale has this name; null if there is none. */
    private static @Nullable TensorInfo scaled(Map<String, TensorInfo> siblings, String parameter) {
        for (String suffix : SCALE_SUFFIXES) {
            if (parameter.endsWith(suffix)) {
                return siblings.get(parameter.substring(0, parameter.length() - suffix.length()));
            }
        }
        return null;
    }

    /** Returns the weight of a layer, which may have the name of the layer itself or be beside adapters; null if there is none. */
    @Nullable
    TensorInfo main(String layer) {
        return Stream.of(layer, layer + BASE_LAYER).map(name -> main(layers.getOrDefault(name, Map.of())))
                .filter(Objects::nonNull).findFirst()
                .orElseGet(() -> layers.getOrDefault(layer(layer), Map.of()).get(parameter(layer)));
    }

    private static @Nullable TensorInfo main(Map<String, TensorInfo> siblings) {
        return MAIN.stream().filter(siblings::containsKey).findFirst().map(siblings::get).orElse(null);
    }

    /** Returns the axes of a tensor; empty if its layout is not known. */
    Optional<Axes> axes(TensorInfo tensor) throws Uneven {
        if (isScalar(tensor)) {
            return Optional.of(Axes.WHOLE);
        }
        Map<String, TensorInfo> siblings = siblings(tensor);
        String parameter = parameter(tensor.name());
        if (!tensor.equals(siblings.get(parameter))) {
            return Optional.empty(); // another tensor, or pieces of another one, have the same name
        }
        Matcher adapter = ADAPTER.matcher(tensor.name());
        if (isForAdapters(tensor.name()) && adapter.matches()) {
            return Optional.ofNullable(adapter(tensor, adapter.group(2)));
        }
        try {
            return Optional.ofNullable(axes(siblings, parameter, tensor));
        } catch (ArithmeticException e) {
            throw new Uneven("has sizes that do not fit its layer");
        }
    }

    /** Whether a tensor is one value for its layer, such as a scale. A matrix is none: the ranks would add it up several times. */
    static boolean isScalar(TensorInfo tensor) {
        return tensor.shape().stream().allMatch(size -> size == 1)
                && (tensor.shape().size() < 2 || !parameter(tensor.name()).equals("weight"));
    }

    private @Nullable Axes axes(Map<String, TensorInfo> siblings, String parameter, TensorInfo tensor) throws Uneven {
        if (siblings.containsKey("qweight")) {
            return GroupedLayer.of(siblings, naturalGroups).axes(parameter, tensor);
        }
        if (siblings.containsKey("trellis")) {
            return exl3(siblings, parameter, tensor);
        }
        if (siblings.containsKey("weight_packed")) {
            return CompressedLayer.of(siblings).axes(parameter, tensor);
        }
        if (siblings.containsKey("_weight_qdata")) {
            return TorchaoLayer.of(siblings).axes(parameter, tensor);
        }
        return siblings.containsKey("weight") && siblings.containsKey("scales")
                ? mlx(siblings, parameter, tensor)
                : plain(siblings, parameter, tensor);
    }

    private static @Nullable Axes adapter(TensorInfo tensor, String matrix) {
        List<Long> shape = tensor.shape();
        if (shape.size() == 1) {
            return matrix.equals("B") || matrix.equals("magnitude_vector")
                    ? new Axes(Axis.of(0, shape.getFirst()), Axis.NONE)
                    : null;
        }
        return shape.size() != 2 ? null : switch (matrix) {
            case "A" -> new Axes(Axis.NONE, Axis.of(1, shape.get(1)));
            case "B" -> new Axes(Axis.of(0, shape.getFirst()), Axis.NONE);
            // the vocabulary counts as the outputs of an embedding
            case "embedding_A" -> new Axes(Axis.of(1, shape.get(1)), Axis.NONE);
            case "embedding_B" -> Axes.WHOLE;
            default -> null;
        };
    }

    private @Nullable Axes plain(Map<String, TensorInfo> siblings, String parameter, TensorInfo tensor) throws Uneven {
        TensorInfo weight = siblings.get("weight");
        if (weight == null) {
            return bare(siblings, parameter, tensor);
        }
        Axes axes = weight(weight, siblings);
        if (axes == null || parameter.equals("weight")) {
            return axes;
        }
        long outputs = axes.outputs().elements();
        if (parameter.equals(BIAS) || parameter.equals(OUTPUT_SCALES)) {
            return Axes.bias(tensor, outputs);
        }
        if (parameter.equals(INT8_SCALES)) {
            return weight.dtype().equals(DType.I8) ? Axes.bias(tensor, outputs) : null;
        }
        boolean scale = parameter.equals("scale") ? weight.dtype().bits() <= Byte.SIZE : SCALES.contains(parameter);
        return scale ? Axes.scales(tensor, weight, outputs, axes.inputs().elements()) : null;
    }

    private @Nullable Axes weight(TensorInfo weight, Map<String, TensorInfo> siblings) {
        int dimensions = weight.shape().size();
        TensorInfo scale = siblings.get("weight_scale");
        // BitNet packs outputs into bytes, and has one scale; others pack inputs, and have scales for each output
        boolean packedOutputs = weight.dtype().equals(DType.U8) && scale != null && scale.shape().size() < dimensions;
        if (dimensions == 0 || layers.containsKey(weight.name()) || packedOutputs) {
            return null;
        }
        return dimensions <= 2 || dimensions == 3 && STACKED.matcher(layer(weight.name())).matches()
                ? matrices(weight)
                : null;
    }

    /** Returns the axes of a matrix of outputs and inputs, of a stack of them, or of a vector of outputs. */
    private static Axes matrices(TensorInfo tensor) {
        int dimensions = tensor.shape().size();
        int outputs = Math.max(0, dimensions - 2);
        return new Axes(
                Axis.of(outputs, tensor.shape().get(outputs)),
                dimensions == 1 ? Axis.NONE : Axis.of(dimensions - 1, tensor.shape().get(dimensions - 1)));
    }

    /** Returns the axes of a tensor in a layer without {@code weight}. */
    private static @Nullable Axes bare(Map<String, TensorInfo> siblings, String parameter, TensorInfo tensor)
            throws Uneven {
        int dimensions = tensor.shape().size();
        if (BARE.contains(parameter)) {
            return dimensions <= 3 ? matrices(tensor) : null;
        }
        TensorInfo weight = scaled(siblings, parameter);
        int sizes = weight == null ? 0 : weight.shape().size();
        if (weight != null && BARE.contains(parameter(weight.name())) && sizes >= 1 && sizes <= 3) {
            Axes axes = matrices(weight);
            return Axes.scales(tensor, weight, axes.outputs().elements(), axes.inputs().elements());
        }
        boolean ofOutputs = parameter.equals(BIAS) && dimensions == 1
                || OF_HEADS.contains(parameter) && dimensions == 1
                || parameter.endsWith("_bias")
                        && BARE.contains(parameter.substring(0, parameter.length() - "_bias".length()))
                        && dimensions <= 2;
        return ofOutputs
                ? new Axes(Axis.of(dimensions - 1, tensor.shape().get(dimensions - 1)), Axis.NONE)
                : null;
    }

    /** MLX: values of some bits in 32-bit words along the inputs, scales and biases for each group. */
    private static @Nullable Axes mlx(Map<String, TensorInfo> siblings, String parameter, TensorInfo tensor)
            throws Uneven {
        TensorInfo weight = siblings.get("weight");
        TensorInfo scales = siblings.get("scales");
        if (weight == null || scales == null) {
            return null;
        }
        int last = weight.shape().size() - 1;
        boolean matrix = last == 1 || last == 2 && STACKED.matcher(layer(weight.name())).matches();
        if (!weight.dtype().equals(DType.U32)
                || !matrix
                || scales.shape().size() != last + 1
                || !scales.shape().subList(0, last).equals(weight.shape().subList(0, last))) {
            return null;
        }
        long outputs = weight.shape().get(last - 1);
        long bits = Math.multiplyExact(weight.shape().get(last), Integer.SIZE);
        return switch (parameter) {
            case "weight" ->
                new Axes(Axis.of(last - 1, outputs), new Axis(last, bits, Integer.SIZE, 1));
            case "scales", "biases" -> tensor.shape().equals(scales.shape())
                    ? new Axes(Axis.of(last - 1, outputs), Axis.ofGroups(last, scales.shape().get(last), bits))
                    : null;
            case "global_scale" -> Axes.WHOLE;
            case BIAS -> Axes.bias(tensor, outputs);
            default -> null;
        };
    }

    /** EXL3: tiles of 16 by 16 values, which Hadamard transforms mix in blocks of 128 inputs and of 128 outputs. */
    private static @Nullable Axes exl3(Map<String, TensorInfo> siblings, String parameter, TensorInfo tensor) {
        TensorInfo trellis = siblings.get("trellis");
        if (trellis == null || trellis.shape().size() != 3) {
            return null;
        }
        long inputs = Math.multiplyExact(trellis.shape().get(0), 16);
        long outputs = Math.multiplyExact(trellis.shape().get(1), 16);
        boolean vector = tensor.shape().size() == 1;
        long size = tensor.shape().getFirst();
        return switch (parameter) {
            case "trellis" -> new Axes(new Axis(1, outputs, 128, 8), new Axis(0, inputs, 128, 8));
            case "suh" -> vector && size == inputs ? new Axes(Axis.NONE, new Axis(0, inputs, 128, 128)) : null;
            case "svh" -> vector && size == outputs ? new Axes(new Axis(0, outputs, 128, 128), Axis.NONE) : null;
            // a sign for each input or output, 16 in a word
            case "su" -> vector && size * 16 == inputs ? new Axes(Axis.NONE, new Axis(0, inputs, 128, 8)) : null;
            case "sv" -> vector && size * 16 == outputs ? new Axes(new Axis(0, outputs, 128, 8), Axis.NONE) : null;
            case BIAS -> Axes.bias(tensor, outputs);
            default -> null;
        };
    }
}
