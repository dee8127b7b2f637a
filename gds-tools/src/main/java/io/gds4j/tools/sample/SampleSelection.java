package io.gds4j.tools.sample;

import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What {@code gds sample} was asked for.
 *
 * @param names samples to run
 * @param list list them instead
 * @param all run all of them
 * @param options of the samples, names and values in turn
 * @param dir folder for their files, null for the default
 */
public record SampleSelection(
        List<String> names, boolean list, boolean all, List<String> options, @Nullable Path dir) {
    public SampleSelection {
        names = List.copyOf(names);
        options = List.copyOf(options);
    }
}
