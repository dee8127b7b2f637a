package io.gds4j.dataset.source;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Records of different lengths that follow each other in one file, without gaps. */
final class VariableRecords implements RecordSource {
    private final List<Path> files;
    /** Offset of each record, and the end of the last. */
    private final long[] offsets;
    private final long maxLength;
    private final String element;

    /**
     * Takes the array, which the caller has checked: it never decreases.
     *
     * @param element type that records consist of, as {@link RecordSource#elementType}
     */
    VariableRecords(Path file, String element, long[] offsets) {
        this.element = element;
        this.files = List.of(file);
        this.offsets = offsets;
        long longest = 0;
        for (int i = 0; i + 1 < offsets.length; i++) {
            longest = Math.max(longest, offsets[i + 1] - offsets[i]);
        }
        this.maxLength = longest;
    }

    /** Joins files whose records consist of one type. */
    static RecordSource join(List<VariableRecords> parts) {
        VariableRecords first = parts.getFirst();
        for (VariableRecords part : parts) {
            if (!part.element.equals(first.element)) {
                throw RecordFormatException.malformed(part.files.getFirst(),
                        "has records of %s tokens, allowed: %s tokens as in %s"
                                .formatted(part.element, first.element, first.files.getFirst()));
            }
        }
        return RecordFiles.join(parts);
    }

    @Override
    public List<Path> files() {
        return files;
    }

    @Override
    public long records() {
        return offsets.length - 1L;
    }

    @Override
    public long maxLength() {
        return maxLength;
    }

    @Override
    public boolean isFixedLength() {
        return false;
    }

    @Override
    public Optional<String> elementType() {
        return Optional.of(element);
    }

    @Override
    public int file(long record) {
        return 0;
    }

    @Override
    public long fileOffset(long record) {
        return offsets[(int) record];
    }

    @Override
    public long length(long record) {
        return offsets[(int) record + 1] - offsets[(int) record];
    }
}
