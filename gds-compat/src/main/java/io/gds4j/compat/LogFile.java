package io.gds4j.compat;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;

/**
 * cufile.log in NVIDIA's line format, so that what reads libcufile's logs reads these. The thread number is Java's. Each line is
 * written at once; at the largest size the file begins anew, as libcufile's does. Thread-safe.
 */
final class LogFile implements AutoCloseable {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("dd-MM-yyyy HH:mm:ss:SSS");
    private static final long PID = ProcessHandle.current().pid();

    private final Path path;
    private final long mostBytes;
    private OutputStream out;
    private long bytes;
    private boolean failed;

    /**
     * Opens the file, and makes it if it is not there.
     *
     * @param mostBytes where it is cut; negative for never
     */
    LogFile(Path path, long mostBytes) throws IOException {
        this.path = path;
        this.mostBytes = mostBytes;
        // Not a channel: an interrupt of the thread that logs would close it.
        this.out = new FileOutputStream(path.toFile(), true);
        this.bytes = path.toFile().length();
    }

    /** Writes a line. A file that cannot be written is given up: a log must not stop what it tells of. */
    synchronized void write(String level, String place, String message) {
        if (failed) {
            return;
        }
        String line = " %s [pid=%d tid=%d] %s  %s %s%n".formatted(
                TIME.format(LocalDateTime.now()),
                PID,
                Thread.currentThread().threadId(),
                level,
                place,
                message.replace('\n', ' '));
        byte[] encoded = line.getBytes(StandardCharsets.UTF_8);
        try {
            if (mostBytes >= 0 && bytes + encoded.length > mostBytes) {
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
