package io.gds4j.loader.format;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A folder in which formats look for checkpoints. Keeps what it found: each format looks at the same list. Not thread-safe.
 *
 * @since 0.1
 */
public final class CheckpointFolder {
    private final Path path;
    private final List<Path> entries;
    private final Map<CheckpointFormat, List<Path>> recognized = new HashMap<>();
    /** The first bytes of the regular files; read once for all formats. */
    private @Nullable List<Head> heads;

    private CheckpointFolder(Path path, List<Path> entries) {
        this.path = path;
        this.entries = List.copyOf(entries);
    }

    /**
     * Lists a folder.
     *
     * @throws CheckpointException FILE_NOT_FOUND, FILE_TYPE, FILE_NOT_READABLE or READ_FAILED
     */
    public static CheckpointFolder open(Path path) {
        List<Path> entries = new ArrayList<>();
        try (DirectoryStream<Path> stream = Files.newDirectoryStream(path)) {
            for (Path entry : stream) {
                if (!String.valueOf(entry.getFileName()).startsWith(".")) {
                    entries.add(entry);
                }
            }
        } catch (DirectoryIteratorException e) {
            throw CheckpointException.of(path, e.getCause());
        } catch (IOException e) {
            throw CheckpointException.of(path, e);
        }
        Collections.sort(entries);
        return new CheckpointFolder(path, entries);
    }

    /** Returns the path of the folder. */
    public Path path() {
        return path;
    }

    /** Returns all entries except hidden ones, sorted by name: files, folders and others. */
    public List<Path> entries() {
        return entries;
    }

    /** Returns the entries whose names end with {@code suffix}. */
    public List<Path> endingWith(String suffix) {
        return entries.stream().filter(entry -> entry.toString().endsWith(suffix)).toList();
    }

    /**
     * Returns the readable regular files that a format recognises by their content, sorted by name. If there are none, returns
     * those that the format knows and does not support.
     *
     * @throws CheckpointException READ_FAILED if the first bytes of a file cannot be read
     */
    public List<Path> recognizedBy(CheckpointFormat format) {
        return recognized.computeIfAbsent(format, this::recognize);
    }

    private List<Head> heads() {
        List<Head> known = heads;
        if (known == null) {
            known = new ArrayList<>();
            for (Path entry : entries) {
                if (Files.isRegularFile(entry) && Files.isReadable(entry)) {
                    try (FormatInput in = FormatInput.open(entry)) {
                        known.add(new Head(entry, in.size(), in.first()));
                    }
                }
            }
            heads = known;
        }
        return known;
    }

    /** A file that is open only while a format reads more than the first bytes. */
    private static final class Head implements FileHead {
        private final Path path;
        private final long size;
        private final ByteBuffer first;

        Head(Path path, long size, ByteBuffer first) {
            this.path = path;
            this.size = size;
            this.first = first;
        }

        @Override
        public long size() {
            return size;
        }

        @Override
        public ByteBuffer first() {
            return first.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        }

        @Override
        public ByteBuffer read(long offset, int length) {
            try (FormatInput in = FormatInput.open(path)) {
                return in.read(offset, length);
            }
        }
    }

    private List<Path> recognize(CheckpointFormat format) {
        List<Path> found = new ArrayList<>();
        List<Path> unsupported = new ArrayList<>();
        for (Head head : heads()) {
            Recognition recognition = format.recognize(head);
            if (recognition instanceof Recognition.Recognized) {
                found.add(head.path);
            } else if (recognition instanceof Recognition.Unsupported) {
                unsupported.add(head.path);
            }
        }
        return List.copyOf(found.isEmpty() ? unsupported : found);
    }
}
