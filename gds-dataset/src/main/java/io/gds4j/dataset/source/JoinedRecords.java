package io.gds4j.dataset.source;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;

/** Several sources, one after the other. */
final class JoinedRecords implements RecordSource {
    private final List<RecordSource> parts;
    private final List<Path> files;
    /** Number of the first record of each part, and the number of records at the end. */
    private final long[] starts;
    private final int[] firstFiles;
    private final long maxLength;
    private final boolean fixedLength;
    private final List<String> names;
    private final int headBytes;

    JoinedRecords(List<RecordSource> parts) {
        this.parts = List.copyOf(parts);
        this.files = parts.stream().flatMap(part -> part.files().stream()).toList();
        this.starts = new long[parts.size() + 1];
        this.firstFiles = new int[parts.size()];
        for (int i = 0; i < parts.size(); i++) {
            starts[i + 1] = Math.addExact(starts[i], parts.get(i).records());
            firstFiles[i] = i == 0 ? 0 : firstFiles[i - 1] + parts.get(i - 1).files().size();
        }
        this.maxLength = parts.stream().mapToLong(RecordSource::maxLength).max().orElse(0);
        long longest = maxLength;
        this.fixedLength = parts.stream().allMatch(part -> part.isFixedLength() && part.maxLength() == longest);
        // once: a program asks for parts of each record, and there may be thousands of files
        this.names = parts.stream().flatMap(part -> part.parts().stream()).distinct().toList();
        this.headBytes = parts.stream().mapToInt(RecordSource::headBytes).max().orElse(0);
    }

    private int part(long record) {
        return part(starts, record);
    }

    /** Returns the part of a record: the last that starts at or in front of it. Those without records are passed. */
    static int part(long[] starts, long record) {
        if (starts.length == 2) {
            return 0;
        }
        int found = Arrays.binarySearch(starts, record);
        if (found < 0) {
            return -found - 2;
        }
        while (starts[found + 1] == record) {
            found++;
        }
        return found;
    }

    @Override
    public List<Path> files() {
        return files;
    }

    @Override
    public long records() {
        return starts[parts.size()];
    }

    @Override
    public long maxLength() {
        return maxLength;
    }

    @Override
    public boolean isFixedLength() {
        return fixedLength;
    }

    @Override
    public Optional<String> elementType() {
        return common(parts, RecordSource::elementType);
    }

    @Override
    public Optional<List<Long>> shape() {
        return common(parts, RecordSource::shape);
    }

    /** Returns what all parts have; empty if they differ. */
    static <P, T> Optional<T> common(List<P> parts, Function<P, Optional<T>> property) {
        List<Optional<T>> values = parts.stream().map(property).distinct().limit(2).toList();
        return values.size() == 1 ? values.getFirst() : Optional.empty();
    }

    @Override
    public int file(long record) {
        int part = part(record);
        return firstFiles[part] + parts.get(part).file(record - starts[part]);
    }

    @Override
    public long fileOffset(long record) {
        int part = part(record);
        return parts.get(part).fileOffset(record - starts[part]);
    }

    @Override
    public long length(long record) {
        int part = part(record);
        return parts.get(part).length(record - starts[part]);
    }

    @Override
    public List<String> parts() {
        return names;
    }

    @Override
    public int headBytes() {
        return headBytes;
    }

    @Override
    public long partOffset(long record, String name, ByteBuffer head) {
        int part = part(record);
        return parts.get(part).partOffset(record - starts[part], name, head);
    }

    @Override
    public long partLength(long record, String name, ByteBuffer head) {
        int part = part(record);
        return parts.get(part).partLength(record - starts[part], name, head);
    }

    @Override
    public long crc32c(long record) {
        int part = part(record);
        return parts.get(part).crc32c(record - starts[part]);
    }

    @Override
    public void verifyFiles() {
        parts.forEach(RecordSource::verifyFiles);
    }

    @Override
    public Optional<String> key(long record) {
        int part = part(record);
        return parts.get(part).key(record - starts[part]);
    }
}
