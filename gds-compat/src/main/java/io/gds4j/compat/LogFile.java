package io.gds4j.compat;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;

/**
 * Writes cufile.log in NVIDIA's line format, so that tools for libcufile's logs can read it. The thread number is Java's. Each
 * line is written at once. At the largest size the file starts over, as libcufile's does. Thread-safe.
 */
final class LogFile implements AutoCloseable {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("dd-MM-yyyy HH:mm:ss:SSS");
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
        // Not a channel: an interrupt of the thread that logs would close it.
        this.out = new FileOutputStream(path.toFile(), true);
        this.bytes = path.toFile().length();
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
                message.replace('\n', ' '));
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
