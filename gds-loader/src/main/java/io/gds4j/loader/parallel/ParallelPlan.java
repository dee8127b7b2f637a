package io.gds4j.loader.parallel;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.Split.Part;
import java.io.Serializable;
import java.nio.file.FileVisitOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Rules that divide the tensors of a model among ranks. The first rule whose pattern matches decides about a tensor.
 *
 * <pre>{@code
 * ParallelPlan plan = ParallelPlan.of("mine", List.of(
 *         new ParallelRule("layers.*.mlp.up_proj", Split.column()),
 *         new ParallelRule("*", Split.replicate())));
 * }</pre>
 *
 * <p>
 * Immutable and thread-safe.
 *
 * @since 0.1
 */
public final class ParallelPlan implements Serializable {
    private static final long serialVersionUID = 1L;

    /** A plan that is not JSON of the expected structure. */
    public static final CheckpointRule INVALID_PLAN = JsonFile.INVALID;
    /** A rule that matches no tensor, or a tensor that no rule matches. */
    public static final CheckpointRule PLAN_MISMATCH =
            new CheckpointRule("PlanMismatch", "the parallel plan does not fit the checkpoint");
    /** A tensor that the ranks cannot divide as its rule says. */
    public static final CheckpointRule UNEVEN_SPLIT = TensorSlicer.UNEVEN_SPLIT;

    /** A plan whose patterns take too many steps to match with the names of a checkpoint. */
    public static final CheckpointRule PLAN_LIMIT = new CheckpointRule("PlanLimit", "parallel plan too costly");

    /** Largest number of ranks. */
    public static final int MAX_WORLD = 65_536;

    private static final String FUNCTION = "ParallelPlan";

    private final String name;
    /** An immutable list, which the JDK can serialize. */
    @SuppressWarnings("serial")
    private final List<ParallelRule> rules;
    /** Patterns of rules that refuse the tensors that they decide about. An immutable set, which the JDK can serialize. */
    @SuppressWarnings("serial")
    private final Set<String> unfit;
    /** Whether the groups of GPTQ are known to follow the order of the inputs. */
    private final boolean naturalGroups;
    /** Blocks of fused queries, values and keys; 0 if the model is not known to have blocks. */
    private final int blocks;
    /** Heads for rules without their own; null if unknown. */
    private final @Nullable AttentionHeads heads;

    ParallelPlan(String name, List<ParallelRule> rules) {
        this(name, rules, Set.of());
    }

    /**
     * Creates a plan.
     *
     * @param unfit patterns for single experts whose rule is for a tensor of all experts, and cannot divide them
     */
    ParallelPlan(String name, List<ParallelRule> rules, Set<String> unfit) {
        this(name, rules, unfit, false, 0, null);
    }

    private ParallelPlan(String name, List<ParallelRule> rules, Set<String> unfit, boolean naturalGroups,
            int blocks, @Nullable AttentionHeads heads) {
        this.name = Objects.requireNonNull(name, "name");
        this.rules = List.copyOf(rules);
        this.unfit = Set.copyOf(unfit);
        this.naturalGroups = naturalGroups;
        this.blocks = blocks;
        this.heads = heads;
    }

    /**
     * Creates a plan.
     *
     * @param name name for messages
     * @param rules the rules in order, 1 or more
     * @throws CuFileException INVALID_VALUE for a plan without rules
     */
    public static ParallelPlan of(String name, List<ParallelRule> rules) {
        if (rules.isEmpty()) {
            throw CuFileException.invalid(FUNCTION, "the plan has no rules");
        }
        return new ParallelPlan(name, rules);
    }

    /** Returns a plan that gives every tensor to every rank. */
    public static ParallelPlan replicate() {
        return new ParallelPlan("replicate", List.of(ParallelRule.REST));
    }

