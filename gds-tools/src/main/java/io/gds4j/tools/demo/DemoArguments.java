package io.gds4j.tools.demo;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What {@code gds demo} was asked for.
 *
 * @param size bytes of the checkpoint; null for 1 GiB or what fits
 * @param dir an existing folder; null for the project's target folder
 */
public record DemoArguments(@Nullable Long size, @Nullable Path dir) {
}
