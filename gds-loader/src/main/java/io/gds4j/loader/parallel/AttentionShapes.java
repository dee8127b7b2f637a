package io.gds4j.loader.parallel;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.DimensionSplit.Uneven;
import io.gds4j.loader.parallel.Split.Part;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * What the shapes of attention layers say of their heads. The inputs of the output layer are a value for each query head, so they
 * tell the size of a value and with it the number of values and keys. Pure.
 */
final class AttentionShapes {
    /** The layers of one module: separate queries, keys and values, and the names of the layer behind them. */
    private record Names(String queries, String keys, String values, List<String> outputs) {
        boolean has(String layer) {
            return layer.equals(queries) || layer.equals(keys) || layer.equals(values) || outputs.contains(layer);
        }
    }

    private static final List<Names> SEPARATE = List.of(
            new Names("q_proj", "k_proj", "v_proj", List.of("o_proj", "out_proj", "dense")),
            new Names("wq", "wk", "wv", List.of("wo")),
            new Names("attn_q", "attn_k", "attn_v", List.of("attn_output")));
    private static final Names NONE = new Names("", "", "", List.of());
    private static final Map<String, List<String>> FUSED = Map.of(
            "qkv_proj", List.of("o_proj", "dense"),
            "attn_qkv", List.of("attn_output"),
            "query_key_value", List.of("dense", "o_proj"));
    /** Layers of a model with blocks: the fused one and the one behind it. */
    private static final Set<String> IN_BLOCKS = Set.of("qkv_proj", "out_proj");
    /** Types that may hold several inputs in an element. */
    private static final Set<DType> PACKED = Set.of(DType.U8, DType.I8, DType.U32, DType.I32);
    /** Larger sizes are taken as unknown, so that products with numbers of heads fit. */
    private static final long MAX_SIZE = 1L << 40;

    /**
     * Sizes of a module's layers, 0 if unknown.
     *
     * @param hasValues false if the keys are the values, too
     */
    private record Sizes(long queries, long keys, long values, long outputs, boolean hasValues) {
        /** Returns the outputs of the layer that outputs the values. */
        long ofValues() {
            return hasValues ? values : keys;
        }

        boolean tellValues() {
            return outputs > 0 && ofValues() > 0;
        }
    }

    private static final Pattern NUMBER = Pattern.compile("\\d+");
    /** Attention that a layer may have several times, so that a number behind it is not the layer's. */
    private static final Pattern ATTENTION = Pattern.compile(".*(?:attn|attention)");
    /** Layers that predict further tokens, with the heads of the model that they belong to. */
    private static final Pattern NEXT_TOKENS = Pattern.compile("(?:^|\\.)(?:mtp|nextn)");

    /** A layer whose heads are those that are told; a size is 0 if unknown. */
    private record Shape(String name, long outputs, long inputs) {
    }

    private final Layers layers;
    /** The splits of the plan by the names of tensors. */
    private final Map<String, Split> splits;
    private final @Nullable AttentionHeads told;
    /** The layers of the model whose further tokens other layers predict. */
    private final Set<Shape> ofModel = new HashSet<>();
    /** Whether the checkpoint has queries: otherwise keys without them are those of a part of a model, such as an adapter. */
    private boolean hasQueries;
    /** The tower whose heads are told: that of a rule with this number, otherwise the first without rules; null until it is known. */
    private @Nullable String tower;

    /** The first attention of the tower: another one in its layers, such as {@code cross_attn}, may have other heads. */
    private @Nullable Shape first;

    AttentionShapes(Layers layers, Map<String, Split> splits, @Nullable AttentionHeads told) {
        this.layers = layers;
        this.splits = splits;
        this.told = told;
        splits.forEach((tensor, split) -> {
            String name = AttentionLayers.name(tensor);
            String module = module(tensor, name);
            String own = tower(module);
            hasQueries |= AttentionLayers.hasQueries(name);
            if (NEXT_TOKENS.matcher(own).find()) {
                return;
            }
            if (AttentionLayers.lackHeads(split, name)) {
                ofModel.add(shape(module, name));
            } else if (tower == null && told != null && AttentionLayers.ofQueries(split, name) == told.heads()) {
                tower = own; // a rule repeats what is told, which may be of this tower alone
            }
        });
    }

