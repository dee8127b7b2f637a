package io.gds4j.engine.machine;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Reads system files below a root: {@code /}, or a folder in tests. Treats unreadable files as absent, because
 * containers hide much of /sys and /proc.
 *
 * @param root folder that absolute paths start from
 */
public record SystemFiles(Path root) {
    /** System files of this machine. */
    public static SystemFiles ofMachine() {
        return new SystemFiles(Path.of("/"));
    }

    /** Resolves an absolute path below this root. */
    public Path at(String absolute) {
        return root.resolve(absolute.substring(1));
    }

    /** Returns all lines; empty if the file cannot be read. */
    public List<String> lines(String absolute) {
        try {
            return Files.readAllLines(at(absolute), StandardCharsets.ISO_8859_1);
        } catch (IOException | SecurityException e) {
            return List.of();
        }
    }

    /** Returns the first line that is not blank. */
    public Optional<String> firstLine(String absolute) {
        return lines(absolute).stream().map(String::strip).filter(line -> !line.isEmpty()).findFirst();
    }

    /** Returns up to {@code most} first bytes; none if the file cannot be read. */
    public byte[] bytes(String absolute, int most) {
        try (InputStream file = Files.newInputStream(at(absolute))) {
            return file.readNBytes(most);
        } catch (IOException | SecurityException e) {
            return new byte[0];
        }
    }

    /** True if the file exists. */
    public boolean exists(String absolute) {
        return Files.exists(at(absolute));
    }

    /** Returns entries of a folder whose names match a glob, sorted, as absolute paths below this root. */
    public List<String> entries(String absolute, String glob) {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(at(absolute), glob)) {
            entries.forEach(entry -> names.add(absolute + "/" + entry.getFileName()));
        } catch (IOException | DirectoryIteratorException | SecurityException e) {
            return List.of();
        }
        names.sort(null);
        return names;
    }
}
