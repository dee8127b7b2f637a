package io.gds4j.tools.load;

import java.nio.file.Path;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What {@code gds load} was asked for.
 *
 * @param path checkpoint
 * @param target where tensors go; null for gpu:0 if there is a GPU, else the host
 * @param backend auto, compat or libcufile
 * @param tensor part of the names to load; null for all
 * @param verify compare with a second read of the file
 * @param digest SHA-256 of each tensor as it stands in the target
 * @param list headers only
 */
public record LoadArguments(
        Path path,
        @Nullable Target target,
        String backend,
        @Nullable Pattern tensor,
        boolean verify,
        boolean digest,
        boolean list) {
}
