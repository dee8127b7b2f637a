package io.gds4j.loader.format;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.internal.lifetime.Undo;
import io.gds4j.loader.internal.file.OpenedFile;
import io.gds4j.source.FileVersion;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A file that a format reads: positional reads within the size that the file had when it was opened. Every failure is a
 * {@link CheckpointException} that names the file. Not thread-safe.
 *
 * @since 0.1
 */
public final class FormatInput implements FileHead, AutoCloseable {
    private final Path path;
    private final OpenedFile file;
    private final FileVersion version;
    private final long size;
    private @Nullable ByteBuffer first;

    private FormatInput(Path path, OpenedFile file, FileVersion version) {
        this.path = path;
        this.file = file;
        this.version = version;
        this.size = version.size();
    }

    /**
     * Opens a regular file; opens neither pipes nor devices. While a checkpoint is opened, the calling thread opens only files
     * that its folder holds, unless links are followed.
     *
     * @throws CheckpointException FILE_NOT_FOUND, FILE_TYPE, FILE_NOT_READABLE, LINK_OUTSIDE or READ_FAILED
     * @throws io.gds4j.error.CuFileInterruptedException if the thread is interrupted; its flag stays set
     */
    public static FormatInput open(Path path) {
        Objects.requireNonNull(path, "path");
        try {
            OpenedFile file = OpenedFile.open(path);
            return Undo.ifFails(file::close, () -> new FormatInput(path, file, file.versionWhenFound()));
        } catch (IOException e) {
            if (isFolder(path)) {
                throw CheckpointException.of(CheckpointRule.FILE_TYPE, path, "a folder instead of a file");
            }
            throw CheckpointException.of(path, e);
        }
    }

    /**
     * Returns true for a folder and false for a regular file.
     *
     * @throws CheckpointException FILE_TYPE for anything else, or as {@link #open}
     */
    public static boolean isFolder(Path path) {
        BasicFileAttributes attributes;
        try {
            attributes = Files.readAttributes(path, BasicFileAttributes.class);
        } catch (IOException e) {
            throw CheckpointException.of(path, OpenedFile.loopOr(path, e));
        }
        if (attributes.isOther()) {
            // opening a pipe would wait for a writer
            throw CheckpointException.of(
                    CheckpointRule.FILE_TYPE, path,
                    "a pipe, socket or device, not a regular file or folder");
        }
        return attributes.isDirectory();
    }

    /** Returns the path of the file. */
    public Path path() {
        return path;
    }

    /** Returns the version of the file when it was opened. */
    public FileVersion version() {
        return version;
    }

    @Override
    public long size() {
        return size;
    }

    @Override
    public ByteBuffer first() {
        ByteBuffer known = first;
        if (known == null) {
            known = read(0, (int) Math.min(FIRST_BYTES, size)).asReadOnlyBuffer();
            first = known;
        }
        return known.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    }

    @Override
    public ByteBuffer read(long offset, int length) {
        checkRange(offset, length);
        ByteBuffer buffer = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer known = first;
        if (known != null && offset + length <= known.limit()) {
            return buffer.put(0, known, (int) offset, length);
        }
        read(offset, buffer);
        return buffer.flip();
    }

    /**
     * Fills the rest of a buffer.
     *
     * @param offset first byte in the file
     * @param into receives {@code into.remaining()} bytes
     * @throws CuFileException INVALID_VALUE if the range is not within the file; a {@link CheckpointException} with FILE_CHANGED
     *         if the file shrank, READ_FAILED if it cannot be read
     */
    public void read(long offset, ByteBuffer into) {
        checkRange(offset, into.remaining());
        long position = offset;
        try {
            while (into.hasRemaining()) {
                int count = file.channel().read(into, position);
                if (count < 0) {
                    throw CheckpointException.of(
                            CheckpointRule.FILE_CHANGED, path, position, "the file shrank while its header was read");
                }
                position += count;
            }
        } catch (IOException e) {
            throw CheckpointException.of(path, e);
        }
    }

    private void checkRange(long offset, int length) {
        if (offset < 0 || length < 0 || offset > size - length) {
            throw CuFileException.of(CuFileError.INVALID_VALUE, "FormatInput.read", path,
                    "%s bytes at %s are not within the file of %s bytes".formatted(length, offset, size));
        }
    }

    @Override
    public void close() {
        file.close();
    }

    @Override
    public String toString() {
        return "FormatInput[%s, %s bytes]".formatted(path, size);
    }
}
