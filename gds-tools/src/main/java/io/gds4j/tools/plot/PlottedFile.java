package io.gds4j.tools.plot;

import java.nio.file.Path;
import java.util.Optional;

/**
 * A result to draw.
 *
 * @param label label in the legend; empty for one that tells what was measured
 * @param file output of gds io --json or gds rdma --json
 */
public record PlottedFile(Optional<String> label, Path file) {
}
