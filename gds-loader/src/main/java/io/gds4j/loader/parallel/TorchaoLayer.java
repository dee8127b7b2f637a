package io.gds4j.loader.parallel;

import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.DimensionSplit.Uneven;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A layer of torchao whose weight is {@code _weight_qdata}: 8-bit values, or 4-bit values that are packed along the inputs. Scales
 * are in the order of the weight, except those of 4-bit integers, whose groups come before their outputs.
 */
final class TorchaoLayer {
    private final TensorInfo weight;
    private final List<Long> scales;
    private final boolean zeros;
    /** Dimension of the inputs. */
    private final int last;
    private final long outputs;

    private TorchaoLayer(TensorInfo weight, @Nullable TensorInfo scale, boolean zeros) {
        this.weight = weight;
        this.scales = scale == null ? List.of() : scale.shape();
        this.zeros = zeros;
        last = weight.shape().size() - 1;
        outputs = last < 1 ? 0 : weight.shape().get(last - 1);
    }

    static TorchaoLayer of(Map<String, TensorInfo> layer) {
        return new TorchaoLayer(
                Objects.requireNonNull(layer.get("_weight_qdata")),
                layer.get("_weight_scale"),
                layer.containsKey("_weight_zero_point"));
    }

    @Nullable
    Axes axes(String parameter, TensorInfo tensor) throws Uneven {
        boolean known = last == 1 || last == 2;
        // tiles have four dimensions; scales in any other order cannot be told apart from their shape
        if (!known || isTransposed() && scales.get(last - 1) == outputs) {
            return null;
        }
        return switch (parameter) {
            case "_weight_qdata" -> new Axes(
                    Axis.of(last - 1, outputs),
                    isPacked() ? Axis.ofGroups(last, weight.shape().get(last), inputs()) : Axis.of(last, inputs()));
            case "_weight_scale" -> scales(tensor);
            case "_weight_zero_point" -> tensor.shape().equals(scales) ? scales(tensor) : null;
            case "_weight_act_pre_scale" -> ofInputs(tensor);
            case "bias" -> Axes.bias(tensor, outputs);
            default -> null;
        };
    }

    /** Returns the axes of a vector with a value for each input. */
    private @Nullable Axes ofInputs(TensorInfo tensor) throws Uneven {
        int dimension = tensor.shape().size() - 1;
        long size = tensor.shape().get(dimension);
        boolean vector = tensor.shape().subList(0, dimension).stream().allMatch(other -> other == 1);
        return vector && (isPacked() ? size * 4 == inputs() : size == inputs())
                ? new Axes(Axis.NONE, Axis.ofGroups(dimension, size, inputs()))
                : null;
    }

    /** Returns whether the groups of the scales come before their outputs. */
    private boolean isTransposed() {
        return zeros && scales.size() == last + 1 && scales.get(last) == outputs;
    }

    /** Returns whether the weight holds several values in an element: then inputs count in bits. */
    private boolean isPacked() {
        return isTransposed() || weight.dtype().equals(DType.U8) || Axes.isWords(weight);
    }

    private long inputs() {
        long size = weight.shape().get(last);
        return isPacked() ? Math.multiplyExact(size, weight.dtype().bits()) : size;
    }

    private @Nullable Axes scales(TensorInfo tensor) throws Uneven {
        if (tensor.shape().size() != last + 1 || !isPacked()) {
            return Axes.scales(tensor, weight, outputs, inputs());
        }
        int groups = isTransposed() ? last - 1 : last;
        int channels = isTransposed() ? last : last - 1;
        long count = tensor.shape().get(groups);
        boolean single = isTransposed() && count == 1;
        return new Axes(
                Axis.ofOutputScales(channels, tensor.shape().get(channels), outputs),
                single ? Axis.NONE : Axis.ofGroups(groups, count, inputs()));
    }
}
