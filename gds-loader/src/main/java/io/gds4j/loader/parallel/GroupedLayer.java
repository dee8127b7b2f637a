package io.gds4j.loader.parallel;

import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.DimensionSplit.Uneven;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A layer of GPTQ or of AWQ, whose weight is {@code qweight}, with scales and zero points for each group of inputs. GPTQ packs
 * inputs into 32-bit words and AWQ outputs; zero points of both are packed along the outputs.
 *
 * @param awq true if words hold outputs
 * @param outputs outputs of the layer
 * @param inputs inputs of the layer
 * @param bits bits of a value
 * @param ordered true if {@code g_idx} gives each input its group, so that a rank may need all of them
 */
record GroupedLayer(boolean awq, long outputs, long inputs, long bits, boolean ordered) {

    /** Fewest inputs of a group; smaller ones show that a file has another arrangement. */
    private static final long MIN_GROUP = 16;
    private static final GroupedLayer UNKNOWN = new GroupedLayer(false, 0, 0, 0, false);

    /** Recognises the arrangement by shapes. */
    static GroupedLayer of(Map<String, TensorInfo> layer, boolean naturalGroups) {
        TensorInfo weight = layer.get("qweight");
        TensorInfo scales = layer.get("scales");
        TensorInfo zeros = layer.get("qzeros");
        TensorInfo order = layer.get("g_idx");
        if (weight == null || scales == null || !isMatrix(weight) || !isMatrix(scales) || !Axes.isWords(weight)) {
            return UNKNOWN;
        }
        if (zeros != null && (!isMatrix(zeros) || !Axes.isWords(zeros))) {
            return UNKNOWN;
        }
        long outputs = scales.shape().get(1);
        List<Long> words = weight.shape();
        if (zeros == null ? !words.get(1).equals(outputs)
                : !zeros.shape().getFirst().equals(scales.shape().getFirst())) {
            return UNKNOWN;
        }
        long bits = zeros == null ? 0 : bits(zeros.shape().get(1), outputs);
        if (zeros != null && bits == 0) {
            return UNKNOWN;
        }
        if (words.get(1) == outputs) {
            long positions = order == null || order.shape().size() != 1 ? 0 : order.shape().getFirst();
            long width = bits == 0 ? bits(words.getFirst(), positions) : bits;
            if (width == 0) {
                return UNKNOWN;
            }
            long inputs = positions > 0 ? positions : words.getFirst() * Integer.SIZE / width;
            long groups = scales.shape().getFirst();
            boolean fits = Math.ceilDiv(inputs * width, Integer.SIZE) == words.getFirst()
                    && (groups == 1 || inputs / groups >= MIN_GROUP);
            return fits
                    ? new GroupedLayer(false, outputs, inputs, width, positions > 0 && !naturalGroups)
                    : UNKNOWN;
        }
        boolean packed = zeros != null && zeros.shape().get(1).equals(words.get(1)) && order == null;
        return packed ? new GroupedLayer(true, outputs, words.getFirst(), bits, false) : UNKNOWN;
    }

    private static boolean isMatrix(TensorInfo tensor) {
        return tensor.shape().size() == 2;
    }

    /** Returns the bits, 1 to 8, of values that fill a number of 32-bit words; 0 if there are none. */
    static long bits(long words, long values) {
        long filled = 0;
        for (long bits = Byte.SIZE; bits >= 1 && values > 0; bits--) {
            if (values * bits == words * Integer.SIZE) {
                return bits;
            }
            filled = Math.ceilDiv(values * bits, Integer.SIZE) == words ? bits : filled;
        }
        return filled;
    }

    @Nullable
    Axes axes(String parameter, TensorInfo tensor) throws Uneven {
        if (outputs == 0) {
            return null;
        }
        return switch (parameter) {
            case "qweight" -> awq
                    ? new Axes(Axis.packed(1, outputs, bits), Axis.of(0, inputs))
                    : new Axes(Axis.of(1, outputs), Axis.packed(0, inputs, bits));
            case "scales" -> new Axes(Axis.of(1, outputs), groups(tensor));
            case "qzeros" -> new Axes(Axis.packed(1, outputs, bits), groups(tensor));
            case "g_idx" -> new Axes(Axis.NONE, Axis.of(0, inputs));
            case "bias" -> Axes.bias(tensor, outputs);
            default -> null;
        };
    }

    private Axis groups(TensorInfo tensor) throws Uneven {
        return ordered ? Axis.NONE : Axis.ofScales(0, tensor.shape().getFirst(), inputs);
    }
}
