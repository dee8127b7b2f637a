package io.gds4j.dataset.source;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.zip.CRC32C;

/** Reads where the records of a TFRecord file are. Each has its length in front, the length's checksum behind that, and its own checksum at the end. */
final class TfRecords {
    private static final int HEADER = Long.BYTES + Integer.BYTES;
    private static final int FRAME = HEADER + Integer.BYTES;
    /** What TensorFlow adds to a turned checksum, so that checksums of checksums stay good. */
    private static final int MASK = 0xa282ead8;
    private static final int TURN = 15;

    private TfRecords() {
    }

    /** Reads the lengths and checksums of a file. */
    static VariableRecords read(Path path) {
        try (HeaderFile file = HeaderFile.open(path)) {
            HeaderScan scan = new HeaderScan(file);
            Longs begins = new Longs();
            Longs checksums = new Longs();
            long at = 0;
            while (at < file.size()) {
                if (begins.size() == Longs.MAX - 1) {
                    throw RecordFormatException.malformed(path, at,
                            "has more than %s records".formatted(Longs.MAX - 1));
                }
                long length = length(file, at, scan.at(at, HEADER, "the length of a record"));
                begins.add(at + HEADER);
                ByteBuffer checksum = scan.at(at + HEADER + length, Integer.BYTES, "the checksum of a record");
                checksums.add(unmasked(checksum.getInt()));
                at += FRAME + length;
            }
            begins.add(at + HEADER);
            return VariableRecords.withGaps(path, begins.toArray(), FRAME, checksums.toArray());
        }
    }

    private static long length(HeaderFile file, long at, ByteBuffer header) {
        long length = header.getLong();
        long expected = unmasked(header.getInt());
        CRC32C crc = new CRC32C();
        crc.update(header.flip().limit(Long.BYTES));
        if (crc.getValue() != expected) {
            if (at == 0) {
                Packed.refuse(file, "TFRecord file");
            }
            throw RecordFormatException.malformed(file.path(), at,
                    "is no record of a TFRecord file: the checksum of its length is 0x%s, allowed: 0x%s".formatted(
                            Long.toHexString(expected), Long.toHexString(crc.getValue())));
        }
        if (length < 0 || length > file.size() - at - FRAME) {
            throw RecordFormatException.malformed(file.path(), at,
                    "the file has %s bytes and ends inside a record of %s bytes".formatted(
                            file.size(), Long.toUnsignedString(length)));
        }
        return length;
    }

    private static long unmasked(int masked) {
        return Integer.toUnsignedLong(Integer.rotateLeft(masked - MASK, TURN));
    }
}
