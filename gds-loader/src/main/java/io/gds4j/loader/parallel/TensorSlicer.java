package io.gds4j.loader.parallel;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.DimensionSplit.Range;
import io.gds4j.loader.parallel.DimensionSplit.Uneven;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Computes the slices of tensors. Pure. Knows all tensors of a checkpoint, because scales follow their weights. */
final class TensorSlicer {
    private static final Pattern EXPERT = Pattern.compile("(?:^|.*\\.)experts\\.(\\d{1,9})(?:\\..*|$)");
    private static final Set<String> EMBEDDINGS =
            Set.of("embed_tokens", "wte", "tok_embeddings", "token_embd", "word_embeddings", "embed_in");
    /** Tensors of GPTQ and AWQ, whose dimensions are those of the weight in reverse order. */
    private static final Set<String> TRANSPOSED = Set.of("qweight", "qzeros", "scales", "g_idx");
    private static final List<String> SCALE_SUFFIXES = List.of("_scale_inv", "_scale");

    private final int world;
    private final Map<String, TensorInfo> byName = new HashMap<>();
    /** For the name before the number of an expert, the number of experts. */
    private final Map<String, Long> experts = new HashMap<>();

    TensorSlicer(List<TensorInfo> tensors, int world) {
        this.world = world;
        for (TensorInfo tensor : tensors) {
            byName.put(tensor.name(), tensor);
            Matcher expert = EXPERT.matcher(tensor.name());
            if (expert.matches()) {
                String prefix = tensor.name().substring(0, expert.start(1));
                experts.merge(prefix, Long.parseLong(expert.group(1)) + 1, Math::max);
            }
        }
    }

    /** Returns the weight that a tensor scales; null for a tensor that is no scale. */
    @Nullable
    TensorInfo scaled(TensorInfo tensor) {
        for (String suffix : SCALE_SUFFIXES) {
            if (tensor.name().endsWith(suffix)) {
                String weight = tensor.name().substring(0, tensor.name().length() - suffix.length());
                TensorInfo known = byName.get(weight);
                if (known != null) {
                    return known;
                }
            }
        }
        return null;
    }

    /** Returns a rank's slice; null if the rank keeps nothing of the tensor. */
    @Nullable
    TensorSlice slice(TensorInfo tensor, Split split, int rank) {
        return switch (split) {
            case Split.Replicate all -> whole(tensor, rank);
            case Split.Owner owner -> {
                if (owner.rank() >= world) {
                    throw refused(tensor,
                            "belongs to rank %s; the ranks are 0 to %s".formatted(owner.rank(), world - 1));
                }
                yield owner.rank() == rank ? whole(tensor, rank) : null;
            }
            case Split.Expert expert -> expert(tensor, expert, rank);
            case Split.Column column ->
                divided(tensor, columnDimension(tensor), column.parts(), column.roundUp(), rank);
            case Split.Row row -> {
                int dimension = isEmbedding(tensor.name()) ? columnDimension(tensor) : rowDimension(tensor);
                yield divided(tensor, dimension, row.parts(), row.roundUp(), rank);
            }
        };
    }

    private static String lastComponent(String name) {
        return name.substring(name.lastIndexOf('.') + 1);
    }

    private static boolean isEmbedding(String name) {
        int end = name.lastIndexOf('.');
        return end > 0 && EMBEDDINGS.contains(lastComponent(name.substring(0, end)));
    }

    /** Returns the dimension of the outputs; -1 if the tensor has none. */
    private static int columnDimension(TensorInfo tensor) {
        int dimensions = tensor.shape().size();
        String last = lastComponent(tensor.name());
        if (TRANSPOSED.contains(last)) {
            return last.equals("g_idx") ? -1 : dimensions - 1;
        }
        return dimensions == 1 ? 0 : dimensions - 2;
    }

    /** Returns the dimension of the inputs; -1 if the tensor has none, as a bias. */
    private static int rowDimension(TensorInfo tensor) {
        int dimensions = tensor.shape().size();
        String last = lastComponent(tensor.name());
        if (TRANSPOSED.contains(last)) {
            return last.equals("g_idx") ? 0 : dimensions - 2;
        }
        return dimensions < 2 ? -1 : dimensions - 1;
    }

    private TensorSlice whole(TensorInfo tensor, int rank) {
        List<StridedCopy> copies = tensor.length() == 0
                ? List.of()
                : List.of(new StridedCopy(
                        tensor.fileOffset(), tensor.length(), 1, tensor.length(), 0, tensor.length()));
        return new TensorSlice(tensor, rank, tensor.shape(), tensor.length(), copies);
    }

    private @Nullable TensorSlice expert(TensorInfo tensor, Split.Expert split, int rank) {
        Matcher expert = EXPERT.matcher(tensor.name());
        if (!expert.matches()) {
            if (split.dimension() >= tensor.shape().size()) {
                throw refused(tensor, "has %s dimensions, so dimension %s of the rule does not exist"
                        .formatted(tensor.shape().size(), split.dimension()));
            }
            return divided(tensor, split.dimension(), Split.WHOLE, split.roundUp(), rank);
        }
        long count = experts.get(tensor.name().substring(0, expert.start(1)));
        if (count % world != 0 && !split.roundUp()) {
            throw refused(
                    tensor,
                    "is one of %s experts, which %s ranks do not divide; a rule may round up".formatted(count, world));
        }
        long owner = Long.parseLong(expert.group(1)) / Math.ceilDiv(count, (long) world);
        return owner == rank ? whole(tensor, rank) : null;
    }

