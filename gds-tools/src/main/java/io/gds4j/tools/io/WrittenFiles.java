package io.gds4j.tools.io;

import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Text;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The files that a run writes. A job file may come from a stranger, so it writes only to files that gds made: those of this run,
 * and those of earlier runs, which carry an extended attribute where the file system has them.
 */
final class WrittenFiles {
    /** The attribute {@code user.gds4j.io}. */
    private static final String MARK = "gds4j.io";

    private final boolean overwrite;
    private final Set<Path> made = new HashSet<>();

    /** @param overwrite whether files that others made may be written, as on the command line */
    WrittenFiles(boolean overwrite) {
        this.overwrite = overwrite;
    }

    /**
     * Creates a file, or checks that it may be overwritten.
     *
     * @throws CommandFailure with status 3 for a file that gds did not make
     */
    void claim(Path file) throws IOException {
        if (made.contains(file)) {
            return;
        }
        try {
            // neither follows a link nor takes over a file
            Files.createFile(file);
            mark(file);
        } catch (FileAlreadyExistsException e) {
            if (!overwrite && !isMarked(file)) {
                throw CommandFailure.badInput(
                        file.toString(),
                        "%s: exists, and gds io did not make it; --overwrite lets the jobs write to it"
                                .formatted(Text.name(file)));
            }
        } catch (IOException e) {
            if (!overwrite) {
                throw e;
            }
            // opening the file for the job fails, and names the reason as it does for files on the command line
        }
        made.add(file);
    }

    private static @Nullable UserDefinedFileAttributeView attributes(Path file) {
        return Files.getFileAttributeView(file, UserDefinedFileAttributeView.class);
    }

    private static void mark(Path file) {
        UserDefinedFileAttributeView view = attributes(file);
        if (view == null) {
            return;
        }
        try {
            view.write(MARK, ByteBuffer.allocate(1));
        } catch (IOException e) {
            // the file system has no such attributes: a later run needs --overwrite
        }
    }

    private static boolean isMarked(Path file) {
        UserDefinedFileAttributeView view = attributes(file);
        try {
            return view != null && Files.isRegularFile(file) && view.list().contains(MARK);
        } catch (IOException e) {
            return false;
        }
    }
}
