package io.gds4j.compat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Folders for the files of tests. */
public final class TestFolder {
    private TestFolder() {
    }

    /** Returns a folder on the disk of the working directory. */
    public static Path onDisk() {
        return made(Path.of("target", "files").toAbsolutePath());
    }

    private static Path made(Path folder) {
        try {
            return Files.createDirectories(folder).toRealPath();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
