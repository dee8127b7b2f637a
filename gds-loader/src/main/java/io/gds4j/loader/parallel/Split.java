package io.gds4j.loader.parallel;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import java.io.Serializable;
import java.util.List;

/**
 * A way to divide a tensor among ranks. Linear layers store their weights as {@code [out, in]}.
 *
 * <p>
 * {@link Column} divides the outputs and {@link Row} the inputs. Tensors of one element, and biases under {@link Row}, go to every
 * rank. Tensors named {@code qweight}, {@code qzeros}, {@code scales} and {@code g_idx} have the transposed layout of GPTQ and AWQ.
 *
 * @since 0.1
 */
public sealed interface Split extends Serializable {
    /**
     * A part of a dimension that is divided on its own, such as q, k and v of a fused tensor.
     *
     * @param share size relative to the other parts, 1 or more
     * @param heads number of units that are never cut, such as attention heads; 0 if single elements are the units. With fewer
     *        heads than ranks, several consecutive ranks receive the same head
     */
    record Part(long share, long heads) implements Serializable {
        /**
         * Creates a part.
         *
         * @throws CuFileException INVALID_VALUE for a value out of range
         */
        public Part {
            if (share < 1 || heads < 0) {
                throw invalid("a part has share %s and %s heads; allowed are 1 and more, and 0 and more"
                        .formatted(share, heads));
            }
        }
    }

    /** A dimension without parts and heads. */
    List<Part> WHOLE = List.of(new Part(1, 0));

    /** The whole tensor goes to every rank. */
    record Replicate() implements Split {
    }

    /**
     * The last dimension but one is divided, or the only one: outputs of a linear layer, the vocabulary of an embedding.
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
     * The last dimension is divided: inputs of a linear layer. For modules with the name of an embedding it is the vocabulary, as
     * in PyTorch's RowwiseParallel.
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
                throw invalid("the dimension of experts is %s; allowed are 0 and more".formatted(dimension));
            }
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
                throw invalid("the owner is rank %s; allowed are 0 and more".formatted(rank));
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

    /** Returns an even split by experts, which stacked tensors have in dimension 0. */
    static Split expert() {
        return new Expert(0, false);
    }

    private static List<Part> checked(List<Part> parts) {
        if (parts.isEmpty()) {
            throw invalid("a split has no parts; allowed are 1 and more");
        }
        return List.copyOf(parts);
    }

    private static CuFileException invalid(String detail) {
        return CuFileException.of(CuFileError.INVALID_VALUE, "Split", detail);
    }
}
