package io.gds4j.loader.parallel;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.DimensionSplit.Range;
import io.gds4j.loader.parallel.DimensionSplit.Uneven;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Computes the slices of tensors. Pure. Knows all tensors of a checkpoint, because scales follow their weights. */
final class TensorSlicer {
    /** The rule of {@link ParallelPlan#UNEVEN_SPLIT}. */
    static final CheckpointRule UNEVEN_SPLIT = new CheckpointRule("UnevenSplit", "cannot be divided");

    private static final Pattern EXPERT = Pattern.compile("(?:^|.*\\.)experts\\.(\\d{1,9})(?:\\..*|$)");
    private static final Set<String> EMBEDDINGS =
            Set.of("embed_tokens", "wte", "tok_embeddings", "token_embd", "word_embeddings", "embed_in");

    private final int world;
    private final Layers layers;
    /** For the name before the number of an expert, the number of experts. */
    private final Map<String, Long> experts = new HashMap<>();

    TensorSlicer(Map<String, TensorInfo> tensors, boolean naturalGroups, int world) {
        this.world = world;
        layers = new Layers(tensors, naturalGroups);
        for (String name : tensors.keySet()) {
            Matcher expert = EXPERT.matcher(name);
            if (expert.matches()) {
                String prefix = name.substring(0, expert.start(1));
                experts.merge(prefix, Long.parseLong(expert.group(1)) + 1, Math::max);
            }
        }
    }

    /** Returns the name of the weight whose rule decides about a tensor; null if its own does. */
    @Nullable
    String weight(WholeTensor tensor) {
        return layers.weight(tensor.info());
    }

    /** Returns a rank's slice; null if the rank keeps nothing of the tensor. */
    @Nullable
    TensorSlice slice(WholeTensor tensor, Split split, int rank) {
        TensorInfo stored = tensor.stored();
        try {
            return switch (split) {
                case Split.Replicate all -> TensorSlice.whole(stored, rank);
                case Split.Owner owner -> {
                    if (owner.rank() >= world) {
                        throw new Uneven(
                                "belongs to rank %s; the ranks are 0 to %s".formatted(owner.rank(), world - 1));
                    }
                    yield owner.rank() == rank ? TensorSlice.whole(stored, rank) : null;
                }
                case Split.Expert expert -> expert(tensor, expert, rank);
                case Split.Dimension dimension ->
                    dimension(tensor, dimension.dimension(), dimension.parts(), dimension.roundUp(), rank);
                case Split.Column column -> role(tensor, true, column.parts(), column.roundUp(), rank);
                case Split.Row row -> role(tensor, isEmbedding(tensor.name()), row.parts(), row.roundUp(), rank);
            };
        } catch (Uneven e) {
            throw refused(stored, e);
        }
    }

    /**
     * Returns the splits of tensors with the heads of attention layers.
     *
     * @param told heads that the plan or the model tells; null if neither does
     * @param blocks blocks of fused queries, values and keys; 0 if the model is not known to have blocks
     */
    List<Split> withHeads(
            List<WholeTensor> tensors, List<Split> splits, @Nullable AttentionHeads told, int blocks) {
        Map<String, Split> byName = LinkedHashMap.newLinkedHashMap(tensors.size());
        for (int i = 0; i < tensors.size(); i++) {
            byName.put(tensors.get(i).name(), splits.get(i));
        }
        AttentionShapes shapes = new AttentionShapes(layers, byName, told);
        List<Split> withHeads = new ArrayList<>(splits.size());
        for (int i = 0; i < tensors.size(); i++) {
            try {
                TensorInfo tensor = tensors.get(i).info();
                Split inBlocks = shapes.inBlocks(tensor, splits.get(i), blocks, world);
                withHeads.add(shapes.withHeads(tensor, inBlocks));
            } catch (Uneven e) {
                throw refused(tensors.get(i).stored(), e);
            }
        }
        return withHeads;
    }

    private static CheckpointException refused(TensorInfo stored, Uneven e) {
        return CheckpointException.of(
                UNEVEN_SPLIT,
                stored.file(),
                -1,
                stored.name(),
                "tensor %s %s".formatted(CheckpointException.quote(stored.name()), e.getMessage()));
    }

    private static boolean isEmbedding(String name) {
        return EMBEDDINGS.contains(Layers.parameter(Layers.layer(Layers.adapted(name))));
    }

    private @Nullable TensorSlice expert(WholeTensor tensor, Split.Expert split, int rank) throws Uneven {
        Matcher expert = EXPERT.matcher(tensor.name());
        if (!expert.matches()) {
            if (Layers.isForAdapters(tensor.name()) && tensor.info().shape().size() < 3) {
                throw new Uneven("is an adapter of all experts, which are in no dimension of their own");
            }
            return dimension(tensor, split.dimension(), Split.WHOLE, split.roundUp(), rank);
        }
        long count = experts.get(tensor.name().substring(0, expert.start(1)));
        if (count % world != 0 && !split.roundUp()) {
            throw new Uneven(
                    "is one of %s experts, which %s ranks do not divide; a rule may round up".formatted(count, world));
        }
        long owner = Long.parseLong(expert.group(1)) / Math.ceilDiv(count, (long) world);
        return owner == rank ? TensorSlice.whole(tensor.stored(), rank) : null;
    }

    private @Nullable TensorSlice dimension(
            WholeTensor tensor, int dimension, List<Split.Part> parts, boolean roundUp, int rank) throws Uneven {
        List<Long> shape = tensor.info().shape();
        if (dimension >= shape.size()) {
            throw new Uneven("has %s dimensions, so dimension %s of the rule does not exist"
                    .formatted(shape.size(), dimension));
        }
        return divided(tensor, Axis.of(dimension, shape.get(dimension)), parts, roundUp, rank);
    }

