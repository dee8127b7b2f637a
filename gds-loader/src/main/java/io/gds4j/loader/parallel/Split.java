package io.gds4j.loader.parallel;

import io.gds4j.error.CuFileException;
import java.io.Serializable;
import java.util.List;

/**
 * A way to divide a tensor among ranks.
 *
 * <p>
 * {@link Column} divides the outputs of a layer and {@link Row} its inputs. Both need a layer whose layout is known:
 *
 * <ul>
 * <li>{@code weight} as {@code [out, in]}, or a stack of them for experts, with {@code bias}
 * <li>weights of 8 and 4 bits with scales for each output, group or block ({@code weight_scale}, {@code weight_scale_inv})
 * <li>GPTQ and AWQ ({@code qweight}), MLX ({@code weight} with {@code scales}), compressed-tensors ({@code weight_packed}), torchao
 * ({@code _weight_qdata}) and EXL3 ({@code trellis})
 * <li>{@code SCB} beside 8-bit weights of bitsandbytes, and adapters of LoRA and DoRA, which have the rule of their layer
 * <li>weights with the name of their layer, such as {@code experts.gate_up_proj}
 * </ul>
 *
 * <p>
 * Scales, zero points and group indices follow the ranges of their weight. If the groups of GPTQ or compressed-tensors follow the
 * activation order, {@link Row} gives all of them to every rank. Tensors of one element, and biases under {@link Row}, go to every
 * rank. Any other tensor is refused; {@link Dimension} divides it.
 *
 * @since 0.1
 */
public sealed interface Split extends Serializable {
    /**
     * A part of a dimension that is divided on its own, such as q, k and v of a fused tensor.
     *
     * @param share size relative to the other parts, 1 or more
     * @param heads number of units that are never cut, such as attention heads. With fewer heads than ranks, several consecutive
     *        ranks receive the same head, except under {@link Row}, which refuses that. 0 if single elements are the units; a plan then looks for the heads of queries, keys and
     *        values ({@link ParallelPlan#withHeads}). {@link #GATHERED} if single elements are the units even of these
     * @param headSize elements of a head, for a check; 0 if unknown. A head may have a multiple of them
     */
    record Part(long share, long heads, long headSize) implements Serializable {

        /** Heads of a tensor whose outputs the ranks gather again, so that a rank may compute a part of a head. */
        public static final long GATHERED = -1;

        /**
         * Creates a part.
         *
         * @throws CuFileException INVALID_VALUE for a value out of range
         */
        public Part {
            if (share < 1 || heads < GATHERED || headSize < 0) {
                throw CuFileException.invalid("Split",
                        "a part has share %s and %s heads of %s elements; allowed are 1 and more, and 0 and more"
                                .formatted(share, heads, headSize));
            }
        }

        /** Creates a part whose heads have any size. */
        public Part(long share, long heads) {
            this(share, heads, 0);
        }
    }

    /** A dimension without parts and heads. */
    List<Part> WHOLE = List.of(new Part(1, 0));

    /** The whole tensor goes to every rank. */
    record Replicate() implements Split {
    }

    /**
     * The outputs of a layer are divided, or the vocabulary of an embedding.
     *
     * @param parts parts that are divided one by one, 1 or more
     * @param roundUp true to give every rank the rounded-up share and the last ones what is left; false refuses an uneven split
     */
    record Column(List<Part> parts, boolean roundUp) implements Split {
        /** Creates a split. */
        public Column {
            parts = checked(parts);
        }
    }

    /**
     * The inputs of a layer are divided. For modules with the name of an embedding it is the vocabulary, as in PyTorch's
     * RowwiseParallel.
     *
     * @param parts parts that are divided one by one, 1 or more
     * @param roundUp as of {@link Column}
     */
    record Row(List<Part> parts, boolean roundUp) implements Split {
        /** Creates a split. */
        public Row {
            parts = checked(parts);
        }
    }

    /**
     * Whole experts go to ranks, in order. A tensor named {@code …experts.N.…} belongs to expert N; other tensors have all experts
     * in one dimension.
     *
     * @param dimension the dimension of the experts in tensors that hold all of them, 0 or more
     * @param roundUp as of {@link Column}
     */
    record Expert(int dimension, boolean roundUp) implements Split {
        /**
         * Creates a split.
         *
         * @throws CuFileException INVALID_VALUE for a negative dimension
         */
        public Expert {
            if (dimension < 0) {
                throw CuFileException.invalid("Split",
                        "the dimension of experts is %s; allowed are 0 and more".formatted(dimension));
            }
        }
    }

    /**
     * One dimension is divided, whatever the tensor is.
     *
     * @param dimension the dimension, 0 or more
     * @param parts parts that are divided one by one, 1 or more
     * @param roundUp as of {@link Column}
     */
    record Dimension(int dimension, List<Part> parts, boolean roundUp) implements Split {
        /**
         * Creates a split.
         *
         * @throws CuFileException INVALID_VALUE for a negative dimension
         */
        public Dimension {
            if (dimension < 0) {
                throw CuFileException.invalid("Split",
                        "the dimension is %s; allowed are 0 and more".formatted(dimension));
            }
            parts = checked(parts);
        }
    }

    /**
     * The whole tensor goes to one rank.
     *
     * @param rank the rank, 0 or more
     */
    record Owner(int rank) implements Split {
        /**
         * Creates a split.
         *
         * @throws CuFileException INVALID_VALUE for a negative rank
         */
        public Owner {
            if (rank < 0) {
                throw CuFileException.invalid("Split", "the owner is rank %s; allowed are 0 and more".formatted(rank));
            }
        }
    }

    /** Returns a split that gives the whole tensor to every rank. */
    static Split replicate() {
        return new Replicate();
    }

    /**
     * Returns an even split of the outputs.
     *
     * @param parts parts that are divided one by one; none for the whole dimension
     */
    static Split column(Part... parts) {
        return new Column(parts.length == 0 ? WHOLE : List.of(parts), false);
    }

    /**
     * Returns an even split of the inputs.
     *
     * @param parts parts that are divided one by one; none for the whole dimension
     */
    static Split row(Part... parts) {
        return new Row(parts.length == 0 ? WHOLE : List.of(parts), false);
    }

    /**
     * Returns an even split of one dimension, for tensors of any layout.
     *
     * @param dimension the dimension, 0 or more
     * @param parts parts that are divided one by one; none for the whole dimension
     */
    static Split dimension(int dimension, Part... parts) {
        return new Dimension(dimension, parts.length == 0 ? WHOLE : List.of(parts), false);
    }

    /** Returns an even split by experts, which stacked tensors have in dimension 0. */
    static Split expert() {
        return new Expert(0, false);
    }

    private static List<Part> checked(List<Part> parts) {
        if (parts.isEmpty()) {
            throw CuFileException.invalid("Split", "a split has no parts; allowed are 1 and more");
        }
        return List.copyOf(parts);
    }
}
