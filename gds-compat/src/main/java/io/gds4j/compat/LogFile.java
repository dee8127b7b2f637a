package io.gds4j.compat;

import io.gds4j.internal.text.InertText;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;

/**
 * Writes cufile.log in NVIDIA's line format, so that tools for libcufile's logs can read it. The thread number is Java's. Each
 * line is written at once. At the largest size the file starts over, as libcufile's does. Thread-safe.
 */
final class LogFile implements AutoCloseable {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("dd-MM-yyyy HH:mm:ss:SSS");
    /** A folder of the user of this process. */
    private static final Path PROCESS = Path.of("/proc/self");
    /** Bits of a file's mode below those of its type. */
    private static final int TYPE_SHIFT = 12;
    private static final int PIPE = 1;
    private static final long PID = ProcessHandle.current().pid();

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
        refuseLaid(path);
        // Not a channel: an interrupt of the thread that logs would close it.
        this.out = new FileOutputStream(path.toFile(), true);
        this.bytes = path.toFile().length();
    }

    /**
     * Refuses what others can lay in a folder for all: a pipe, which waits for its reader, and a link that leads to a file of this
     * user. Links of this user and of root are meant, such as {@code /dev/stderr}.
     */
    private static void refuseLaid(Path path) throws IOException {
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        if (Files.isSymbolicLink(path)) {
            int owner = (Integer) Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS);
            if (owner != 0 && !Files.getAttribute(PROCESS, "unix:uid").equals(owner)) {
                throw new FileSystemException(path.toString(), null, "a symbolic link of another user");
            }
        } else if ((Integer) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS) >> TYPE_SHIFT == PIPE) {
            throw new FileSystemException(path.toString(), null, "a pipe");
        }
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
                out = new FileOutputStream(path.toFile(), false);
                bytes = 0;
            }
            out.write(encoded);
            bytes += encoded.length;
        } catch (IOException e) {
            failed = true;
            SessionLog.warnAlone("no more lines in " + path + ": " + e.getMessage());
        }
    }

    @Override
    public synchronized void close() {
        failed = true;
        try {
            out.close();
        } catch (IOException e) {
            SessionLog.warnAlone("closing " + path + ": " + e.getMessage());
        }
    }
}
