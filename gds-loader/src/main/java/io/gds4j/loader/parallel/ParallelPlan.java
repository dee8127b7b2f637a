package io.gds4j.loader.parallel;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.parallel.Split.Part;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
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
    public static final CheckpointRule INVALID_PLAN = new CheckpointRule("InvalidPlan", "broken parallel plan");
    /** A rule that matches no tensor, or a tensor that no rule matches. */
    public static final CheckpointRule PLAN_MISMATCH =
            new CheckpointRule("PlanMismatch", "the parallel plan does not fit the checkpoint");
    /** A tensor that the ranks cannot divide as its rule says. */
    public static final CheckpointRule UNEVEN_SPLIT = new CheckpointRule("UnevenSplit", "cannot be divided");

    /** Largest number of ranks. */
    public static final int MAX_WORLD = 65_536;

    private static final String FUNCTION = "ParallelPlan";

    private final String name;
    /** An immutable list, which the JDK can serialize. */
    @SuppressWarnings("serial")
    private final List<ParallelRule> rules;

    ParallelPlan(String name, List<ParallelRule> rules) {
        this.name = Objects.requireNonNull(name, "name");
        this.rules = List.copyOf(rules);
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
            throw CuFileException.of(CuFileError.INVALID_VALUE, FUNCTION, "the plan has no rules");
        }
        return new ParallelPlan(name, rules);
    }

    /** Returns a plan that gives every tensor to every rank. */
    public static ParallelPlan replicate() {
        return new ParallelPlan("replicate", List.of(new ParallelRule("*", Split.replicate(), true)));
    }

    /**
     * Reads a plan from JSON: an object with a style for each pattern, or an object that contains such an object as
     * {@code base_model_tp_plan}. Styles are those of transformers, such as {@code "colwise"} and {@code "rowwise_rep"}.
     *
     * <p>
     * A style may be an object, too: {@code {"style": "packed_colwise", "parts": [4, 1, 1], "heads": [32, 8, 8]}}. Further fields
     * are {@code round_up}, {@code dim} (of {@code expert}) and {@code rank} (of {@code owner}).
     *
     * @throws CheckpointException INVALID_PLAN if the file breaks a rule; FILE_NOT_FOUND and others if it cannot be read
     */
    public static ParallelPlan read(Path file) {
        return PlanFile.read(Objects.requireNonNull(file, "file"));
    }

    /**
     * Returns the plan for models with the names of Llama, in safetensors and in GGUF. Query, key, value, gate and up projections
     * are divided by column, output and down projections by row, embedding and head by vocabulary. Norms and routers go to every
     * rank, experts to their owners.
     *
     * @param heads attention heads, which are never cut; {@link AttentionHeads#UNKNOWN} divides by elements
     */
    public static ParallelPlan llama(AttentionHeads heads) {
        List<ParallelRule> rules = new ArrayList<>();
        add(rules, Split.replicate(), "*norm*", "rotary_emb.*", "rope_freqs", "mlp.gate", "block_sparse_moe.gate",
                "mlp.router", "ffn_gate_inp", "shared_expert_gate");
        add(rules, Split.expert(), "experts.*.*", "experts.gate_up_proj", "experts.down_proj", "ffn_gate_exps",
                "ffn_up_exps", "ffn_down_exps");
        add(rules, Split.column(), "embed_tokens", "lm_head", "tok_embeddings", "token_embd", "output");
        add(rules, Split.column(new Part(1, heads.heads())), "q_proj", "wq", "attn_q");
        add(rules, Split.column(new Part(1, heads.keyValueHeads())), "k_proj", "v_proj", "wk", "wv", "attn_k",
                "attn_v");
        if (heads.heads() > 0) {
            Part query = new Part(heads.heads(), heads.heads());
            Part other = new Part(heads.keyValueHeads(), heads.keyValueHeads());
            add(rules, Split.column(query, other, other), "qkv_proj", "attn_qkv");
        }
        add(rules, Split.column(), "gate_proj", "up_proj", "w1", "w3", "ffn_gate", "ffn_up");
        add(rules, Split.column(new Part(1, 0), new Part(1, 0)), "gate_up_proj");
        add(rules, Split.row(new Part(1, heads.heads())), "o_proj", "wo", "attn_output");
        add(rules, Split.row(), "down_proj", "w2", "ffn_down");
        return new ParallelPlan("llama", rules);
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
     * Computes the slices of all tensors.
     *
     * @param checkpoint path for messages
     * @param tensors all tensors of the checkpoint
     * @param chosen tells which tensors to slice; the rules must fit all of them nevertheless
     * @param world number of ranks, 1 to {@value #MAX_WORLD}
     * @return the slices of each chosen tensor, rank by rank; a rank that keeps nothing of a tensor has no slice of it
     * @throws CheckpointException PLAN_MISMATCH if a rule matches no tensor or no rule matches a tensor; UNEVEN_SPLIT if a tensor
     *         cannot be divided as its rule says
     * @throws CuFileException INVALID_VALUE for a number of ranks out of range
     */
    public List<TensorSlice> slice(
            Path checkpoint, List<TensorInfo> tensors, Predicate<TensorInfo> chosen, int world) {
        checkWorld(world);
        TensorSlicer slicer = new TensorSlicer(tensors, world);
        List<ParallelRule> ofTensors = match(checkpoint, tensors, slicer);
        List<TensorSlice> slices = new ArrayList<>();
        for (int i = 0; i < tensors.size(); i++) {
            TensorInfo tensor = tensors.get(i);
            if (!chosen.test(tensor)) {
                continue;
            }
            for (int rank = 0; rank < world; rank++) {
                TensorSlice slice = slicer.slice(tensor, ofTensors.get(i).split(), rank);
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
            throw CuFileException.of(
                    CuFileError.INVALID_VALUE,
                    FUNCTION,
                    "the number of ranks is %s; allowed are 1 to %s".formatted(world, MAX_WORLD));
        }
    }

    private List<ParallelRule> match(Path checkpoint, List<TensorInfo> tensors, TensorSlicer slicer) {
        BitSet matched = new BitSet(rules.size());
        List<ParallelRule> ofTensors = new ArrayList<>(tensors.size());
        TensorInfo without = null;
        for (TensorInfo tensor : tensors) {
            TensorInfo weight = slicer.scaled(tensor);
            ParallelRule own = first(tensor, matched);
            ParallelRule rule = weight == null ? own : first(weight, matched);
            if (rule == null) {
                rule = own;
            }
            if (rule == null) {
                without = without == null ? tensor : without;
            } else {
                ofTensors.add(rule);
            }
        }
        if (matched.isEmpty() && !tensors.isEmpty()) {
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

    /** Returns the first rule that matches a tensor, and marks all that do. */
    private @Nullable ParallelRule first(TensorInfo tensor, BitSet matched) {
        ParallelRule first = null;
        for (int i = 0; i < rules.size(); i++) {
            if ((first == null || !matched.get(i)) && rules.get(i).matches(tensor.name())) {
                matched.set(i);
                first = first == null ? rules.get(i) : first;
            }
        }
        return first;
    }

    private static CheckpointException mismatch(Path checkpoint, String detail) {
        return CheckpointException.of(PLAN_MISMATCH, checkpoint, detail);
    }

    @Override
    public String toString() {
        return "ParallelPlan[%s, %s rules]".formatted(name, rules.size());
    }
}
