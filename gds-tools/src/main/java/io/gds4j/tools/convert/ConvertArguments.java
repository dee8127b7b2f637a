package io.gds4j.tools.convert;

import io.gds4j.loader.save.SaveOptions;
import java.nio.file.FileVisitOption;
import java.nio.file.Path;
import java.util.List;

/**
 * Arguments of {@code gds convert}.
 *
 * @param source path of the checkpoint
 * @param links whether links may lead out of its folder
 * @param destination existing or new folder
 * @param backend auto, compat or libcufile
 * @param options layout of the new files
 */
public record ConvertArguments(
        Path source, List<FileVisitOption> links, Path destination, String backend, SaveOptions options) {
    /** Copies the list. */
    public ConvertArguments {
        links = List.copyOf(links);
    }
}
