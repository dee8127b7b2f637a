package io.gds4j.loader.parallel;

import io.gds4j.loader.parallel.Split.Part;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** The names of layers whose outputs or inputs are attention heads. */
final class AttentionLayers {
    private static final Set<String> QUERY = Set.of("q_proj", "wq", "attn_q");
    private static final Set<String> KEY = Set.of("k_proj", "wk", "attn_k");
    private static final Set<String> VALUE = Set.of("v_proj", "wv", "attn_v");
    /** Outputs of latent attention, which has as many heads of keys as of queries, of other sizes. */
    private static final Set<String> LATENT = Set.of("q_b_proj", "kv_b_proj", "attn_q_b", "attn_kv_b");
    /** Queries, then keys, then values. */
    private static final Set<String> FUSED = Set.of("qkv_proj", "attn_qkv");
    /** Query, key and value of each head in turn, if there are as many of each. */
    private static final Set<String> INTERLEAVED = Set.of("query_key_value");
    /** Fused in an order that differs between models. */
    private static final Set<String> OTHER = Set.of("qkv", "Wqkv", "c_attn", "W_pack");
    /** Layers whose inputs are the heads of queries. */
    private static final Set<String> OUTPUT = Set.of("o_proj", "wo", "attn_output");
    private static final List<Set<String>> OF_HEADS =
            List.of(QUERY, KEY, VALUE, LATENT, FUSED, INTERLEAVED, OTHER);

    private AttentionLayers() {
    }

    /** Returns whether a tensor's outputs are heads, and the parts of its rule do not tell how many. */
    static boolean lackHeads(String tensor, List<Part> parts) {
        return parts.stream().anyMatch(part -> part.heads() == 0)
                && (isOfHeads(Layers.parameter(Layers.layer(tensor))) || isOfHeads(Layers.parameter(tensor)));
    }

    /** Returns the name of the tensor with the queries for keys; empty for a tensor of another layer. */
    static Optional<String> queries(String keys) {
        String layer = Layers.layer(keys);
        String name = Layers.parameter(layer);
        return KEY.contains(name)
                ? Optional.of(layer.substring(0, layer.length() - name.length())
                        + name.replace('k', 'q')
                        + keys.substring(layer.length()))
                : Optional.empty();
    }

    private static boolean isOfHeads(String layer) {
        return OF_HEADS.stream().anyMatch(names -> names.contains(layer));
    }

    /** Returns whether a rule may be for outputs that are heads, and does not tell how many. */
    static boolean lackHeads(ParallelRule rule) {
        return rule.split() instanceof Split.Column(List<Part> parts, boolean roundUp)
                && parts.stream().anyMatch(part -> part.heads() == 0)
                && OF_HEADS.stream().flatMap(Set::stream).anyMatch(name -> isFor(rule, name));
    }

    /** Returns whether the last component of a pattern, or the last but one, is for layers of a name. */
    private static boolean isFor(ParallelRule rule, String layer) {
        return glob(Layers.parameter(rule.pattern())).matches(layer)
                || Layers.parameter(Layers.layer(rule.pattern())).equals(layer);
    }

    private static ParallelRule glob(String component) {
        return new ParallelRule(component, Split.replicate());
    }

    /**
     * Returns a rule with the numbers of heads, if it is for heads and does not have them. A pattern for layers of several names
     * becomes a rule for each kind of attention layer and the rule itself.
     */
    static List<ParallelRule> withHeads(ParallelRule rule, AttentionHeads heads) {
        String own = Layers.parameter(rule.pattern());
        if (own.indexOf('*') < 0) {
            boolean layer = isOfHeads(own) || OUTPUT.contains(own);
            String name = layer ? own : Layers.parameter(Layers.layer(rule.pattern()));
            return List.of(new ParallelRule(rule.pattern(), withHeads(rule.split(), name, heads), rule.optional()));
        }
        List<ParallelRule> rules = new ArrayList<>();
        String before = rule.pattern().substring(0, rule.pattern().length() - own.length());
        Stream.concat(OF_HEADS.stream(), Stream.of(OUTPUT)).flatMap(Set::stream).sorted().forEach(name -> {
            Split split = withHeads(rule.split(), name, heads);
            if (!split.equals(rule.split()) && glob(own).matches(name)) {
                rules.add(new ParallelRule(before + name, split, true));
            }
        });
        rules.add(rule);
        return rules;
    }

    private static Split withHeads(Split split, String layer, AttentionHeads heads) {
        return switch (split) {
            case Split.Column column when column.parts().equals(Split.WHOLE) ->
                new Split.Column(outputs(layer, heads, column.roundUp()), column.roundUp());
            case Split.Row row when row.parts().equals(Split.WHOLE) && OUTPUT.contains(layer) ->
                new Split.Row(List.of(new Part(1, queries(heads, row.roundUp()))), row.roundUp());
            default -> split;
        };
    }

    /** Returns the units of queries. Uneven shares must not part queries from their keys. */
    private static long queries(AttentionHeads heads, boolean roundUp) {
        return roundUp && heads.heads() % heads.keyValueHeads() == 0 ? heads.keyValueHeads() : heads.heads();
    }

    private static List<Part> outputs(String layer, AttentionHeads heads, boolean roundUp) {
        long queries = queries(heads, roundUp);
        Part query = new Part(heads.heads(), queries, heads.headSize());
        Part key = new Part(heads.keyValueHeads(), heads.keyValueHeads(), heads.headSize());
        if (FUSED.contains(layer)) {
            return List.of(query, key, key);
        }
        if (QUERY.contains(layer)) {
            return List.of(new Part(1, queries, heads.headSize()));
        }
        if (KEY.contains(layer)) {
            return List.of(new Part(1, heads.keyValueHeads(), heads.headSize()));
        }
        if (VALUE.contains(layer)) {
            return List.of(new Part(1, heads.keyValueHeads()));
        }
        boolean equal = INTERLEAVED.contains(layer) && heads.heads() == heads.keyValueHeads();
        return LATENT.contains(layer) || equal ? List.of(new Part(1, heads.heads())) : Split.WHOLE;
    }
}
