package io.gds4j.tools.load;

import io.gds4j.config.DirectStorage;
import io.gds4j.loader.Budget;
import io.gds4j.loader.parallel.AttentionHeads;
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
 * @param budget memory in which tensors take turns; empty to keep all of them
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
        Optional<Budget> budget,
        Action action) {
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
     */
    public LoadArguments within(@Nullable Long bytes) {
        CommandFailure.usageIf(bytes != null && (bytes < 1 || isParallel()),
                "--budget is 1 byte or more, for one target and without --parallel");
        return new LoadArguments(path, opening, targets, parallel, heads, backend, directStorage, tensor, verify,
                digest, Optional.ofNullable(bytes).map(Budget::bytes), action);
    }

    /** Returns whether targets share the tensors. */
    public boolean isParallel() {
        return targets.size() > 1 || parallel != null;
    }

    /** Returns how targets share the tensors. */
    public ParallelMode mode() {
        return parallel == null ? ParallelMode.ALL : parallel;
    }
}
