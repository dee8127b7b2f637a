package io.gds4j.dataset.source;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Records of different lengths that follow each other in one file, with equal gaps or none. */
class VariableRecords extends OneFile {
    /** Offset of each record, and where one behind the last would begin. */
    private final long[] offsets;
    private final int gap;
    /** Checksum of each record; empty if the file has none. */
    private final long[] checksums;
    private final Optional<String> element;

    VariableRecords(Path file, Optional<String> element, long[] offsets, int gap, long[] checksums) {
        long longest = 0;
        for (int i = 0; i + 1 < offsets.length; i++) {
            longest = Math.max(longest, offsets[i + 1] - offsets[i] - gap);
        }
        super(file, offsets.length - 1, longest);
        this.element = element;
        this.offsets = offsets;
        this.gap = gap;
        this.checksums = checksums;
    }

    /**
     * Returns records without gaps. Takes the array, which the caller has checked: it never decreases.
     *
     * @param element type that records consist of, as {@link RecordSource#elementType}
     */
    static VariableRecords of(Path file, String element, long[] offsets) {
        return new VariableRecords(file, Optional.of(element), offsets, 0, new long[0]);
    }

    /**
     * Returns records with gaps. Takes the arrays, which the caller has checked.
     *
     * @param gap bytes from the end of a record to the next one
     * @param checksums as {@link RecordSource#crc32c}, one for each record
     */
    static VariableRecords withGaps(Path file, long[] offsets, int gap, long[] checksums) {
        return new VariableRecords(file, Optional.empty(), offsets, gap, checksums);
    }

    /** Checks that the records of all files consist of one type. */
    static List<VariableRecords> ofOneType(List<VariableRecords> parts) {
        VariableRecords first = parts.getFirst();
        for (VariableRecords part : parts) {
            if (!part.element.equals(first.element)) {
                throw RecordFormatException.malformed(part.files().getFirst(),
                        "has records of %s tokens, allowed: %s tokens as in %s"
                                .formatted(part.element.orElseThrow(), first.element.orElseThrow(),
                                        first.files().getFirst()));
            }
        }
        return parts;
    }

    @Override
    public Optional<String> elementType() {
        return element;
    }

    @Override
    public long fileOffset(long record) {
        return offsets[(int) record];
    }

    @Override
    public long length(long record) {
        return offsets[(int) record + 1] - offsets[(int) record] - gap;
    }

    @Override
    public long crc32c(long record) {
        return checksums.length == 0 ? -1 : checksums[(int) record];
    }
}
