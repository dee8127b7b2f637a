package io.gds4j.loader;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;

/** Reads headers and indexes of checkpoints. Every failure names the broken rule. */
final class HeaderFile {
    private static final int LENGTH_BYTES = 8;
    /** Largest header of the reference implementation, in bytes. */
    private static final long MAX_HEADER = 100_000_000;
    /** Largest index, in bytes; the same limit as for headers. */
    private static final long MAX_INDEX = 100_000_000;

    private HeaderFile() {
    }

    /** Returns the attributes of a file or folder; refuses anything else before opening it. */
    static BasicFileAttributes attributes(Path path) {
        BasicFileAttributes attributes;
        try {
            attributes = Files.readAttributes(path, BasicFileAttributes.class);
        } catch (IOException e) {
            throw failure(path, e);
        }
        if (attributes.isOther()) {
            // opening a pipe would wait for a writer
            throw CheckpointException.of(
                    CheckpointRule.FILE_TYPE, path,
                    "a pipe, socket or device, not a regular file or folder");
        }
        return attributes;
    }

    private static void requireRegular(Path path) {
        if (attributes(path).isDirectory()) {
            throw CheckpointException.of(CheckpointRule.FILE_TYPE, path, "a folder instead of a file");
        }
    }

    /** Reads and checks the header of a safetensors file. */
    static CheckpointFile readSafetensors(Path path) {
        requireRegular(path);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            long size = channel.size();
            if (size < LENGTH_BYTES) {
                throw CheckpointException.of(
                        CheckpointRule.HEADER_TOO_SMALL,
                        path,
                        size == 0
                                ? "the file is empty; a safetensors file begins with an 8-byte header length"
                                : "the file has %d bytes; a safetensors file begins with an 8-byte header length"
                                        .formatted(size));
            }
            byte[] first = read(path, channel, 0, LENGTH_BYTES);
            long length = ByteBuffer.wrap(first).order(ByteOrder.LITTLE_ENDIAN).getLong();
            if (Long.compareUnsigned(length, MAX_HEADER) > 0) {
                throw CheckpointException.of(
                        CheckpointRule.HEADER_TOO_LARGE,
                        path,
                        "the header length is %s, at most %d is allowed%s"
                                .formatted(Long.toUnsignedString(length), MAX_HEADER, looksLike(first)));
            }
            if (length > size - LENGTH_BYTES) {
                throw CheckpointException.of(
                        CheckpointRule.INVALID_HEADER_LENGTH,
                        path,
                        "the header length is %d, but only %d bytes follow it in the file"
                                .formatted(length, size - LENGTH_BYTES));
            }
            if (length == 0) {
                throw CheckpointException.of(
                        CheckpointRule.INVALID_HEADER_DESERIALIZATION, path, 0, null, 0, "the header length is 0");
            }
            byte[] json = read(path, channel, LENGTH_BYTES, (int) length);
            return SafetensorsHeader.parse(path, json).validate(LENGTH_BYTES + length, size);
        } catch (IOException e) {
            throw failure(path, e);
        }
    }

    /** Reads a whole index. */
    static byte[] readIndex(Path path) {
        requireRegular(path);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            long size = channel.size();
            if (size > MAX_INDEX) {
                throw CheckpointException.of(
                        CheckpointRule.INVALID_INDEX,
                        path,
                        "the index has %d bytes, at most %d are allowed".formatted(size, MAX_INDEX));
            }
            return read(path, channel, 0, (int) size);
        } catch (IOException e) {
            throw failure(path, e);
        }
    }

    private static byte[] read(Path path, FileChannel channel, long offset, int length) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(length);
        while (buffer.hasRemaining()) {
            if (channel.read(buffer, offset + buffer.position()) < 0) {
                long end = offset + buffer.position();
                throw CheckpointException.of(
                        CheckpointRule.FILE_CHANGED,
                        path,
                        end,
                        null,
                        0,
                        "the file shrank while its header was read");
            }
        }
        return buffer.array();
    }

    private static String looksLike(byte[] first) {
        if (first[0] == 'G' && first[1] == 'G' && first[2] == 'U' && first[3] == 'F') {
            return "; this looks like a GGUF file, not safetensors";
        }
        if (first[0] == 'P' && first[1] == 'K' && first[2] == 3 && first[3] == 4) {
            return "; this looks like a zip or PyTorch .pt file, not safetensors";
        }
        return "";
    }

    /** Returns the exception of the loader for an exception of java.nio. */
    static CuFileException failure(Path path, IOException e) {
        return switch (e) {
            case ClosedByInterruptException interrupted ->
                // the JDK leaves the thread's flag set
                CuFileException.builder("Checkpoint")
                        .error(CuFileError.IO_ERROR)
                        .errno(Errno.EINTR)
                        .path(path)
                        .detail("interrupted while a header was read")
                        .cause(interrupted)
                        .buildInterrupted();
            case NoSuchFileException missing ->
                CheckpointException.of(
                        CheckpointRule.FILE_NOT_FOUND, path, -1, null, Errno.ENOENT, "no such file or folder");
            case AccessDeniedException denied ->
                CheckpointException.of(
                        CheckpointRule.FILE_NOT_READABLE, path, -1, null, Errno.EACCES, "permission denied");
            case NotDirectoryException file ->
                CheckpointException.of(CheckpointRule.FILE_TYPE, path, -1, null, Errno.ENOTDIR, "not a folder");
            case FileSystemException other when other.getReason() != null ->
                CheckpointException.of(CheckpointRule.READ_FAILED, path, -1, null, Errno.EIO, other.getReason());
            default ->
                CheckpointException.of(CheckpointRule.READ_FAILED, path, -1, null, Errno.EIO,
                        String.valueOf(e.getMessage()));
        };
    }
}
