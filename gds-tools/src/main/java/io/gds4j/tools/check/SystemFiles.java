package io.gds4j.tools.check;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Files under a root, {@code /} on a machine and a folder in a test. What cannot be read is absent: inside a container much
 * of /sys and /proc is.
 *
 * @param root where absolute paths begin
 */
public record SystemFiles(Path root) {
    /** The machine's own. */
    public static SystemFiles ofMachine() {
        return new SystemFiles(Path.of("/"));
    }

    /** The place of an absolute path under this root. */
    Path at(String absolute) {
        return root.resolve(absolute.substring(1));
    }

    /** All lines; empty if it cannot be read. */
    List<String> lines(String absolute) {
        try {
            return Files.readAllLines(at(absolute), StandardCharsets.ISO_8859_1);
        } catch (IOException | SecurityException e) {
            return List.of();
        }
    }

    /** The first line that is not blank. */
    Optional<String> firstLine(String absolute) {
        return lines(absolute).stream().map(String::strip).filter(line -> !line.isEmpty()).findFirst();
    }

    /** The first bytes; fewer where there are fewer, none where it cannot be read. */
    byte[] bytes(String absolute, int most) {
        try (InputStream file = Files.newInputStream(at(absolute))) {
            return file.readNBytes(most);
        } catch (IOException | SecurityException e) {
            return new byte[0];
        }
    }

    /** True if it is there. */
    boolean exists(String absolute) {
        return Files.exists(at(absolute));
    }

    /** Entries of a folder whose name matches a glob, sorted, as absolute paths under the machine's root. */
    List<String> entries(String absolute, String glob) {
        List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(at(absolute), glob)) {
            entries.forEach(entry -> names.add(absolute + "/" + entry.getFileName()));
        } catch (IOException | SecurityException e) {
            return List.of();
        }
        names.sort(null);
        return names;
    }
}
