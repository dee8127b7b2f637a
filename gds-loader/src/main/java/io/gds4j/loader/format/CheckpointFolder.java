package io.gds4j.loader.format;

import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A folder in which formats look for checkpoints. Keeps what it found: each format looks at the same list. Not thread-safe.
 *
 * @since 0.1
 */
public final class CheckpointFolder {
    private final Path path;
    private final List<Path> entries;
    private final Map<CheckpointFormat, List<Path>> recognized = new HashMap<>();

    private CheckpointFolder(Path path, List<Path> entries) {
        this.path = path;
        this.entries = List.copyOf(entries);
    }

    /**
     * Lists a folder.
     *
     * @throws CheckpointException FILE_NOT_FOUND, FILE_TYPE, FILE_NOT_READABLE or READ_FAILED
     */
    public static CheckpointFolder open(Path path) {
        List<Path> entries = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(path)) {
            for (Path entry : stream) {
                if (!String.valueOf(entry.getFileName()).startsWith(".")) {
                    entries.add(entry);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw CheckpointException.of(path, e.getCause());
        } catch (IOException e) {
            throw CheckpointException.of(path, e);
        }
        Collections.sort(entries);
        return new CheckpointFolder(path, entries);
    }

    /** Returns the path of the folder. */
    public Path path() {
        return path;
    }

    /** Returns all entries except hidden ones, sorted by name: files, folders and others. */
    public List<Path> entries() {
        return entries;
    }

    /** Returns the entries whose names end with {@code suffix}. */
    public List<Path> endingWith(String suffix) {
        return entries.stream().filter(entry -> entry.toString().endsWith(suffix)).toList();
    }

    /**
     * Returns the readable regular files that a format recognises by their content, sorted by name.
     *
     * @throws CheckpointException READ_FAILED if the first bytes of a file cannot be read
     */
    public List<Path> recognizedBy(CheckpointFormat format) {
        return recognized.computeIfAbsent(format, this::recognize);
    }

    private List<Path> recognize(CheckpointFormat format) {
        List<Path> found = new ArrayList<>();
        for (Path entry : entries) {
            if (Files.isRegularFile(entry) && Files.isReadable(entry)) {
                try (FormatInput in = FormatInput.open(entry)) {
                    if (format.recognize(in) instanceof Recognition.Recognized) {
                        found.add(entry);
                    }
                }
            }
        }
        return List.copyOf(found);
    }
}
