package io.gds4j.spark;

import io.gds4j.error.CuFileException;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.loader.parallel.ParallelRule;
import io.gds4j.loader.parallel.Split;
import java.io.Serializable;
import java.util.List;
import java.util.Objects;

/**
 * Which tensors of a checkpoint a task needs, and in which memory. Immutable; plans with equal content are equal, so tasks share a
 * model.
 *
 * <pre>{@code
 * ModelPlan plan = ModelPlan.WHOLE.including("^model\\.layers\\.").to(Target.GPU);
 * ModelPlan slice = plan.slice(rank, world, ParallelPlan.llama());
 * }</pre>
 *
 * @param include the tensors in whose name this regular expression is found; empty for all
 * @param rank the rank, 0 to {@code world - 1}
 * @param world number of ranks that share the tensors
 * @param planName name of the rules, for messages
 * @param rules how ranks share the tensors; ignored for a world of 1
 * @param target memory that receives the tensors
 * @since 0.1
 */
public record ModelPlan(
        String include, int rank, int world, String planName, List<ParallelRule> rules, Target target)
        implements
            Serializable {

    /** All tensors, in memory of the task's GPU or else of the host. */
    public static final ModelPlan WHOLE = new ModelPlan("", 0, 1, "whole", List.of(), Target.AUTO);

    /**
     * Checks the values.
     *
     * @throws CuFileException INVALID_VALUE for a rank or a number of ranks out of range
     */
    public ModelPlan {
        Objects.requireNonNull(include, "include");
        Objects.requireNonNull(planName, "planName");
        Objects.requireNonNull(target, "target");
        rules = List.copyOf(rules);
        ParallelPlan.checkWorld(world);
        if (rank < 0 || rank >= world) {
            throw CuFileException.invalid("ModelPlan",
                    "the rank is %s; %s ranks are 0 to %s".formatted(rank, world, world - 1));
        }
    }

    /** Returns the plan for tensors in whose name the expression is found. */
    public ModelPlan including(String regex) {
        return new ModelPlan(regex, rank, world, planName, rules, target);
    }

    /** Returns the plan with another target. */
    public ModelPlan to(Target newTarget) {
        return new ModelPlan(include, rank, world, planName, rules, newTarget);
    }

    /**
     * Returns the plan for the slices of one rank.
     *
     * @throws CuFileException INVALID_VALUE for a rank or a number of ranks out of range
     */
    public ModelPlan slice(int newRank, int newWorld, ParallelPlan plan) {
        return new ModelPlan(include, newRank, newWorld, plan.name(), plan.rules(), target);
    }

    /** Returns the plan by which ranks share a model: rules that leave every tensor whole give each rank the same one. */
    ModelPlan content() {
        boolean isWhole = rules.stream().allMatch(rule -> rule.split() instanceof Split.Replicate);
        return isWhole ? new ModelPlan(include, 0, 1, WHOLE.planName, List.of(), target) : this;
    }

    /** Returns the rules. */
    ParallelPlan parallel() {
        return rules.isEmpty() ? ParallelPlan.replicate() : ParallelPlan.of(planName, rules);
    }
}
