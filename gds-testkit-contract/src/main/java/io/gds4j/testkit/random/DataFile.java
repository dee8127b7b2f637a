package io.gds4j.testkit.random;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileException;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.testkit.RandomBytes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/** A file whose bytes never change, with handles of several sorts that threads share. */
final class DataFile {
    private static final OpenOption[][] OPTIONS = {
            {StandardOpenOption.READ}, {StandardOpenOption.READ, CuFileOpenOption.DIRECT},
            {StandardOpenOption.READ, CuFileOpenOption.DROP},
            {StandardOpenOption.READ, CuFileOpenOption.DIRECT, CuFileOpenOption.DROP}
    };

    private final Path path;
    private final byte[] content;
    private final List<CuFileHandle> handles = new ArrayList<>();
    private Optional<CuFileHandle> source = Optional.empty();

    DataFile(Path path, int size, long seed) {
        this.path = path;
        this.content = RandomBytes.of(seed, size);
        try {
            Files.write(path, content);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    int size() {
        return content.length;
    }

    Path path() {
        return path;
    }

    /** Opens handles and, where the backend serves sources, a source over the same bytes. */
    void open(CuFileDriver driver) {
        handles.clear();
        for (OpenOption[] options : OPTIONS) {
            handles.add(driver.openFile(path, options));
        }
        try {
            source = Optional.of(driver.openSource(new Holed(content)));
        } catch (CuFileException e) {
            source = Optional.empty();
        }
    }

    CuFileHandle any(RandomGenerator random) {
        return handles.get(random.nextInt(handles.size()));
    }

    /** Returns a source that fails where {@link #isHole} says; empty if the backend serves none. */
    Optional<CuFileHandle> source() {
        return source;
    }

    /** Returns the bytes of a range, fewer at the end of the file. */
    byte[] bytes(long offset, long size) {
        int from = (int) Math.min(offset, content.length);
        return Arrays.copyOfRange(content, from, (int) Math.min(offset + size, content.length));
    }

    /** Returns whether a read of the source fails. */
    boolean isHole(long offset, long size) {
        return Holed.fails(offset, Math.min(size, content.length - offset));
    }

    void delete() throws IOException {
        Files.deleteIfExists(path);
    }

    @Override
    public String toString() {
        return "data of " + content.length;
    }

    /** A source that delivers less than asked, and fails in each range with a bad byte. */
    private record Holed(byte[] content) implements RangeSource {
        private static final int DISTANCE = 700_001;
        private static final int MAX = 70_000;
        private static final int PREFERRED = 256 << 10;

        /** Returns whether a range has a bad byte: those at the multiples of the distance. */
        static boolean fails(long offset, long size) {
            long last = (offset + size - 1) / DISTANCE * DISTANCE;
            return size > 0 && last >= Math.max(1, offset);
        }

        @Override
        public long size() {
            return content.length;
        }

        @Override
        public String identity() {
            return "memory with bad bytes";
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) throws IOException {
            long size = Math.min(target.byteSize(), content.length - offset);
            if (size <= 0) {
                return 0;
            }
            if (fails(offset, size)) {
                throw new IOException("a byte between %s and %s is bad".formatted(offset, offset + size));
            }
            long count = size > MAX ? size / 2 + 1 : size;
            MemorySegment.copy(MemorySegment.ofArray(content), offset, target, 0, count);
            return count;
        }

        @Override
        public long preferredRequestBytes() {
            return PREFERRED;
        }
    }
}
