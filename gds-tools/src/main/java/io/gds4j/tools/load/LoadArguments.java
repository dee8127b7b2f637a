package io.gds4j.tools.load;

import io.gds4j.config.DirectStorage;
import io.gds4j.loader.Budget;
import io.gds4j.loader.LoadPlan;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.parallel.AttentionHeads;
import io.gds4j.loader.parallel.ParallelPlan;
import io.gds4j.tools.terminal.CommandFailure;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Arguments of {@code gds load}.
 *
 * @param path path of the checkpoint
 * @param opening how it is opened
 * @param targets destinations of the tensors; none for gpu:0 if there is a GPU, else the host
 * @param parallel how the targets share the tensors; null if not requested
 * @param heads attention heads of the model; empty for those that it tells itself
 * @param backend auto, compat or libcufile
 * @param directStorage whether GPUDirect Storage may or must serve; empty if the configuration decides
 * @param tensor pattern to find in the names of tensors to load; null for all tensors
 * @param verify whether to compare the tensors with a second read
 * @param digest whether to compute the SHA-256 of each loaded tensor
 * @param turns how tensors take turns; empty to keep all of them
 * @param action what to do with the chosen tensors
 */
public record LoadArguments(
        Path path,
        Opening opening,
        List<Target> targets,
        @Nullable ParallelMode parallel,
        Optional<AttentionHeads> heads,
        String backend,
        Optional<DirectStorage> directStorage,
        @Nullable Pattern tensor,
        boolean verify,
        boolean digest,
        Optional<Turns> turns,
        Action action) {
    /**
     * Tensors that take turns.
     *
     * @param budget their memory
     * @param type what floats and blocks become; null to leave them as they are
     */
    public record Turns(Budget budget, @Nullable DType type) {
        /** Returns a plan that converts as asked. */
        LoadPlan of(LoadPlan plan) {
            return type == null ? plan : plan.as(type);
        }
    }

    /** What {@code gds load} does with the chosen tensors. */
    public enum Action {
        /** Brings them to their targets. */
        LOAD,
        /** Maps their files. */
        MAP,
        /** Lists them. */
        LIST
    }

    public LoadArguments {
        targets = List.copyOf(targets);
    }

    /**
     * Returns these arguments for tensors that take turns.
     *
     * @param bytes memory of the turns; null to keep all tensors
     * @param type what floats become; null to leave them as they are
     */
    public LoadArguments within(@Nullable Long bytes, @Nullable DType type) {
        CommandFailure.usageIf(bytes != null && (bytes < 1 || isParallel()),
                "--budget is 1 byte or more, for one target and without --parallel");
        CommandFailure.usageIf(type != null && bytes == null, "--as is for tensors in turn: it needs --budget");
        return new LoadArguments(path, opening, targets, parallel, heads, backend, directStorage, tensor, verify,
                digest, Optional.ofNullable(bytes).map(given -> new Turns(Budget.bytes(given), type)), action);
    }

    /** Returns whether targets share the tensors. */
    public boolean isParallel() {
        return targets.size() > 1 || parallel != null;
    }

    /** Returns how targets share the tensors. */
    public ParallelMode mode() {
        return parallel == null ? ParallelMode.ALL : parallel;
    }

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
         * @param heads attention heads; empty if the model tells them
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
}
