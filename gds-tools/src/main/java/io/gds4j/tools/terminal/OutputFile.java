package io.gds4j.tools.terminal;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
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
        try (TemporaryFolder parts = TemporaryFolder.in(folder, ".gds-")) {
            Path part =
                    Files.write(parts.inside("part"), content, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
            Files.move(part, parts.sibling(file), StandardCopyOption.ATOMIC_MOVE);
        } catch (AccessDeniedException e) {
            throw new AccessDeniedException(file.toString());
        } catch (NoSuchFileException e) {
            throw named(file, "there is no folder " + folder, e);
        } catch (FileSystemException e) {
            throw named(file, e.getReason(), e);
        } catch (IOException e) {
            throw named(file, e.getMessage(), e); // the exception of a full disk names no file
        }
    }

    /**
     * Throws if a file cannot be there: before a measurement, not after it.
     *
     * @param what what the file would be
     */
    public static void checkPlace(Path file, String what) {
        Path folder = file.toAbsolutePath().getParent();
        if (Files.isDirectory(file) || folder == null) {
            throw CommandFailure.badInput(file.toString(),
                    "%s: is a folder, not a place for a %s".formatted(file, what));
        }
        if (!Files.isDirectory(folder)) {
            throw CommandFailure.badInput(file.toString(), file + ": there is no folder " + folder);
        }
    }

    private static FileSystemException named(Path file, String reason, IOException cause) {
        FileSystemException named = new FileSystemException(file.toString(), null, reason);
        named.initCause(cause);
        return named;
    }
}
