package io.gds4j.tools.io;

import io.gds4j.internal.file.FileStatus;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.tools.terminal.CommandFailure;
import io.gds4j.tools.terminal.Text;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.UserDefinedFileAttributeView;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The files that a run writes. A job file may come from a stranger, so it writes only to files that gds made: those of this run,
 * and those of earlier runs, which carry an extended attribute where the file system has them.
 */
final class WrittenFiles implements AutoCloseable {
    /** The attribute {@code user.gds4j.io}. */
    private static final String MARK = "gds4j.io";

    private final boolean overwrite;
    private final Map<Path, FoundFile> claimed = new HashMap<>();

    /** @param overwrite whether files that others made may be written, as on the command line */
    WrittenFiles(boolean overwrite) {
        this.overwrite = overwrite;
    }

    /**
     * Creates a file, or checks that it may be overwritten.
     *
     * @return the path by which the file is written: what takes its name later is another file
     * @throws CommandFailure with status 3 for a file that gds did not make
     */
    Path claim(Path file) throws IOException {
        FoundFile before = claimed.get(file);
        if (before != null) {
            return before.path();
        }
        FoundFile found;
        try {
            found = overwrite ? any(file) : own(file, create(file));
        } catch (IOException e) {
            if (!overwrite) {
                throw e;
            }
            return file; // opening the file for the job fails, and names the reason as it does for files on the command line
        }
        claimed.put(file, found);
        return found.path();
    }

    private static FoundFile any(Path file) throws IOException {
        boolean isNew = create(file);
        FoundFile found = FoundFile.at(file);
        if (isNew) {
            mark(found.path());
        }
        return found;
    }

    /**
     * Neither follows a link nor takes over a file: what is empty and has one name was created here, or holds nothing.
     *
     * @param isNew whether this run created the file, whose name others may have taken since
     */
    static FoundFile own(Path file, boolean isNew) throws IOException {
        FoundFile found = FoundFile.at(file, LinkOption.NOFOLLOW_LINKS);
        return Undo.ifFails(found::close, () -> {
            FileStatus status = found.status();
            if (isNew && status.isRegularFile() && status.size() == 0 && status.links() == 1) {
                mark(found.path());
            } else if (!status.isRegularFile() || !isMarked(found.path())) {
                throw CommandFailure.badInput(
                        file.toString(),
                        "%s: exists, and gds io did not make it; --overwrite lets the jobs write to it"
                                .formatted(Text.name(file)));
            }
            return found;
        });
    }

    private static boolean create(Path file) throws IOException {
        try {
            Files.createFile(file);
            return true;
        } catch (FileAlreadyExistsException e) {
            return false;
        }
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
            return view != null && view.list().contains(MARK);
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public void close() {
        claimed.values().forEach(FoundFile::close);
        claimed.clear();
    }
}
