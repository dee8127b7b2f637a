package io.gds4j.dataset.source;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Records of one length in one or more files. */
final class FixedRecords implements RecordSource {
    private final List<Path> files;
    private final long[] firstOffsets;
    /** Number of the first record of each file, and the number of records at the end. */
    private final long[] starts;
    private final long length;
    private final long stride;
    private final Optional<String> element;
    private final Optional<List<Long>> shape;

    private FixedRecords(List<RecordRows> parts) {
        this.files = parts.stream().map(RecordRows::file).toList();
        this.firstOffsets = parts.stream().mapToLong(RecordRows::first).toArray();
        this.length = parts.getFirst().length();
        this.stride = parts.getFirst().stride();
        this.element = parts.getFirst().element();
        this.shape = JoinedRecords.common(parts, RecordRows::shape);
        this.starts = new long[parts.size() + 1];
        for (int i = 0; i < parts.size(); i++) {
            starts[i + 1] = Math.addExact(starts[i], parts.get(i).count());
        }
    }

    /** Joins files whose records have one shape. */
    static FixedRecords of(List<RecordRows> parts) {
        RecordRows first = parts.getFirst();
        for (RecordRows part : parts) {
            if (part.length() != first.length() || part.stride() != first.stride()
                    || !part.element().equals(first.element())) {
                throw RecordFormatException.malformed(
                        part.file(),
                        "has records of %s %s bytes, allowed: %s %s bytes as in %s".formatted(
                                part.length(), part.element().orElse(""), first.length(), first.element().orElse(""),
                                first.file()));
            }
        }
        return new FixedRecords(parts);
    }

    @Override
    public List<Path> files() {
        return files;
    }

    @Override
    public long records() {
        return starts[files.size()];
    }

    @Override
    public long maxLength() {
        return length;
    }

    @Override
    public boolean isFixedLength() {
        return true;
    }

    @Override
    public Optional<String> elementType() {
        return element;
    }

    @Override
    public Optional<List<Long>> shape() {
        return shape;
    }

    @Override
    public int file(long record) {
        if (starts.length == 2) {
            return 0;
        }
        int found = Arrays.binarySearch(starts, record);
        if (found < 0) {
            return -found - 2;
        }
        int file = found;
        while (starts[file + 1] == record) {
            file++; // passes files without records
        }
        return file;
    }

    @Override
    public long fileOffset(long record) {
        int file = file(record);
        return firstOffsets[file] + (record - starts[file]) * stride;
    }

    @Override
    public long length(long record) {
        return length;
    }

    @Override
    public String toString() {
        return "RecordSource[%s records of %s bytes in %s files]".formatted(records(), length, files.size());
    }
}
