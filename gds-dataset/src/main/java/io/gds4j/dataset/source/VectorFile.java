package io.gds4j.dataset.source;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The files of vector-search data sets, told by their extension. */
enum VectorFile {
    FVECS("fvecs", "<f4", 4, true),
    IVECS("ivecs", "<i4", 4, true),
    BVECS("bvecs", "|u1", 1, true),
    FBIN("fbin", "<f4", 4, false),
    IBIN("ibin", "<i4", 4, false),
    U8BIN("u8bin", "|u1", 1, false),
    I8BIN("i8bin", "|i1", 1, false);

    private static final int BIN_HEADER = 8;

    private final String extension;
    private final String element;
    private final int elementBytes;
    /** True if each vector has its dimension in front, false if the file has one header. */
    private final boolean prefixed;

    VectorFile(String extension, String element, int elementBytes, boolean prefixed) {
        this.extension = extension;
        this.element = element;
        this.elementBytes = elementBytes;
        this.prefixed = prefixed;
    }

    /** Returns the format that the file's name tells. */
    static Optional<VectorFile> of(Path path) {
        String name = String.valueOf(path.getFileName()).toLowerCase(Locale.ROOT);
        return Arrays.stream(values()).filter(format -> name.endsWith("." + format.extension)).findFirst();
    }

    static List<String> extensions() {
        return Arrays.stream(values()).map(format -> format.extension).toList();
    }

    RecordRows rows(Path path) {
        try (HeaderFile file = HeaderFile.open(path)) {
            return prefixed ? prefixedRows(file) : plainRows(file);
        }
    }

    /** Checks the first and the last prefix: those of the others would cost a pass over the file. */
    private RecordRows prefixedRows(HeaderFile file) {
        long dimension = dimension(file, 0);
        long length = dimension * elementBytes;
        long stride = Integer.BYTES + length;
        if (file.size() % stride != 0) {
            throw RecordFormatException.malformed(
                    file.path(),
                    file.size() - file.size() % stride,
                    "the file has %s bytes, allowed: a multiple of %s (vectors of dimension %s)".formatted(
                            file.size(), stride, dimension));
        }
        long count = file.size() / stride;
        long last = dimension(file, (count - 1) * stride);
        if (last != dimension) {
            throw RecordFormatException.malformed(
                    file.path(),
                    (count - 1) * stride,
                    "the last vector has dimension %s, the first has %s".formatted(last, dimension));
        }
        return new RecordRows(file.path(), Integer.BYTES, length, stride, count, Optional.of(element),
                shape(dimension));
    }

    private static long dimension(HeaderFile file, long offset) {
        int dimension = file.read(offset, Integer.BYTES, "the dimension of a vector").getInt();
        if (dimension < 1) {
            throw RecordFormatException.malformed(
                    file.path(), offset, "a vector has dimension %s, allowed: 1 or more".formatted(dimension));
        }
        return dimension;
    }

    private static Optional<List<Long>> shape(long dimension) {
        return Optional.of(List.of(dimension));
    }

    private RecordRows plainRows(HeaderFile file) {
        ByteBuffer header = file.read(0, BIN_HEADER, "the header of 8 bytes");
        long count = Integer.toUnsignedLong(header.getInt());
        long dimension = Integer.toUnsignedLong(header.getInt());
        if (dimension < 1) {
            throw RecordFormatException.malformed(file.path(), 4, "the dimension is 0, allowed: 1 or more");
        }
        long length = dimension * elementBytes; // below 2^34
        if (Math.multiplyHigh(count, length) != 0 || count * length != file.size() - BIN_HEADER) {
            throw RecordFormatException.malformed(
                    file.path(),
                    "the file has %s bytes of data, the header says %s vectors of %s bytes".formatted(
                            file.size() - BIN_HEADER, count, length));
        }
        return new RecordRows(file.path(), BIN_HEADER, length, length, count, Optional.of(element),
                shape(dimension));
    }
}
