package io.gds4j.tools.check;

import io.gds4j.engine.machine.SystemFiles;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Files of a machine from a resource: {@code == PATH} begins a file, {@code -> LINK TARGET} makes a link. The comment at the top says
 * from which machine or document they come.
 */
final class MachineFiles {
    private MachineFiles() {
    }

    static void add(SystemFiles files, String name) throws IOException {
        String text;
        try (InputStream resource = MachineFiles.class.getResourceAsStream("/machines/" + name + ".txt")) {
            text = new String(resource.readAllBytes(), StandardCharsets.UTF_8);
        }
        if (!text.startsWith("# ")) {
            throw new IOException(name + " does not say where it comes from");
        }
        for (String part : text.split("(?m)^(?===|->)")) {
            String[] words = part.split("\\s+");
            if (part.startsWith("==")) {
                write(files.at(words[1]), part.substring(part.indexOf('\n') + 1));
            } else if (part.startsWith("->")) {
                Files.createDirectories(files.at(words[2]));
                Files.createDirectories(files.at(words[1]).getParent());
                Files.createSymbolicLink(files.at(words[1]), files.at(words[2]));
            }
        }
    }

    private static void write(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
    }
}
