package io.gds4j.tools.load;

import io.gds4j.loader.parallel.AttentionHeads;
import io.gds4j.loader.parallel.ParallelPlan;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * How several targets share the tensors.
 *
 * @param name replicate, column or plan
 * @param file file of the plan; null for the others
 */
public record ParallelMode(String name, @Nullable Path file) {
    private static final String REPLICATE = "replicate";
    private static final String COLUMN = "column";
    private static final String PLAN = "plan:";

    /** Every target receives every tensor. */
    public static final ParallelMode ALL = new ParallelMode(REPLICATE, null);

    /**
     * Parses {@code replicate}, {@code column} or {@code plan:FILE}.
     *
     * @throws IllegalArgumentException with a message for the user
     */
    public static ParallelMode parse(String text) {
        if (text.equals(REPLICATE) || text.equals(COLUMN)) {
            return new ParallelMode(text, null);
        }
        if (text.startsWith(PLAN) && text.length() > PLAN.length() && text.indexOf('\0') < 0) {
            return new ParallelMode("plan", Path.of(text.substring(PLAN.length())));
        }
        throw new IllegalArgumentException(
                "'" + text + "' is no way to share tensors: allowed are replicate, column and plan:FILE");
    }

    /**
     * Returns the rules. {@code column} uses the plan for Llama.
     *
     * @param heads attention heads; empty for those that the model tells
     * @throws io.gds4j.loader.format.CheckpointException for a plan that cannot be read or is malformed
     */
    public ParallelPlan rules(Optional<AttentionHeads> heads) {
        ParallelPlan plan = file != null
                ? ParallelPlan.read(file)
                : name.equals(COLUMN) ? ParallelPlan.llama() : ParallelPlan.replicate();
        return heads.map(plan::withHeads).orElse(plan);
    }

    /** Returns whether targets may receive slices. */
    public boolean divides() {
        return !name.equals(REPLICATE);
    }

    @Override
    public String toString() {
        return file == null ? name : PLAN + file;
    }
}
