package io.gds4j.config;

import io.gds4j.error.Errno;
import io.gds4j.internal.file.FileErrno;
import io.gds4j.internal.file.FileStatus;
import io.gds4j.internal.file.FoundFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/** Reads the text of a configuration file and checks its type, size and encoding. */
final class ConfigFile {
    /** Largest file in bytes, 1 MiB; real files have a few KiB. */
    static final int MAX_BYTES = 1 << 20;

    private ConfigFile() {
    }

    /**
     * Returns the text; empty if there is no such file.
     *
     * @throws CuFileConfigException if the file cannot be read, is not a regular file, is not UTF-8 or is too large
     */
    static Optional<String> text(Path file) {
        byte[] bytes;
        try (FoundFile found = FoundFile.at(file)) {
            FileStatus status = found.status();
            if (status.isFolder()) {
                throw CuFileConfigException.unreadable(
                        file, Errno.EISDIR, "is a directory, allowed: a JSON file", null);
            }
            if (!status.isRegularFile()) {
                throw CuFileConfigException.unreadable(
                        file, Errno.EINVAL, "is not a regular file, allowed: a JSON file", null);
            }
            try (InputStream in = found.stream()) {
                // a file of /proc has a size of 0, and some never end
                bytes = in.readNBytes((int) Math.min(status.size(), MAX_BYTES + 1));
            }
        } catch (NoSuchFileException missing) {
            return Optional.empty();
        } catch (IOException e) {
            int errno = FileErrno.of(e);
            throw CuFileConfigException.unreadable(
                    file, errno, "cannot be read: " + (errno == Errno.EIO ? e.getMessage() : Errno.text(errno)), e);
        }
        if (bytes.length > MAX_BYTES) {
            throw CuFileConfigException.unreadable(
                    file, Errno.EFBIG, "is larger than 1 MiB, allowed: a smaller JSON file", null);
        }
        return Optional.of(decode(file, bytes));
    }

    private static String decode(Path file, byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes);
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(in)
                    .toString();
            return text.startsWith("\uFEFF") ? text.substring(1) : text;
        } catch (CharacterCodingException e) {
            int line = 1;
            for (int i = 0; i < in.position(); i++) {
                line += bytes[i] == '\n' ? 1 : 0;
            }
            int start = in.position();
            while (start > 0 && bytes[start - 1] != '\n') {
                start--;
            }
            throw CuFileConfigException.at(
                    file, line, in.position() - start + 1, null, "not UTF-8 text, allowed: a JSON file", e);
        }
    }
}
