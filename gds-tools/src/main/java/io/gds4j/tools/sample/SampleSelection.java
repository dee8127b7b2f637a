package io.gds4j.tools.sample;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Arguments of {@code gds sample}.
 *
 * @param names samples to run
 * @param list whether to list the samples instead
 * @param all whether to run all samples
 * @param options options of the samples, alternating names and values
 * @param dir folder for the files, null for the default
 */
public record SampleSelection(
        List<String> names, boolean list, boolean all, List<String> options, @Nullable Path dir) {
    public SampleSelection {
        names = List.copyOf(names);
        options = List.copyOf(options);
    }
}
