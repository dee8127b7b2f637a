package io.gds4j.tools.convert;

import io.gds4j.loader.save.SaveOptions;
import java.nio.file.Path;

/**
 * Arguments of {@code gds convert}.
 *
 * @param source path of the checkpoint
 * @param destination existing or new folder
 * @param backend auto, compat or libcufile
 * @param options layout of the new files
 */
public record ConvertArguments(Path source, Path destination, String backend, SaveOptions options) {
}
