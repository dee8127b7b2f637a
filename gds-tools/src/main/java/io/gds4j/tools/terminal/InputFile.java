package io.gds4j.tools.terminal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads small input files that a user names: only regular files and pipes, and never more than a limit. */
public final class InputFile {
    private static final int FILE_TYPE = 0170000;
    private static final int REGULAR_FILE = 0100000;
    private static final int PIPE = 0010000;
    private static final int FOLDER = 0040000;

    private InputFile() {
    }

    /**
     * Returns the content.
     *
     * @param mostBytes size limit, bytes
     * @param kind what the file should be, such as {@code a job file}
     * @throws CommandFailure with status 3 for a folder or a device, or if the file exceeds the limit
     * @throws IOException if the file cannot be read
     */
    public static byte[] bytes(Path file, int mostBytes, String kind) throws IOException {
        int type = (int) Files.getAttribute(file, "unix:mode") & FILE_TYPE;
        if (type == FOLDER) {
            throw refused(file, "is a folder, not " + kind);
        }
        // A device such as /dev/zero never ends; a pipe is what the shell's <(...) passes.
        if (type != REGULAR_FILE && type != PIPE) {
            throw refused(file, "is not a regular file, so it cannot be " + kind);
        }
        try (InputStream in = Files.newInputStream(file)) {
            byte[] bytes = in.readNBytes(mostBytes + 1);
            if (bytes.length > mostBytes) {
                throw refused(file, "is larger than %s MiB, so it cannot be %s".formatted(mostBytes >> 20, kind));
            }
            return bytes;
        }
    }

    /**
     * Returns the content as UTF-8 text.
     *
     * @throws CommandFailure with status 3 also if the bytes are not UTF-8
     */
    public static String text(Path file, int mostBytes, String kind) throws IOException {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes(file, mostBytes, kind))).toString();
        } catch (CharacterCodingException e) {
            throw refused(file, "is not UTF-8 text, so it cannot be " + kind);
        }
    }

    private static CommandFailure refused(Path file, String what) {
        return CommandFailure.badInput(file.toString(), file + ": " + what);
    }
}
