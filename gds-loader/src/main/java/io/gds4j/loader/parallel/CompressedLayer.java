package io.gds4j.loader.parallel;

import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.DimensionSplit.Uneven;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A layer of compressed-tensors whose weight is {@code weight_packed}: integers in 32-bit words (w4a16, w8a16), or 4-bit and 6-bit
 * floats in bytes (NVFP4, MXFP4, MXFP6). Inputs are packed; they count in bits here, since shapes do not tell their number.
 */
final class CompressedLayer {
    private final TensorInfo weight;
    private final @Nullable TensorInfo scale;
    private final @Nullable TensorInfo order;
    private final boolean words;
    /** Dimension of the inputs. */
    private final int last;
    private final long outputs;
    private final long inputBits;

    private CompressedLayer(TensorInfo weight, @Nullable TensorInfo scale, @Nullable TensorInfo order) {
        this.weight = weight;
        this.scale = scale;
        this.order = order;
        words = Axes.isWords(weight);
        last = weight.shape().size() - 1;
        outputs = last < 1 ? 0 : weight.shape().get(last - 1);
        inputBits = last < 1 ? 0 : Math.multiplyExact(weight.shape().get(last), weight.dtype().bits());
    }

    static CompressedLayer of(Map<String, TensorInfo> layer) {
        return new CompressedLayer(
                Objects.requireNonNull(layer.get("weight_packed")),
                layer.get("weight_scale"),
                layer.get("weight_g_idx"));
    }

    @Nullable
    Axes axes(String parameter, TensorInfo tensor) throws Uneven {
        boolean known = last == 1 || last == 2;
        if (!known || !words && !weight.dtype().equals(DType.U8)) {
            return null;
        }
        return switch (parameter) {
            case "weight_packed" -> new Axes(Axis.of(last - 1, outputs), packedInputs());
            case "weight_scale" -> scales(tensor);
            case "weight_zero_point" -> zeros(tensor);
            case "weight_g_idx" -> tensor.shape().size() == 1
                    ? new Axes(Axis.NONE, Axis.ofGroups(0, tensor.shape().getFirst(), inputBits))
                    : null;
            case "weight_shape", "weight_global_scale", "input_global_scale" -> Axes.WHOLE;
            case "bias" -> Axes.bias(tensor, outputs);
            default -> null;
        };
    }

    /**
     * Returns the axis of the packed inputs. Values of 3, 5, 6 and 7 bits cross the borders of words, and blocks of 32 of them end
     * at one. Groups end there, too; without groups the blocks of each width that the shape allows stay whole.
     */
    private Axis packedInputs() {
        long size = weight.shape().get(last);
        long step = 1;
        if (words && (order != null || groups() == 1)) {
            for (long bits : List.of(3L, 5L, 7L)) {
                step *= size % bits == 0 ? bits : 1;
            }
            step *= size % 6 == 0 ? 2 : 1;
        }
        return new Axis(last, inputBits, step * weight.dtype().bits(), step);
    }

    private long groups() {
        return scale == null || scale.shape().size() <= last ? 1 : scale.shape().get(last);
    }

    private @Nullable Axes scales(TensorInfo tensor) throws Uneven {
        if (tensor.shape().size() == 1) {
            return tensor.shape().getFirst() == outputs ? new Axes(Axis.of(0, outputs), Axis.NONE) : null;
        }
        if (tensor.shape().size() != last + 1) {
            return null;
        }
        return new Axes(
                Axis.ofOutputScales(last - 1, tensor.shape().get(last - 1), outputs),
                inputGroups(tensor.shape().get(last)));
    }

    private Axis inputGroups(long groups) throws Uneven {
        boolean whole = order != null || words && groups == 1;
        return whole ? Axis.NONE : Axis.ofGroups(last, groups, inputBits);
    }

    /** Zero points have the shape of the scales, or their outputs are packed, too. */
    private @Nullable Axes zeros(TensorInfo tensor) throws Uneven {
        if (scale == null || tensor.shape().equals(scale.shape())) {
            return scales(tensor);
        }
        if (tensor.shape().size() != last + 1 || !Axes.isWords(tensor)) {
            return null;
        }
        long bits = GroupedLayer.bits(tensor.shape().get(last - 1), outputs);
        return bits == 0
                ? null
                : new Axes(Axis.packed(last - 1, outputs, bits), inputGroups(tensor.shape().get(last)));
    }
}
