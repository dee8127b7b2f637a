package io.gds4j.dataset.source;

import io.gds4j.internal.file.FoundFile;
import io.gds4j.internal.file.TrustedFolder;
import io.gds4j.internal.lifetime.Undo;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.Objects;

/** Reads the small parts of a file that say where its records are. */
final class HeaderFile implements AutoCloseable {
    private final Path path;
    private final FileChannel channel;
    private final long size;
    private final String changed;

    private HeaderFile(Path path, FileChannel channel, long size, String changed) {
        this.path = path;
        this.channel = channel;
        this.size = size;
        this.changed = changed;
    }

    static HeaderFile open(Path path) {
        try (FoundFile found = FoundFile.at(path)) {
            if (found.status().isFolder()) {
                throw RecordFormatException.malformed(path, "is a folder, allowed: a regular file");
            }
            if (!found.status().isRegularFile()) {
                throw RecordFormatException.malformed(
                        path, "is a pipe, socket or device, allowed: a regular file");
            }
            FileChannel channel = found.channel();
            return Undo.ifFails(channel::close, () -> new HeaderFile(
                    path, channel, channel.size(),
                    found.status().changedSeconds() + "." + found.status().changedNanos()));
        } catch (IOException e) {
            throw RecordFormatException.of(path, e);
        }
    }

    /** Refuses a file that is a link out of the folder of another. */
    static void checkLink(Path beside, Path file) {
        if (beside.getFileSystem() == FileSystems.getDefault()) {
            try {
                Path folder = Objects.requireNonNullElse(beside.getParent(), Path.of("."));
                new TrustedFolder(folder.toRealPath()).check(file, file.toRealPath());
            } catch (IOException e) {
                throw RecordFormatException.of(file, e);
            }
        }
    }

    Path path() {
        return path;
    }

    long size() {
        return size;
    }

    /** Returns when the file was changed last, in any format. */
    String changed() {
        return changed;
    }

    /** Returns the bytes of the file, which the caller does not read otherwise. */
    InputStream stream() {
        return Channels.newInputStream(channel);
    }

    /** Refuses a file of another size. */
    void checkSize(long expected) {
        if (size != expected) {
            throw RecordFormatException.malformed(path,
                    "the file has %s bytes, its index says %s".formatted(size, expected));
        }
    }

    /**
     * Reads bytes, little-endian.
     *
     * @param what name of the part, for the message of a file that is too short
     */
    ByteBuffer read(long offset, int length, String what) {
        if (offset > size - length) {
            throw RecordFormatException.malformed(
                    path, offset, "the file has %s bytes and ends inside %s".formatted(size, what));
        }
        ByteBuffer bytes = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        read(bytes, offset);
        return bytes;
    }

    /** Fills the buffer; the caller knows that the file had the bytes. */
    void read(ByteBuffer bytes, long offset) {
        try {
            long at = offset;
            while (bytes.hasRemaining()) {
                int read = channel.read(bytes, at);
                if (read < 0) {
                    throw new EOFException("the file became shorter while it was read");
                }
                at += read;
            }
        } catch (IOException e) {
            throw RecordFormatException.of(path, e);
        }
        bytes.flip();
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw RecordFormatException.of(path, e);
        }
    }
}
