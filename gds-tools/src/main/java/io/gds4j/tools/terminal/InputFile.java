package io.gds4j.tools.terminal;

import io.gds4j.internal.file.FileStatus;
import io.gds4j.internal.file.FoundFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/**
 * Reads small input files that a user names: only regular files and what the shell passes as {@code <(...)}, and never more than a
 * limit.
 */
public final class InputFile {
    /** Where the shell's {@code <(...)} and the standard input are. A named pipe elsewhere may never have a writer. */
    private static final List<Path> DESCRIPTORS =
            List.of(Path.of("/dev/fd"), Path.of("/dev/stdin"), Path.of("/proc/self/fd"));

    private InputFile() {
    }

    /**
     * Returns the content.
     *
     * @param mostBytes size limit, bytes
     * @param kind what the file should be, such as {@code a job file}
     * @throws CommandFailure with status 3 for a folder, a device or a named pipe, or if the file exceeds the limit
     * @throws IOException if the file cannot be read
     */
    public static byte[] bytes(Path file, int mostBytes, String kind) throws IOException {
        try (InputStream in = open(file, kind)) {
            byte[] bytes = in.readNBytes(mostBytes + 1);
            if (bytes.length > mostBytes) {
                throw refused(file, "is larger than %s MiB, so it cannot be %s".formatted(mostBytes >> 20, kind));
            }
            return bytes;
        }
    }

    /**
     * Opens the file.
     *
     * @throws CommandFailure with status 3 for a folder, a device, a named pipe or a file of /proc
     */
    public static InputStream open(Path file, String kind) throws IOException {
        try (FoundFile found = FoundFile.at(file)) {
            FileStatus status = found.status();
            if (status.isFolder()) {
                throw refused(file, "is a folder, not " + kind);
            }
            boolean passed = DESCRIPTORS.stream().anyMatch(file::startsWith);
            // a device such as /dev/zero never ends, nor do files of /proc, whose size is 0
            if (!status.isRegularFile() && !passed) {
                throw refused(file, "is not a regular file, so it cannot be " + kind);
            }
            if (status.isRegularFile() && status.size() == 0) {
                return InputStream.nullInputStream();
            }
            return found.stream();
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