    private static String module(String tensor, String name) {
        String adapted = Layers.adapted(tensor);
        String path = Layers.parameter(adapted).equals(name) ? adapted : Layers.layer(adapted);
        return path.substring(0, Math.max(0, path.length() - name.length()));
    }

    private Shape shape(String module, String name) {
        return new Shape(name, size(module + name, true), size(module + name, false));
    }

    /** Returns layers that are stacked, such as those for text, by what stands before their number; a module without one is a tower. */
    private static String tower(String module) {
        List<String> path = List.of(module.split("\\."));
        for (int i = path.size() - 1; i >= 0; i--) {
            boolean layer = i == 0 || !ATTENTION.matcher(path.get(i - 1)).matches();
            if (layer && NUMBER.matcher(path.get(i)).matches()) {
                return String.join(".", path.subList(0, i)) + ".*";
            }
        }
        return module;
    }

    /** Refuses layers of a second tower: the number of heads is that of one of them, and no shape tells those of another. */
    private void checkTower(String module, String name) throws Uneven {
        String own = tower(module);
        boolean next = NEXT_TOKENS.matcher(own).find() && !ofModel.isEmpty();
        if (tower == null && !next) {
            tower = own;
        }
        if (next ? !ofModel.contains(shape(module, name)) : !own.equals(tower)) {
            throw new Uneven("is of another part of the model than %s, whose heads are known; a rule may tell its heads"
                    .formatted(CheckpointException.quote(tower == null ? "*" : tower)));
        }
        String inLayer = module.substring(Math.clamp(own.length() - 1, 0, module.length()));
        String attention = NUMBER.matcher(inLayer.substring(inLayer.indexOf('.') + 1)).replaceAll("*");
        Shape queries = new Shape(attention, size(module + names(name).queries, true), 0);
        if (queries.outputs == 0 || next) {
            return;
        }
        first = first == null ? queries : first;
        if (!queries.name.equals(first.name) && queries.outputs != first.outputs) {
            throw new Uneven("has %s elements of queries beside it, unlike %s with %s; a rule may tell its heads"
                    .formatted(queries.outputs, CheckpointException.quote(first.name), first.outputs));
        }
    }

    /**
     * Returns the split of a tensor by whole blocks of CodeGen, if it is of such a layer.
     *
     * @param blocks number of blocks, each of queries, values and keys; 0 if the model is not known to have blocks
     * @throws Uneven if the ranks would cut a block or a head
     */
    Split inBlocks(TensorInfo tensor, Split split, int blocks, int world) throws Uneven {
        String name = AttentionLayers.name(tensor.name());
        if (blocks == 0 || !IN_BLOCKS.contains(name) || !AttentionLayers.lackHeads(split, name)) {
            return split;
        }
        long heads = told == null ? blocks : told.heads();
        List<Integer> worlds = IntStream.rangeClosed(1, blocks)
                .filter(ranks -> blocks % ranks == 0 && heads % ranks == 0).boxed().toList();
        if (!worlds.contains(world)) {
            throw new Uneven(
                    "is of a layer with %s blocks of queries, values and keys, which %s ranks would cut; allowed are %s"
                            .formatted(blocks, world, worlds));
        }
        List<Part> parts = List.of(new Part(1, world));
        return split instanceof Split.Row ? new Split.Row(parts, false) : new Split.Column(parts, false);
    }