    /**
     * Reads a plan from JSON: an object with a style for each pattern, or an object that contains such an object as
     * {@code base_model_tp_plan} or {@code base_model_ep_plan}. Styles are those of transformers, such as {@code "colwise"} and
     * {@code "rowwise_rep"}.
     *
     * <p>
     * A style may be an object, too: {@code {"style": "packed_colwise", "parts": [4, 1, 1], "heads": [32, 8, 8]}}. Further fields
     * are {@code round_up}, {@code optional} (the rule may match no tensor), {@code dim} (of {@code expert} and {@code dimension})
     * and {@code rank} (of {@code owner}).
     *
     * <p>
     * With {@code "unmatched": "replicate"} beside them, any rule may match nothing, tensors without a rule go to every rank, and
     * rules for {@code experts.gate_up_proj} and {@code experts.down_proj} hold for experts that a file has one by one.
     *
     * @throws CheckpointException INVALID_PLAN if the file breaks a rule; FILE_NOT_FOUND and others if it cannot be read
     */
    public static ParallelPlan read(Path file) {
        PlanFile plan = PlanFile.read(Objects.requireNonNull(file, "file"));
        return new ParallelPlan(String.valueOf(file.getFileName()), plan.rules(), plan.unfit());
    }

    /**
     * Returns the plan for models with the names of Llama, in safetensors and in GGUF. Query, key, value, gate and up projections
     * are divided by column, output and down projections by row, embedding and head by vocabulary. Norms and routers go to every
     * rank, experts to their owners. The heads are those of the model; {@link #withHeads} tells others.
     */
    public static ParallelPlan llama() {
        List<ParallelRule> rules = new ArrayList<>();
        add(rules, Split.replicate(), "*norm*", "rotary_emb.*", "rope_freqs", "mlp.gate", "block_sparse_moe.gate",
                "mlp.router", "ffn_gate_inp", "shared_expert_gate");
        // scales of caches, one for a layer: vectors of them are refused
        add(rules, Split.column(), "q_scale", "k_scale", "v_scale");
        add(rules, Split.expert(), "experts.*.*", "experts.gate_up_proj", "experts.down_proj", "ffn_gate_exps",
                "ffn_up_exps", "ffn_down_exps");
        add(rules, Split.column(), "embed_tokens", "lm_head", "tok_embeddings", "token_embd", "output", "q_proj", "wq",
                "attn_q", "k_proj", "v_proj", "wk", "wv", "attn_k", "attn_v", "qkv_proj", "attn_qkv", "gate_proj",
                "up_proj", "w1", "w3", "ffn_gate", "ffn_up");
        add(rules, Split.column(new Part(1, 0), new Part(1, 0)), "gate_up_proj");
        add(rules, Split.row(), "o_proj", "wo", "attn_output", "down_proj", "w2", "ffn_down");
        return new ParallelPlan("llama", rules);
    }

    /** Returns the plan for models with the names of Llama and these heads; see {@link #llama()}. */
    public static ParallelPlan llama(AttentionHeads heads) {
        return llama().withHeads(heads);
    }

    /**
     * Returns a plan with the heads of queries, keys, values and outputs of attention, for rules that do not have their own. Heads
     * are never cut. {@link #slice} refuses rules for queries, keys and values whose heads neither the plan nor the shapes tell, and
     * numbers that contradict the shapes, if there are several ranks. So are layers of a second tower, as for images, because the
     * numbers are those of one. A plan that has heads keeps them.
     */
    public ParallelPlan withHeads(AttentionHeads heads) {
        Objects.requireNonNull(heads, "heads");
        return this.heads == null ? new ParallelPlan(name, rules, unfit, naturalGroups, blocks, heads) : this;
    }

