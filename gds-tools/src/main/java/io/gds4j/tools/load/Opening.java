package io.gds4j.tools.load;

import io.gds4j.loader.Checkpoint;
import java.nio.file.FileVisitOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * How a checkpoint is opened.
 *
 * @param links whether links may lead out of its folder
 * @param variant variant of the files of a folder; empty for the files without one
 */
public record Opening(List<FileVisitOption> links, Optional<String> variant) {
    /** Copies the list. */
    public Opening {
        links = List.copyOf(links);
    }

    /** Opens a checkpoint. */
    public Checkpoint open(Path path) {
        FileVisitOption[] options = links.toArray(FileVisitOption[]::new);
        return variant.isEmpty() ? Checkpoint.open(path, options)
                : Checkpoint.variant(variant.get()).open(path, options);
    }
}
