package io.gds4j.dataset.source;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Records of one length at equal distances in one file.
 *
 * @param file the file
 * @param first offset of the first record, 0 or more
 * @param length bytes of a record, 1 or more
 * @param stride bytes from the begin of a record to the next, {@code length} or more
 * @param count number of records, 0 or more
 * @param element what the records consist of, as {@link RecordSource#elementType}; empty if unknown
 * @param shape as {@link RecordSource#shape}
 */
record RecordRows(Path file, long first, long length, long stride, long count, Optional<String> element,
        Optional<List<Long>> shape) {
    /**
     * Places records until the end of the file.
     *
     * @param size bytes of the file; after the last record its padding may be missing
     */
    static RecordRows toTheEnd(Path file, long size, long first, long length, long stride) {
        if (size < first) {
            throw RecordFormatException.malformed(
                    file, "the file has %s bytes, allowed: %s (the header) or more".formatted(size, first));
        }
        long rest = (size - first) % stride;
        if (rest != 0 && rest != length) {
            throw RecordFormatException.malformed(
                    file,
                    size - rest,
                    "%s bytes follow the last record, allowed: a header of %s bytes and whole records of %s bytes"
                            .formatted(rest, first, stride));
        }
        return new RecordRows(file, first, length, stride, (size - first) / stride + (rest == 0 ? 0 : 1),
                Optional.empty(), Optional.empty());
    }
}
