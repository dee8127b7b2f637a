package io.gds4j.loader.parallel;

import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.DimensionSplit.Uneven;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Where the outputs and the inputs of a layer lie in one of its tensors. */
record Axes(Axis outputs, Axis inputs) {
    /** Of a tensor that every rank keeps as it is. */
    static final Axes WHOLE = new Axes(Axis.NONE, Axis.NONE);

    private static final Set<DType> PACKED_WORDS = Set.of(DType.I32, DType.U32);

    /** Returns the axes of a bias; null if it does not have a value for each output. */
    static @Nullable Axes bias(TensorInfo tensor, long outputs) {
        int last = tensor.shape().size() - 1;
        return last <= 1 && tensor.shape().get(last) == outputs
                ? new Axes(Axis.of(last, outputs), Axis.NONE)
                : null;
    }

    /**
     * Returns the axes of scales of one weight.
     *
     * @param inputs inputs of the weight; 0 if the scales must be those of outputs
     */
    static @Nullable Axes scales(TensorInfo tensor, TensorInfo weight, long outputs, long inputs) throws Uneven {
        int dimensions = tensor.shape().size();
        if (dimensions == 1) {
            return tensor.shape().getFirst() == outputs ? new Axes(Axis.of(0, outputs), Axis.NONE) : null;
        }
        if (dimensions != weight.shape().size()) {
            return null;
        }
        int last = dimensions - 1;
        return new Axes(
                Axis.ofOutputScales(last - 1, tensor.shape().get(last - 1), outputs),
                Axis.ofScales(last, tensor.shape().get(last), inputs));
    }

    /** Returns whether a type holds packed values in 32-bit words. */
    static boolean isWords(TensorInfo tensor) {
        return PACKED_WORDS.contains(tensor.dtype());
    }
}
