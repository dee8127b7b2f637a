package io.gds4j.compat;

import io.gds4j.internal.file.FileStatus;
import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.text.InertText;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Objects;

/**
 * Writes cufile.log in NVIDIA's line format, so that tools for libcufile's logs can read it. The thread number is Java's. Each
 * line is written at once. At the largest size the file starts over, as libcufile's does. Thread-safe.
 */
final class LogFile implements AutoCloseable {
    static final String LOGGER = "io.gds4j.compat";
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("dd-MM-yyyy HH:mm:ss:SSS");
    private static final long PID = ProcessHandle.current().pid();
    /** Permission bit of a folder in which every user may make and rename files. */
    private static final int ALL_MAY_WRITE = 0002;

    private final Path path;
    private final long maxBytes;
    private OutputStream out;
    private long bytes;
    private boolean failed;

    /**
     * Opens the file, and creates it if it does not exist.
     *
     * @param maxBytes size at which the file starts over; negative for no limit
     */
    LogFile(Path path, long maxBytes) throws IOException {
        this.path = path;
        this.maxBytes = maxBytes;
        try (FoundFile found = find(path)) {
            // Not a channel: an interrupt of the thread that logs would close it.
            this.out = new FileOutputStream(found.path().toFile(), true);
            this.bytes = found.status().size();
        }
    }

    /**
     * Finds the file, or creates it. Refuses what others can lay in a folder that they may write: a pipe, which waits for its reader,
     * and names of other files of this user. Links of this user and of root are meant, such as {@code /dev/stderr}, if they are where
     * others cannot exchange them.
     */
    private static FoundFile find(Path path) throws IOException {
        Path absolute = path.toAbsolutePath();
        try (FoundFile folder = FoundFile.at(Objects.requireNonNullElse(absolute.getParent(), absolute))) {
            Path place = folder.path().resolve(absolute.getFileName());
            try {
                Files.createFile(place);
            } catch (FileAlreadyExistsException e) {
                // a log goes on
            } catch (AccessDeniedException e) {
                // the file may be there, and take lines
            }
            FoundFile found = FoundFile.at(place, LinkOption.NOFOLLOW_LINKS);
            FileStatus status = found.status();
            if (!status.isLink() && !status.isPipe() && !mayBeAnothersName(status, folder)) {
                return found;
            }
            boolean isTrusted = status.isLink() && isOfThisUser(found) && isOfThisUser(folder)
                    && !folder.status().letsOthersRename();
            found.close();
            if (isTrusted) {
                return FoundFile.at(place);
            }
            throw new FileSystemException(path.toString(), null, status.isPipe() ? "a pipe"
                    : status.isLink() ? "a symbolic link of another user, or where others may exchange it"
                            : "a file with other names, or where all others may exchange it");
        }
    }

    /**
     * Returns whether the file may be another one of this user, under a second name. Who may rename in the folder can take that name away
     * again before the names are counted: where all others may, only an empty file, which loses nothing, is a log.
     */
    private static boolean mayBeAnothersName(FileStatus file, FoundFile folder) {
        boolean isExchangeable = !isOfThisUser(folder)
                || folder.status().letsOthersRename() && (folder.status().mode() & ALL_MAY_WRITE) != 0;
        return file.isRegularFile() && (file.links() > 1 || isExchangeable && file.size() > 0);
    }

    private static boolean isOfThisUser(FoundFile file) {
        return file.status().owner() == 0 || file.belongsTo(FoundFile.user());
    }

    /** Writes a line. After a failure it writes no more lines: a log must not stop the work. */
    synchronized void write(String level, String place, String message) {
        if (failed) {
            return;
        }
        String line = " %s [pid=%s tid=%s] %s  %s %s%n".formatted(
                TIME.format(LocalDateTime.now()),
                PID,
                Thread.currentThread().threadId(),
                level,
                place,
                InertText.line(message));
        byte[] encoded = line.getBytes(StandardCharsets.UTF_8);
        try {
            if (maxBytes >= 0 && bytes + encoded.length > maxBytes) {
                out.close();
                try (FoundFile found = find(path)) { // its name may lead elsewhere by now
                    out = new FileOutputStream(found.path().toFile(), false);
                }
                bytes = 0;
            }
            out.write(encoded);
            bytes += encoded.length;
        } catch (IOException e) {
            failed = true;
            warnAlone("no more lines in " + path + ": " + e.getMessage());
        }
    }

    @Override
    public synchronized void close() {
        failed = true;
        try {
            out.close();
        } catch (IOException e) {
            warnAlone("closing " + path + ": " + e.getMessage());
        }
    }

    /** Logs a problem to the logger only. */
    static void warnAlone(String message) {
        System.getLogger(LOGGER).log(Level.WARNING, InertText.line(message));
    }
}
