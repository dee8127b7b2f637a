package io.gds4j.tools.demo;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Arguments of {@code gds demo}.
 *
 * @param size size of the checkpoint, bytes; null for 1 GiB or less, as disk and memory allow
 * @param dir existing folder for the checkpoint; null for the project's target folder
 * @param keep whether to leave the checkpoint, in a subfolder with a fixed name
 */
public record DemoArguments(@Nullable Long size, @Nullable Path dir, boolean keep) {
}