    /**
     * Returns the split of a tensor with its heads, if the plan, the model or shapes tell them.
     *
     * @throws Uneven if the shapes contradict the numbers
     */
    Split withHeads(TensorInfo tensor, Split split) throws Uneven {
        String name = AttentionLayers.name(tensor.name());
        if (name.isEmpty()) {
            return split;
        }
        String module = module(tensor.name(), name);
        if (name.equals("qkv_proj") && layers.main(module + "out_proj") != null) {
            return split; // CodeGen has blocks of queries, values and keys
        }
        String fused = fused(module, name);
        Split ofQueries = splitOf(module + (fused.isEmpty() ? names(name).queries : fused));
        if (AttentionLayers.SHARED_OUTPUT.contains(name) && !(ofQueries instanceof Split.Column)) {
            return split;
        }
        AttentionHeads heads = told == null ? null : decided(told, module, name, fused);
        if (split instanceof Split.Column) {
            if (name.equals(fused)) {
                checkFused(module + name, split, heads, outputs(module, FUSED.get(name)));
            } else if (AttentionLayers.KEY.contains(name) || AttentionLayers.VALUE.contains(name)) {
                long queries = count(ofQueries, heads == null ? 0 : heads.heads());
                long keys = count(split, heads == null ? 0 : heads.keyValueHeads());
                boolean rounded = own(ofQueries) > 0 && isRoundedUp(ofQueries);
                check(sizes(module, names(name)), queries, keys, rounded, heads == null ? 0 : heads.headSize());
            }
        }
        if (AttentionLayers.OUTPUT.contains(name) && split instanceof Split.Row(List<Part> parts, boolean roundUp)
                && parts.equals(Split.WHOLE) && ofQueries instanceof Split.Column(List<Part> queries, boolean rounded)
                && queries.getFirst().heads() > 0) {
            return new Split.Row(List.of(new Part(1, queries.getFirst().heads())), roundUp);
        }
        if (heads == null || !AttentionLayers.lackHeads(split, name)) {
            return split;
        }
        checkTower(module, name);
        boolean key = AttentionLayers.KEY.contains(name) || AttentionLayers.VALUE.contains(name);
        if (key && hasQueries && size(module + names(name).queries, true) == 0) {
            throw new Uneven("has no %s beside it, unlike other keys and values; a rule may tell its heads"
                    .formatted(CheckpointException.quote(names(name).queries)));
        }
        return AttentionLayers.withHeads(split, name, heads);
    }

    /** Returns the name of the fused layer of a module with this layer; empty if there is none. */
    private String fused(String module, String name) {
        return FUSED.entrySet().stream()
                .filter(layer -> layer.getKey().equals(name)
                        || layer.getValue().contains(name) && layers.main(module + layer.getKey()) != null)
                .map(Map.Entry::getKey).findFirst().orElse("");
    }

    private static Names names(String layer) {
        return SEPARATE.stream().filter(names -> names.has(layer)).findFirst().orElse(NONE);
    }

    /** Returns the heads with those of keys and values that the shapes of a module decide; as they are if they do not. */
    private AttentionHeads decided(AttentionHeads known, String module, String name, String fused) {
        if (known.keyValueHeads() > 0) {
            return fused.isEmpty() ? agreed(known, sizes(module, names(name))) : known;
        }
        long heads = known.heads();
        long found;
        if (!fused.isEmpty()) {
            // keys and values of different sizes cannot be told from more of them, so the size must be told
            long size = known.headSize();
            long others = size(module + fused, true) - heads * size;
            boolean equal = outputs(module, FUSED.get(fused)) == heads * size;
            found = equal ? quotient(others, 2 * size) : 0;
        } else {
            Sizes sizes = sizes(module, names(name));
            boolean plain = sizes.queries == sizes.keys || sizes.queries == heads * known.headSize();
            found = sizes.tellValues() ? quotient(sizes.ofValues() * heads, sizes.outputs)
                    : plain ? quotient(sizes.keys * heads, sizes.queries) : 0;
        }
        return found > 0 && heads % found == 0 ? new AttentionHeads(heads, found, known.headSize()) : known;
    }

    /**
     * Returns the heads with another number of those of keys if all shapes and the told size agree on it: MiMo-V2-Flash has more of them
     * in the layers with a window.
     */
    private static AttentionHeads agreed(AttentionHeads known, Sizes sizes) {
        long heads = known.heads();
        long found = quotient(sizes.keys, known.headSize());
        boolean agree = quotient(sizes.queries, heads) == known.headSize()
                && sizes.tellValues() && found > 0 && heads % found == 0
                && sizes.ofValues() * heads == found * sizes.outputs;
        return agree ? new AttentionHeads(heads, found, known.headSize()) : known;
    }

    private void checkFused(String layer, Split split, @Nullable AttentionHeads heads, long outputs) throws Uneven {
        boolean interleaved = AttentionLayers.INTERLEAVED.contains(Layers.parameter(layer));
        List<Part> parts = ((Split.Column) split).parts();
        boolean own = !parts.equals(Split.WHOLE);
        if (!own && heads != null && heads.keyValueHeads() > 0) {
            Part key = new Part(heads.keyValueHeads(), heads.keyValueHeads());
            parts = List.of(new Part(heads.heads(), heads.heads()), key, key);
        }
        long size = size(layer, true);
        if (parts.size() != 3 || size == 0 || interleaved && parts.getFirst().share() != parts.getLast().share()) {
            return;
        }
        long shares = parts.stream().mapToLong(Part::share).sum();
        if (shares <= 0) {
            return; // more than 2^63-1: its slice will tell
        }
        if (size % shares != 0) {
            throw new Uneven("has %s elements there, which parts with %s shares do not divide".formatted(size, shares));
        }
        List<Long> sizes = parts.stream().map(part -> size / shares * part.share()).toList();
        check(new Sizes(sizes.getFirst(), sizes.get(1), sizes.getLast(), outputs, true),
                parts.getFirst().heads(), parts.getLast().heads(), own && isRoundedUp(split),
                heads == null ? 0 : heads.headSize());
    }