    private TensorSlice divided(
            TensorInfo tensor, int dimension, List<Split.Part> parts, boolean roundUp, int rank) {
        boolean single = tensor.length() > 0 && tensor.shape().stream().allMatch(size -> size == 1);
        if (dimension < 0 || tensor.shape().isEmpty() || single || world == 1) {
            return whole(tensor, rank);
        }
        if (tensor.shape().get(dimension) < 0) {
            throw refused(tensor, "has a dimension that exceeds 2^63-1");
        }
        try {
            List<Range> ranges = scaleRanges(tensor, dimension, parts, roundUp, rank);
            if (ranges == null) {
                ranges = DimensionSplit.ranges(tensor.shape().get(dimension), parts, roundUp, world, rank);
            }
            return cut(tensor, dimension, ranges, rank);
        } catch (Uneven e) {
            throw refused(tensor, "%s (dimension %s)".formatted(e.getMessage(), dimension));
        }
    }

    /** Returns the ranges of a scale, which follow from those of its weight; null if the tensor is divided on its own. */
    private @Nullable List<Range> scaleRanges(
            TensorInfo tensor, int dimension, List<Split.Part> parts, boolean roundUp, int rank) throws Uneven {
        TensorInfo weight = scaled(tensor);
        if (weight == null || weight.shape().size() != tensor.shape().size()) {
            return null;
        }
        long elements = weight.shape().get(dimension);
        long blocks = tensor.shape().get(dimension);
        if (blocks == elements || elements <= 0 || blocks <= 0) {
            return null;
        }
        if (blocks == 1) {
            return List.of(new Range(0, 1));
        }
        long least = Math.ceilDiv(elements, blocks);
        long block = least == 1 ? 1 : Long.highestOneBit(least - 1) << 1;
        if (block <= 0 || Math.ceilDiv(elements, block) != blocks) {
            throw new Uneven(
                    "has %s blocks for the %s elements of its weight, which is no block size that is a power of two"
                            .formatted(blocks, elements));
        }
        List<Range> ranges = new ArrayList<>();
        for (Range range : DimensionSplit.ranges(elements, parts, roundUp, world, rank)) {
            boolean ends = range.end() % block == 0 || range.end() == elements;
            if (range.length() > 0 && (range.start() % block != 0 || !ends)) {
                throw new Uneven("has a scale for each block of %s elements, and rank %s would keep elements %s to %s"
                        .formatted(block, rank, range.start(), range.end() - 1));
            }
            long start = Math.min(range.start() / block, blocks);
            ranges.add(new Range(start, range.length() == 0 ? 0 : Math.ceilDiv(range.end(), block) - start));
        }
        return ranges;
    }

    private TensorSlice cut(TensorInfo tensor, int dimension, List<Range> ranges, int rank) throws Uneven {
        List<Long> shape = new ArrayList<>(tensor.shape());
        long size = shape.get(dimension);
        long kept = 0;
        for (Range range : ranges) {
            kept += range.length();
        }
        shape.set(dimension, kept);
        if (kept == size && merged(ranges).size() == 1) {
            return whole(tensor, rank);
        }
        if (tensor.length() == 0 || kept == 0) {
            return new TensorSlice(tensor, rank, shape, 0, List.of());
        }
        long rows = 1;
        for (int i = 0; i < dimension; i++) {
            rows *= shape.get(i);
        }
        long inner = 1;
        for (int i = dimension + 1; i < shape.size(); i++) {
            inner *= shape.get(i);
        }
        long filePitch = rows == 1 ? tensor.length() : bytes(tensor, size * inner);
        long slicePitch = bytes(tensor, kept * inner);
        List<StridedCopy> copies = new ArrayList<>(ranges.size());
        long sliceOffset = 0;
        for (Range range : merged(ranges)) {
            long fileOffset = tensor.fileOffset() + bytes(tensor, range.start() * inner);
            long width = bytes(tensor, range.length() * inner);
            copies.add(copy(fileOffset, width, rows, filePitch, sliceOffset, slicePitch));
            sliceOffset += width;
        }
        return new TensorSlice(tensor, rank, shape, Math.multiplyExact(slicePitch, rows), copies);
    }

    /** Returns the ranges that are not empty; neighbours become one, since their border may cut a block. */
    private static List<Range> merged(List<Range> ranges) {
        List<Range> merged = new ArrayList<>(ranges.size());
        for (Range range : ranges) {
            if (range.length() > 0 && !merged.isEmpty() && merged.getLast().end() == range.start()) {
                Range before = merged.removeLast();
                merged.add(new Range(before.start(), before.length() + range.length()));
            } else if (range.length() > 0) {
                merged.add(range);
            }
        }
        return merged;
    }

    private static StridedCopy copy(
            long fileOffset, long width, long rows, long filePitch, long sliceOffset, long slicePitch) {
        if (rows == 1 || filePitch == width) {
            return new StridedCopy(fileOffset, width * rows, 1, width * rows, sliceOffset, width * rows);
        }
        return new StridedCopy(fileOffset, width, rows, filePitch, sliceOffset, slicePitch);
    }

    private static long bytes(TensorInfo tensor, long elements) throws Uneven {
        DType type = tensor.dtype();
        return type.bytes(elements)
                .orElseThrow(() -> new Uneven("is of type %s, and the split would cut a block of %s elements"
                        .formatted(type, type.blockElements())));
    }

    private static CheckpointException refused(TensorInfo tensor, String why) {
        return CheckpointException.of(
                ParallelPlan.UNEVEN_SPLIT,
                tensor.file(),
                -1,
                tensor.name(),
                "tensor %s %s".formatted(CheckpointException.quote(tensor.name()), why));
    }
}