    /**
     * Returns a plan with what a model says of itself: the heads, unless the rules have them ({@link AttentionHeads#of}), and
     * whether the groups of GPTQ follow the activation order ({@code desc_act} of {@code config.json}). Loads of several ranks do
     * so themselves.
     *
     * @param checkpoint folder of the checkpoint, or a file in it
     * @param metadata metadata of the checkpoint
     * @param links as of {@code Checkpoint.open}
     * @throws CheckpointException INVALID_PLAN if the plan needs {@code config.json}, and the file is malformed; LINK_OUTSIDE if
     *         it needs a file outside
     * @throws CuFileException if a file cannot be read
     */
    public ParallelPlan forModel(Path checkpoint, Metadata metadata, FileVisitOption... links) {
        boolean lacksHeads =
                (heads == null || heads.keyValueHeads() == 0) && rules.stream().anyMatch(AttentionLayers::lackHeads);
        boolean hasRows = rules.stream().anyMatch(rule -> rule.split() instanceof Split.Row);
        if (!lacksHeads && (naturalGroups || !hasRows)) {
            return this;
        }
        ModelConfig config;
        try {
            config = ModelConfig.of(checkpoint, links);
        } catch (CheckpointException e) {
            if (lacksHeads) {
                throw e;
            }
            return this; // without the order of groups, ranks receive all of them
        }
        Optional<AttentionHeads> ofModel =
                lacksHeads ? config.heads().or(() -> AttentionHeads.ofGguf(metadata)) : Optional.empty();
        return new ParallelPlan(name, rules, unfit, naturalGroups || config.naturalGroups(), config.blocks(),
                ofModel.filter(model -> heads == null || heads.heads() == model.heads()).orElse(heads));
    }

    private static void add(List<ParallelRule> rules, Split split, String... patterns) {
        for (String pattern : patterns) {
            rules.add(new ParallelRule(pattern, split, true));
        }
    }

    /** Returns the name of the plan, for messages. */
    public String name() {
        return name;
    }

    /** Returns the rules in their order. */
    public List<ParallelRule> rules() {
        return rules;
    }

    /**
     * Computes the slices of all tensors. Pieces of distributed checkpoints, whose names end with their ranges, give a rank what
     * they have of its share of the whole.
     *
     * @param checkpoint path for messages
     * @param tensors all tensors of the checkpoint
     * @param chosen tells which tensors to slice; the rules must fit all of them nevertheless
     * @param world number of ranks, 1 to {@value #MAX_WORLD}
     * @return the slices of each chosen tensor, rank by rank; a rank that keeps nothing of a tensor has no slice of it
     * @throws CheckpointException PLAN_MISMATCH if a rule matches no tensor or no rule matches a tensor; UNEVEN_SPLIT if a tensor
     *         cannot be divided as its rule says, if its layout is not known ({@link Split}), or if a rule would cut heads whose
     *         number is unknown; PLAN_LIMIT if names and patterns with stars take too many steps
     * @throws CuFileException INVALID_VALUE for a number of ranks out of range
     */
    public List<TensorSlice> slice(
            Path checkpoint, List<TensorInfo> tensors, Predicate<TensorInfo> chosen, int world) {
        checkWorld(world);
        List<WholeTensor> wholes = WholeTensor.of(tensors);
        TensorSlicer slicer = new TensorSlicer(WholeTensor.byName(wholes), naturalGroups, world);
        List<ParallelRule> ofTensors = match(checkpoint, wholes, slicer);
        List<Split> splits = ofTensors.stream().map(ParallelRule::split).toList();
        if (world > 1) {
            splits = slicer.withHeads(wholes, splits, heads, blocks);
        }
        List<TensorSlice> slices = new ArrayList<>();
        for (int i = 0; i < wholes.size(); i++) {
            WholeTensor tensor = wholes.get(i);
            if (!chosen.test(tensor.stored())) {
                continue;
            }
            for (int rank = 0; rank < world; rank++) {
                TensorSlice slice = slicer.slice(tensor, splits.get(i), rank);
                if (slice != null) {
                    slices.add(slice);
                }
            }
        }
        return slices;
    }

    /** Computes the slices of all tensors; see {@link #slice(Path, List, Predicate, int)}. */
    public List<TensorSlice> slice(Path checkpoint, List<TensorInfo> tensors, int world) {
        return slice(checkpoint, tensors, tensor -> true, world);
    }

