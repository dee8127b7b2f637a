package io.gds4j.loader.parallel;

import io.gds4j.loader.parallel.Split.Part;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** The names of layers whose outputs or inputs are attention heads. */
final class AttentionLayers {
    static final Set<String> QUERY = Set.of("q_proj", "wq", "attn_q");
    static final Set<String> KEY = Set.of("k_proj", "wk", "attn_k");
    static final Set<String> VALUE = Set.of("v_proj", "wv", "attn_v");
    /** Outputs of latent attention, which has as many heads of keys as of queries, of other sizes. */
    private static final Set<String> LATENT = Set.of("q_b_proj", "kv_b_proj", "attn_q_b", "attn_kv_b");
    /** Queries, then keys, then values, whose heads have one size. */
    static final Set<String> FUSED = Set.of("qkv_proj", "attn_qkv");
    /** Query, key and value of each head in turn, if there are as many of each. */
    static final Set<String> INTERLEAVED = Set.of("query_key_value");
    /** Fused in an order that differs between models. */
    private static final Set<String> OTHER = Set.of("qkv", "Wqkv", "c_attn", "W_pack");
    /** Layers whose inputs are the heads of queries. */
    static final Set<String> OUTPUT = Set.of("o_proj", "wo", "attn_output", "out_proj", "dense");
    /** The names of {@link #OUTPUT} that a model also gives to layers outside of attention. */
    static final Set<String> SHARED_OUTPUT = Set.of("out_proj", "dense");
    private static final List<Set<String>> OF_HEADS =
            List.of(QUERY, KEY, VALUE, LATENT, FUSED, INTERLEAVED, OTHER);

    private AttentionLayers() {
    }

    /** Returns the layer of a tensor that has heads, such as {@code k_proj} of {@code k_proj.weight}; empty for any other tensor. */
    static String name(String tensor) {
        String adapted = Layers.adapted(tensor);
        String layer = Layers.parameter(Layers.layer(adapted));
        String own = Layers.parameter(adapted);
        return Stream.of(layer, own).filter(AttentionLayers::hasHeads).findFirst().orElse("");
    }

    private static boolean hasHeads(String layer) {
        return OUTPUT.contains(layer) || OF_HEADS.stream().anyMatch(names -> names.contains(layer));
    }

    /** Returns whether a tensor's outputs are heads, and the parts of its rule do not tell how many. */
    static boolean lackHeads(String tensor, List<Part> parts) {
        String name = name(tensor);
        return !name.isEmpty() && !OUTPUT.contains(name) && parts.stream().anyMatch(part -> part.heads() == 0);
    }

    /** Returns whether a rule may be for outputs that are heads, and does not tell how many. */
    static boolean lackHeads(ParallelRule rule) {
        return rule.split() instanceof Split.Column(List<Part> parts, boolean roundUp)
                && parts.stream().anyMatch(part -> part.heads() == 0)
                && OF_HEADS.stream().flatMap(Set::stream).anyMatch(name -> isFor(rule, name));
    }

    /** Returns whether the last component of a pattern, or the last but one, is for layers of a name. */
    private static boolean isFor(ParallelRule rule, String layer) {
        return new ParallelRule(Layers.parameter(rule.pattern()), Split.replicate()).matches(layer)
                || Layers.parameter(Layers.layer(rule.pattern())).equals(layer);
    }

    /** Returns whether a split divides a layer of heads, and does not tell how many. */
    static boolean lackHeads(Split split, String layer) {
        return switch (split) {
            case Split.Column column ->
                column.parts().equals(Split.WHOLE) && hasHeads(layer) && !OUTPUT.contains(layer);
            case Split.Row row -> row.parts().equals(Split.WHOLE) && OUTPUT.contains(layer);
            default -> false;
        };
    }

    /** Returns whether the outputs of a layer are heads of queries, also among others. */
    static boolean hasQueries(String layer) {
        return hasHeads(layer) && !OUTPUT.contains(layer) && !KEY.contains(layer) && !VALUE.contains(layer);
    }

    /** Returns the heads of queries that a split of their layer tells; 0 for any other layer. */
    static long ofQueries(Split split, String layer) {
        return split instanceof Split.Column(List<Part> parts, boolean roundUp)
                && (QUERY.contains(layer) || FUSED.contains(layer)) ? parts.getFirst().heads() : 0;
    }

    /** Returns the split of a layer with the numbers of heads, which it lacks. */
    static Split withHeads(Split split, String layer, AttentionHeads heads) {
        return switch (split) {
            case Split.Column column ->
                new Split.Column(outputs(layer, heads, column.roundUp()), column.roundUp());
            case Split.Row row ->
                new Split.Row(List.of(new Part(1, queries(heads, row.roundUp()))), row.roundUp());
            default -> split;
        };
    }

    /** Returns the units of queries; 0 if unknown. Uneven shares must not part queries from their keys. */
    private static long queries(AttentionHeads heads, boolean roundUp) {
        boolean grouped = heads.keyValueHeads() == 0 || heads.heads() % heads.keyValueHeads() == 0;
        return roundUp && grouped ? heads.keyValueHeads() : heads.heads();
    }

    private static List<Part> outputs(String layer, AttentionHeads heads, boolean roundUp) {
        long queries = queries(heads, roundUp);
        long keys = heads.keyValueHeads();
        if (FUSED.contains(layer) && keys > 0) {
            Part key = new Part(keys, keys, heads.headSize());
            return List.of(new Part(heads.heads(), queries, heads.headSize()), key, key);
        }
        if (QUERY.contains(layer)) {
            return List.of(new Part(1, queries, heads.headSize()));
        }
        if (KEY.contains(layer)) {
            return List.of(new Part(1, keys, heads.headSize()));
        }
        if (VALUE.contains(layer)) {
            return List.of(new Part(1, keys));
        }
        boolean equal = INTERLEAVED.contains(layer) && heads.heads() == keys;
        return LATENT.contains(layer) || equal ? List.of(new Part(1, heads.heads())) : Split.WHOLE;
    }
}