    /** Divides the outputs or the inputs of a layer. */
    private @Nullable TensorSlice role(
            WholeTensor tensor, boolean outputs, List<Split.Part> parts, boolean roundUp, int rank) throws Uneven {
        if (world == 1) {
            return TensorSlice.whole(tensor.stored(), rank);
        }
        Axes axes = layers.axes(tensor.info()).orElse(null);
        boolean vector = tensor.info().shape().size() == 1
                && Layers.parameter(tensor.name()).equals("weight")
                && !Layers.isForAdapters(tensor.name());
        if (axes == null || !outputs && vector && axes != Axes.WHOLE) {
            throw new Uneven("%s; a rule for it may name the dimension to divide, or replicate it".formatted(
                    axes == null ? "is in no layout that is known" : "has one dimension, and no inputs"));
        }
        Axis axis = outputs ? axes.outputs() : axes.inputs();
        if (outputs && axis.dimension() >= 0 && AttentionLayers.lackHeads(tensor.name(), parts)) {
            throw new Uneven("is of an attention layer, and the number of its heads is unknown; give --heads"
                    + " QUERY,KEY_VALUE, a config.json, or heads in its rule, with parts if it is fused");
        }
        for (Split.Part part : parts) {
            if (!outputs && axis.dimension() >= 0 && part.heads() > 0 && part.heads() < world) {
                // the sum over the ranks would have the same inputs several times
                throw new Uneven("has %s heads, fewer than the %s ranks that add up their products"
                        .formatted(part.heads(), world));
            }
        }
        return divided(tensor, axis, parts, roundUp, rank);
    }

    private @Nullable TensorSlice divided(
            WholeTensor tensor, Axis axis, List<Split.Part> parts, boolean roundUp, int rank) throws Uneven {
        List<Long> shape = tensor.info().shape();
        int dimension = axis.dimension();
        if (dimension < 0 || Layers.isScalar(tensor.info()) || world == 1) {
            return TensorSlice.whole(tensor.stored(), rank);
        }
        if (shape.get(dimension) < 0) {
            throw new Uneven("has a dimension that exceeds 2^63-1");
        }
        try {
            List<Range> ranges = axis.indices(
                    DimensionSplit.ranges(axis.elements(), parts, roundUp, world, rank), shape.get(dimension), rank);
            return tensor.isPiece() ? cutPiece(tensor, dimension, ranges, rank)
                    : cut(tensor.stored(), dimension, ranges, rank);
        } catch (Uneven e) {
            throw new Uneven("%s (dimension %s)".formatted(e.getMessage(), dimension));
        }
    }

    /** Returns what a piece has of a rank's share of the whole; null for nothing. */
    private static @Nullable TensorSlice cutPiece(WholeTensor piece, int dimension, List<Range> ranges, int rank)
            throws Uneven {
        long begin = piece.begin().get(dimension);
        long size = piece.stored().shape().get(dimension);
        List<Range> within = new ArrayList<>(ranges.size());
        for (Range range : ranges) {
            long start = Math.clamp(range.start() - begin, 0, size);
            long end = Math.clamp(range.end() - begin, 0, size);
            if (end > start) {
                within.add(new Range(start, end - start));
            }
        }
        return within.isEmpty() ? null : cut(piece.stored(), dimension, within, rank);
    }

    private static TensorSlice cut(TensorInfo tensor, int dimension, List<Range> ranges, int rank) throws Uneven {
        List<Long> shape = new ArrayList<>(tensor.shape());
        long size = shape.get(dimension);
        long kept = 0;
        for (Range range : ranges) {
            kept += range.length();
        }
        shape.set(dimension, kept);
        List<Range> joined = merged(ranges);
        if (kept == size && joined.size() == 1) {
            return TensorSlice.whole(tensor, rank);
        }
        if (tensor.length() == 0 || kept == 0) {
            return new TensorSlice(tensor, rank, shape, 0, List.of());
        }
        if (!tensor.isInOnePlace()) {
            return TensorSlice.of(tensor, rank, shape, BoxCopies.cut(tensor, dimension, joined, shape));
        }
        long rows = 1;
        long inner = 1;
        boolean outside = true;
        for (int i : tensor.order().dimensions()) {
            if (i == dimension) {
                outside = false;
            } else if (outside) {
                rows *= shape.get(i);
            } else {
                inner *= shape.get(i);
            }
        }
        long slicePitch = BoxCopies.bytes(tensor, kept * inner);
        List<StridedCopy> copies = new ArrayList<>(joined.size());
        long sliceOffset = 0;
        for (Range range : joined) {
            long fileOffset = tensor.fileOffset() + BoxCopies.bytes(tensor, range.start() * inner);
            long width = BoxCopies.bytes(tensor, range.length() * inner);
            copies.add(rows == 1 ? new StridedCopy(fileOffset, width, 1, width, sliceOffset, width)
                    : new StridedCopy(fileOffset, width, rows, BoxCopies.bytes(tensor, size * inner), sliceOffset,
                            slicePitch));
            sliceOffset += width;
        }
        return new TensorSlice(tensor, rank, shape, Math.multiplyExact(slicePitch, rows), copies);
    }

    /** Returns the ranges that are not empty; neighbours become one, since their border may cut a block. */
    private static List<Range> merged(List<Range> ranges) {
        List<Range> merged = new ArrayList<>(ranges.size());
        for (Range range : ranges) {
            if (!merged.isEmpty() && merged.getLast().end() == range.start()) {
                Range before = merged.removeLast();
                merged.add(new Range(before.start(), before.length() + range.length()));
            } else if (range.length() > 0) {
                merged.add(range);
            }
        }
        return merged;
    }
}
