package io.gds4j.loader.parallel;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.DimensionSplit.Uneven;
import io.gds4j.loader.parallel.Split.Part;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
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
            "qkv_proj", List.of("o_proj"),
            "attn_qkv", List.of("attn_output"),
            "query_key_value", List.of("dense"));
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

    /** Names of towers end before the number of a layer. */
    private static final Pattern NUMBER = Pattern.compile("\\.\\d+\\.");
    /** Most towers, and most sizes of heads of each, that are compared: a hostile file may have many. */
    private static final int MAX_TOWERS = 16;

    /**
     * Layers that are stacked, such as those for text, and those for images.
     *
     * @param inputs of the first layer's queries; 0 if unknown
     * @param headSizes if the number of heads that the model tells is theirs
     */
    private record Tower(long inputs, Set<Long> headSizes) {
    }

    private final Layers layers;
    /** The splits of the plan by the names of tensors. */
    private final Map<String, Split> splits;
    private final @Nullable AttentionHeads told;
    private final int world;
    private final Map<String, Tower> towers = new LinkedHashMap<>();

    AttentionShapes(Layers layers, Map<String, Split> splits, @Nullable AttentionHeads told, int world) {
        this.layers = layers;
        this.splits = splits;
        this.told = told;
        this.world = world;
        if (told != null) {
            splits.keySet().forEach(tensor -> addToTower(tensor, told));
        }
    }

    private void addToTower(String tensor, AttentionHeads model) {
        String layer = Layers.layer(tensor);
        long outputs = queries(tensor, layer, model);
        if (outputs > 0 && (towers.size() < MAX_TOWERS || towers.containsKey(tower(layer)))) {
            Tower tower = towers.computeIfAbsent(tower(layer), name -> new Tower(size(layer, false), new TreeSet<>()));
            if (tower.headSizes.size() < MAX_TOWERS) {
                tower.headSizes.add(outputs / model.heads());
            }
        }
    }

    private static String tower(String layer) {
        return NUMBER.split(layer, 2)[0];
    }

    /** Returns the outputs of a layer of queries whose heads are those that the model tells; 0 for any other tensor. */
    private long queries(String tensor, String layer, AttentionHeads model) {
        String name = Layers.parameter(layer);
        TensorInfo main = layers.main(layer);
        if (main == null || !main.name().equals(tensor)
                || !(splits.get(tensor) instanceof Split.Column column) || !column.parts().equals(Split.WHOLE)) {
            return 0;
        }
        long outputs = 0;
        if (AttentionLayers.QUERY.contains(name)) {
            outputs = size(layer, true);
        } else if (AttentionLayers.FUSED.contains(name) && model.keyValueHeads() > 0) {
            outputs = quotient(size(layer, true), model.heads() + 2 * model.keyValueHeads()) * model.heads();
        }
        return outputs % model.heads() == 0 ? outputs : 0;
    }

    /**
     * Refuses a number of heads that gives two towers heads of other sizes, since it is the number of one of them. It does not matter
     * if the ranks have whole heads of both sizes.
     */
    private void checkTowers(String tensor, AttentionHeads model) throws Uneven {
        String layer = Layers.layer(tensor);
        long outputs = queries(tensor, layer, model);
        if (outputs == 0 || towers.size() < 2) {
            return;
        }
        long inputs = size(layer, false);
        Tower own = towers.getOrDefault(tower(layer), new Tower(inputs, Set.of(outputs / model.heads())));
        long share = outputs / Math.min(world, model.heads());
        for (Map.Entry<String, Tower> other : towers.entrySet()) {
            Tower tower = other.getValue();
            // layers that predict further tokens have the inputs and the heads of some layers of the model
            boolean alike =
                    inputs > 0 && inputs == tower.inputs && !Collections.disjoint(own.headSizes, tower.headSizes);
            boolean another = !other.getKey().equals(tower(layer)) && !alike;
            if (another && tower.headSizes.stream().noneMatch(size -> share % size == 0)) {
                throw new Uneven("would have heads of %s elements, and %s has heads of %s; a rule may tell its heads"
                        .formatted(outputs / model.heads(), CheckpointException.quote(other.getKey()),
                                tower.headSizes.iterator().next()));
            }
        }
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
        String adapted = Layers.adapted(tensor.name());
        String path = Layers.parameter(adapted).equals(name) ? adapted : Layers.layer(adapted);
        String module = path.substring(0, path.length() - name.length());
        if (name.equals("qkv_proj") && layers.main(module + "out_proj") != null) {
            return split; // CodeGen has blocks of queries, values and keys
        }
        String fused = fused(module, name);
        Split ofQueries = splitOf(module + (fused.isEmpty() ? names(name).queries : fused));
        if (AttentionLayers.SHARED_OUTPUT.contains(name) && !(ofQueries instanceof Split.Column)) {
            return split;
        }
        if (told != null) {
            checkTowers(tensor.name(), told);
        }
        AttentionHeads heads = told == null || told.keyValueHeads() > 0 ? told : decided(told, module, name, fused);
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
        return heads == null ? split : AttentionLayers.withHeads(split, name, heads);
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
        long heads = known.heads();
        long found;
        if (!fused.isEmpty()) {
            // keys and values of different sizes cannot be told from more of them, so the size must be told
            long size = known.headSize();
            long others = size(module + fused, true) - heads * size;
            boolean equal = size > 0 && outputs(module, FUSED.get(fused)) == heads * size;
            found = equal ? quotient(others, 2 * size) : 0;
        } else {
            Sizes sizes = sizes(module, names(name));
            boolean plain = sizes.queries == sizes.keys || sizes.queries == heads * known.headSize();
            found = sizes.tellValues() ? quotient(sizes.ofValues() * heads, sizes.outputs)
                    : plain ? quotient(sizes.keys * heads, sizes.queries) : 0;
        }
        return found > 0 && heads % found == 0 ? new AttentionHeads(heads, found, known.headSize()) : known;
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
            Layers.Axes axes = layers.axes(main).orElse(Layers.Axes.WHOLE);
            long size = (outputs ? axes.outputs() : axes.inputs()).elements();
            return size < 0 || size > MAX_SIZE ? 0 : size;
        } catch (Uneven e) {
            return 0; // its slice will tell
        }
    }

    /** Returns a quotient; 0 unless it is whole. */
    private static long quotient(long dividend, long divisor) {
        return divisor > 0 && dividend % divisor == 0 ? dividend / divisor : 0;
    }
}
