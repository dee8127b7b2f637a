package io.gds4j.dataset.source;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Reads the index (.idx) of a Megatron data set; its tokens are in the .bin file. */
final class MegatronIndex {
    private static final byte[] MAGIC = "MMIDIDX\0\0".getBytes(StandardCharsets.ISO_8859_1);
    private static final int HEADER = 34;
    private static final int VERSION_AT = 9;
    private static final int TYPE_AT = 17;
    private static final int SEQUENCES_AT = 18;
    private static final int DOCUMENTS_AT = 26;
    /** Bytes of a token by the index's code of its type, and the type as numpy writes it. */
    private static final int[] TOKEN_BYTES = {0, 1, 1, 2, 4, 8, 8, 4, 2};
    private static final String[] TOKENS = {"", "|u1", "|i1", "<i2", "<i4", "<i8", "<f8", "<f4", "<u2"};
    /** Bytes of the index for each sequence: its length and its pointer. */
    private static final long PER_SEQUENCE = 12;
    private static final long MAX_SEQUENCES = Integer.MAX_VALUE - 16;

    private final HeaderFile index;
    private final long sequences;
    private final int type;

    private MegatronIndex(HeaderFile index, long sequences, int type) {
        this.index = index;
        this.sequences = sequences;
        this.type = type;
    }

    /** Returns one record for each sequence. */
    static VariableRecords read(Path bin, Path idx) {
        try (HeaderFile index = HeaderFile.open(idx)) {
            MegatronIndex header = header(index);
            long[] offsets = header.offsets();
            long size = size(bin);
            long end = offsets[offsets.length - 1];
            if (end > size) {
                throw RecordFormatException.malformed(
                        bin, "the file has %s bytes, the index %s needs %s".formatted(size, idx, end));
            }
            return VariableRecords.of(bin, TOKENS[header.type], offsets);
        }
    }

    private static long size(Path bin) {
        try {
            return Files.size(bin);
        } catch (IOException e) {
            throw RecordFormatException.of(bin, e);
        }
    }

    private static MegatronIndex header(HeaderFile index) {
        ByteBuffer header = index.read(0, HEADER, "the header of the index");
        byte[] magic = new byte[MAGIC.length];
        header.get(magic);
        if (!Arrays.equals(magic, MAGIC)) {
            throw RecordFormatException.malformed(index.path(), 0, "is no index: it does not begin with MMIDIDX");
        }
        long version = header.getLong(VERSION_AT);
        if (version != 1) {
            throw RecordFormatException.malformed(
                    index.path(), VERSION_AT, "version %s, allowed: 1".formatted(Long.toUnsignedString(version)));
        }
        int type = header.get(TYPE_AT);
        if (type < 1 || type >= TOKEN_BYTES.length) {
            throw RecordFormatException.malformed(
                    index.path(), TYPE_AT, "type of tokens %s, allowed: 1 to 8".formatted(type));
        }
        long sequences = header.getLong(SEQUENCES_AT);
        long documents = header.getLong(DOCUMENTS_AT);
        long largest = Math.min(MAX_SEQUENCES, (index.size() - HEADER) / PER_SEQUENCE);
        if (sequences < 0 || sequences > largest) {
            throw RecordFormatException.malformed(
                    index.path(),
                    SEQUENCES_AT,
                    "%s sequences, allowed in this file: 0 to %s".formatted(
                            Long.toUnsignedString(sequences), largest));
        }
        long room = (index.size() - HEADER - sequences * PER_SEQUENCE) / Long.BYTES;
        if (documents < 1 || documents > room) {
            throw RecordFormatException.malformed(
                    index.path(),
                    DOCUMENTS_AT,
                    "%s entries of documents, allowed in this file: 1 to %s".formatted(
                            Long.toUnsignedString(documents), room));
        }
        return new MegatronIndex(index, sequences, type);
    }

    /** Reads the lengths, and checks that the pointers follow from them. */
    private long[] offsets() {
        long[] offsets = new long[(int) sequences + 1];
        HeaderScan scan = new HeaderScan(index);
        for (int i = 0; i < sequences; i++) {
            long at = HEADER + (long) i * Integer.BYTES;
            int length = scan.at(at, Integer.BYTES, "the lengths").getInt();
            if (length < 0) {
                throw RecordFormatException.malformed(
                        index.path(), at, "sequence %s has %s tokens, allowed: 0 or more".formatted(i, length));
            }
            offsets[i + 1] = offsets[i] + (long) length * TOKEN_BYTES[type]; // below 2^31 times 2^34
            if (offsets[i + 1] < 0) {
                throw RecordFormatException.malformed(index.path(), "the sequences have 2^63 bytes or more");
            }
        }
        for (int i = 0; i < sequences; i++) {
            long at = HEADER + sequences * Integer.BYTES + (long) i * Long.BYTES;
            long pointer = scan.at(at, Long.BYTES, "the pointers").getLong();
            if (pointer != offsets[i]) {
                throw RecordFormatException.malformed(
                        index.path(),
                        at,
                        "sequence %s begins at %s, allowed: %s, the end of the sequence before".formatted(
                                i, pointer, offsets[i]));
            }
        }
        return offsets;
    }
}
