package io.gds4j.dataset.source;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** Records of one length in one or more files, each of which may have several rows of them. */
final class FixedRecords implements RecordSource {
    private final List<Path> files;
    /** File of each part. */
    private final int[] fileOf;
    private final long[] firstOffsets;
    /** Number of the first record of each part, and the number of records at the end. */
    private final long[] starts;
    private final long length;
    private final long stride;
    private final Optional<String> element;
    private final Optional<List<Long>> shape;

    private FixedRecords(List<RecordRows> parts) {
        this.fileOf = new int[parts.size()];
        for (int i = 1; i < fileOf.length; i++) {
            fileOf[i] = fileOf[i - 1] + (parts.get(i).file() == parts.get(i - 1).file() ? 0 : 1);
        }
        this.files = IntStream.range(0, fileOf.length).filter(i -> i == 0 || fileOf[i] > fileOf[i - 1])
                .mapToObj(i -> parts.get(i).file()).toList();
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
        return starts[firstOffsets.length];
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
        return fileOf[JoinedRecords.part(starts, record)];
    }

    @Override
    public long fileOffset(long record) {
        int part = JoinedRecords.part(starts, record);
        return firstOffsets[part] + (record - starts[part]) * stride;
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