    /**
     * Checks a number of ranks.
     *
     * @throws CuFileException INVALID_VALUE unless it is 1 to {@value #MAX_WORLD}
     */
    public static void checkWorld(int world) {
        if (world < 1 || world > MAX_WORLD) {
            throw CuFileException.invalid(FUNCTION,
                    "the number of ranks is %s; allowed are 1 to %s".formatted(world, MAX_WORLD));
        }
    }

    private List<ParallelRule> match(Path checkpoint, List<WholeTensor> tensors, TensorSlicer slicer) {
        RuleTree tree = new RuleTree(rules);
        BitSet matched = new BitSet(rules.size());
        List<ParallelRule> ofTensors = new ArrayList<>(tensors.size());
        TensorInfo without = null;
        for (WholeTensor tensor : tensors) {
            String weight = slicer.weight(tensor);
            ParallelRule own = first(tree, tensor.info(), tensor.name(), matched);
            boolean named = weight == null || own != null && Layers.isForParts(own.pattern());
            ParallelRule rule = named ? own : first(tree, tensor.info(), weight, matched);
            if (rule == null) {
                rule = own;
            }
            if (rule != null && unfit.contains(rule.pattern())) {
                throw CheckpointException.of(
                        PLAN_MISMATCH,
                        tensor.stored().file(),
                        -1,
                        tensor.stored().name(),
                        "tensor %s is of one expert, and the plan %s divides tensors of all experts in another way; give %s a rule"
                                .formatted(CheckpointException.quote(tensor.stored().name()),
                                        CheckpointException.quote(name), CheckpointException.quote(rule.pattern())));
            }
            if (rule == null) {
                without = without == null ? tensor.stored() : without;
            } else {
                ofTensors.add(rule);
            }
        }
        int rest = rules.size() - 1;
        int fitting =
                rest > 0 && rules.getLast().equals(ParallelRule.REST) ? matched.get(0, rest).cardinality()
                        : matched.cardinality();
        if (fitting == 0 && !tensors.isEmpty()) {
            throw mismatch(checkpoint, "no rule of the plan %s matches any of the %s tensors; it is for another model"
                    .formatted(CheckpointException.quote(name), tensors.size()));
        }
        for (int i = 0; i < rules.size(); i++) {
            if (!matched.get(i) && !rules.get(i).optional()) {
                throw mismatch(checkpoint, "the rule %s of the plan %s matches no tensor"
                        .formatted(CheckpointException.quote(rules.get(i).pattern()), CheckpointException.quote(name)));
            }
        }
        if (without != null) {
            throw CheckpointException.of(
                    PLAN_MISMATCH,
                    without.file(),
                    -1,
                    without.name(),
                    "no rule of the plan %s matches tensor %s; a last rule \"*\": \"replicate\" matches all others"
                            .formatted(CheckpointException.quote(name), CheckpointException.quote(without.name())));
        }
        return ofTensors;
    }

    /** Returns the first rule that matches a name, and marks all that do. */
    private @Nullable ParallelRule first(RuleTree tree, TensorInfo tensor, String of, BitSet matched) {
        BitSet found = new BitSet();
        if (!tree.find(of, found)) {
            throw CheckpointException.of(
                    PLAN_LIMIT,
                    tensor.file(),
                    -1,
                    tensor.name(),
                    "the %s rules of the plan %s take too many steps; use fewer patterns with a star"
                            .formatted(rules.size(), CheckpointException.quote(name)));
        }
        matched.or(found);
        return found.isEmpty() ? null : rules.get(found.nextSetBit(0));
    }

    private static CheckpointException mismatch(Path checkpoint, String detail) {
        return CheckpointException.of(PLAN_MISMATCH, checkpoint, detail);
    }

    @Override
    public String toString() {
        return "ParallelPlan[%s, %s rules]".formatted(name, rules.size());
    }
}
