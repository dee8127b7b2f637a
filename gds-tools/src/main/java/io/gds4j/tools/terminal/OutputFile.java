package io.gds4j.tools.terminal;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Objects;

/** Files that commands write as a whole. */
public final class OutputFile {
    private OutputFile() {
    }

    /**
     * Writes a file beside its place and moves it there: an earlier one stays whole until then, and the target of a link as it is.
     *
     * @throws FileSystemException with the name of the file
     */
    public static void replace(Path file, byte[] content) throws FileSystemException {
        Path folder = Objects.requireNonNull(file.toAbsolutePath().getParent(), "a file has a folder");
        Path part = folder.resolve(".gds-" + ProcessHandle.current().pid() + ".part");
        try {
            try {
                Files.write(part, content);
                Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                Files.deleteIfExists(part);
            }
        } catch (AccessDeniedException e) {
            throw new AccessDeniedException(file.toString());
        } catch (FileSystemException e) {
            throw named(file, e.getReason(), e);
        } catch (IOException e) {
            throw named(file, e.getMessage(), e); // the exception of a full disk names no file
        }
    }

    private static FileSystemException named(Path file, String reason, IOException cause) {
        FileSystemException named = new FileSystemException(file.toString(), null, reason);
        named.initCause(cause);
        return named;
    }
}
