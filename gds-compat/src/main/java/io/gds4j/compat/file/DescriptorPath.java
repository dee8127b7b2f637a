package io.gds4j.compat.file;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Optional;

/** Finds the path of an open descriptor in {@code /proc}. */
final class DescriptorPath {
    private DescriptorPath() {
    }

    /** Returns the path; empty where there is none, as for a memfd. */
    public static Optional<Path> of(int fd) {
        try {
            Path path = Files.readSymbolicLink(Path.of("/proc/self/fd/" + fd));
            return path.isAbsolute() ? Optional.of(path) : Optional.empty();
        } catch (IOException | InvalidPathException e) {
            return Optional.empty();
        }
    }
}
