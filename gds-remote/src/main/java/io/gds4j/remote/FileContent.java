package io.gds4j.remote;

import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Objects;
import java.util.Optional;

/**
 * The bytes of a file that is uploaded, or that a cache has.
 *
 * @param size of the open file: the name may belong to another one since
 * @param opened the file of that name when the upload or the read began
 */
record FileContent(Path file, FileChannel channel, long size, BasicFileAttributes opened) implements RangeSource {
    static FileContent of(Path file, FileChannel channel) throws IOException {
        return new FileContent(file, channel, channel.size(), attributes(file));
    }

    private static BasicFileAttributes attributes(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class);
    }

    @Override
    public String identity() {
        return file.toString();
    }

    /** A file that lost its name to another one, or has none, keeps its bytes. */
    @Override
    public Optional<String> contentVersion() throws IOException {
        BasicFileAttributes own = opened;
        try {
            BasicFileAttributes now = attributes(file);
            own = Objects.equals(now.fileKey(), opened.fileKey()) ? now : opened;
        } catch (NoSuchFileException e) {
            // it was unlinked
        }
        return Optional.of(own.size() + " " + own.lastModifiedTime());
    }

    @Override
    public long read(long offset, MemorySegment target, Cancellation cancellation) throws IOException {
        return Math.max(0, channel.read(target.asByteBuffer(), offset));
    }
}