    /**
     * Refuses numbers of heads that do not fit the sizes.
     *
     * @param rounded true if units of queries may be several heads
     */
    private static void check(Sizes sizes, long queries, long keys, boolean rounded, long headSize) throws Uneven {
        if (queries <= 0 || keys <= 0) {
            return;
        }
        long ofQuery = quotient(sizes.queries, queries);
        long ofKey = quotient(sizes.keys, keys);
        boolean tell = !rounded && sizes.tellValues();
        boolean fit = tell && sizes.ofValues() * queries == keys * sizes.outputs;
        if (ofQuery > 0 && ofKey > 0) {
            // with gates there are two values for each query
            boolean gates = ofQuery == 2 * ofKey && (fit || headSize == ofKey);
            if (rounded ? ofQuery % ofKey != 0 : ofQuery != ofKey && !gates) {
                throw contradiction(ofKey, "queries", ofQuery);
            }
        }
        if (tell && !fit) {
            throw contradiction(sizes.ofValues() / keys, "outputs", sizes.outputs / queries);
        }
    }

    private static Uneven contradiction(long size, String other, long otherSize) {
        return new Uneven("would have heads of %s elements, and its %s heads of %s; a rule may tell its heads"
                .formatted(size, other, otherSize));
    }

    /** Returns the heads in force: those of the rule, or else those of the model; 0 if it divides no heads. */
    private static long count(@Nullable Split split, long ofModel) {
        return own(split) == 0 ? ofModel : Math.max(0, own(split));
    }

    /** Returns the heads that a rule tells itself; 0 if it does not, -1 if it divides something else. */
    private static long own(@Nullable Split split) {
        if (!(split instanceof Split.Column(List<Part> parts, boolean roundUp))) {
            return 0;
        }
        return parts.size() == 1 ? parts.getFirst().heads() : -1;
    }

    private static boolean isRoundedUp(@Nullable Split split) {
        return split instanceof Split.Column(List<Part> parts, boolean roundUp) && roundUp;
    }

    private @Nullable Split splitOf(String layer) {
        TensorInfo main = layers.main(layer);
        return main == null ? null : splits.get(main.name());
    }

    private Sizes sizes(String module, Names names) {
        return new Sizes(
                size(module + names.queries, true),
                size(module + names.keys, true),
                size(module + names.values, true),
                outputs(module, names.outputs),
                layers.main(module + names.values) != null || layers.main(module + names.queries) == null);
    }

    private long outputs(String module, @Nullable List<String> names) {
        for (String name : names == null ? List.<String>of() : names) {
            long size = size(module + name, false);
            if (size > 0) {
                return size;
            }
        }
        return 0;
    }

    /** Returns the outputs or the inputs of a layer; 0 if unknown. */
    private long size(String layer, boolean outputs) {
        TensorInfo weight = layers.main(layer);
        TensorInfo main =
                weight == null ? layers.main(layer + (outputs ? Layers.ADAPTER_B : Layers.ADAPTER_A)) : weight;
        if (main == null) {
            return 0;
        }
        boolean packed = PACKED.contains(main.dtype()) && !Layers.parameter(main.name()).equals("qweight");
        if (!outputs && packed) {
            return 0;
        }
        try {
            Axes axes = layers.axes(main).orElse(Axes.WHOLE);
            long size = (outputs ? axes.outputs() : axes.inputs()).elements();
            return size > MAX_SIZE ? 0 : Math.max(0, size);
        } catch (Uneven e) {
            return 0; // its slice will tell
        }
    }

    /** Returns a quotient; 0 unless it is whole. */
    private static long quotient(long dividend, long divisor) {
        return divisor > 0 && dividend % divisor == 0 ? dividend / divisor : 0;
    }
}
