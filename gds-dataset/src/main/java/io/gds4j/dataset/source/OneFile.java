package io.gds4j.dataset.source;

import java.nio.file.Path;
import java.util.List;

/** Records of different lengths in one file. */
abstract class OneFile implements RecordSource {
    private final List<Path> files;
    private final int records;
    private final long maxLength;

    OneFile(Path file, int records, long maxLength) {
        this.files = List.of(file);
        this.records = records;
        this.maxLength = maxLength;
    }

    @Override
    public final List<Path> files() {
        return files;
    }

    @Override
    public final long records() {
        return records;
    }

    @Override
    public final long maxLength() {
        return maxLength;
    }

    @Override
    public final boolean isFixedLength() {
        return false;
    }

    @Override
    public final int file(long record) {
        return 0;
    }
}
