package io.gds4j.dataset.source;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads where the record batches of an Arrow IPC file or stream have a column. */
final class ArrowFile {
    private static final String MAGIC = "ARROW1";
    /** Bytes behind the footer: its length and the magic. */
    private static final int TAIL = 10;
    /** Most bytes of a footer or of the metadata of a batch. */
    private static final int MAX_METADATA = 16 << 20;
    /** Bytes of a block of the footer: offset, length of metadata, length of the body. */
    private static final int BLOCK = 24;
    private static final int BLOCK_BODY = 16;
    /** In front of the length of a message since version 0.15. */
    private static final int CONTINUATION = -1;
    /** Number of version 4 of the metadata: from Arrow 0.8 on. */
    private static final int VERSION_4 = 3;
    private static final int SCHEMA = 1;
    private static final int RECORD_BATCH = 3;

    private final HeaderFile file;
    private final HeaderScan scan;
    private final @Nullable String name;
    private final List<RecordRows> rows = new ArrayList<>();
    private @Nullable ArrowColumn column;
    /** Where the current message begins. */
    private long at;

    private ArrowFile(HeaderFile file, @Nullable String name) {
        this.file = file;
        this.scan = new HeaderScan(file);
        this.name = name;
    }

    /**
     * Returns the rows of each record batch, or none of a file without.
     *
     * @param column name of the column; null for the only one
     */
    static List<RecordRows> read(Path path, @Nullable String column) {
        try (HeaderFile file = HeaderFile.open(path)) {
            ArrowFile arrow = new ArrowFile(file, column);
            try {
                return arrow.read();
            } catch (IndexOutOfBoundsException | ArithmeticException e) {
                throw RecordFormatException.malformed(path, arrow.at, "the metadata of Arrow are malformed");
            }
        }
    }

    private List<RecordRows> read() {
        if (file.size() > MAGIC.length() && startsWithMagic(0)) {
            readBlocks();
        } else {
            readStream();
        }
        if (column == null) {
            throw malformed("is no Arrow file: it has no schema");
        }
        if (rows.isEmpty()) {
            rows.add(column.none());
        }
        return rows;
    }

    private boolean startsWithMagic(long offset) {
        ByteBuffer found = file.read(offset, MAGIC.length(), "the magic of Arrow");
        return StandardCharsets.ISO_8859_1.decode(found).toString().equals(MAGIC);
    }

    /** Follows the footer. */
    private void readBlocks() {
        at = file.size() - TAIL;
        if (at < MAGIC.length() || !startsWithMagic(file.size() - MAGIC.length())) {
            throw malformed("does not end with ARROW1: its writer was not closed");
        }
        int length = file.read(at, Integer.BYTES, "the length of the footer").getInt();
        if (length < 0 || length > Math.min(MAX_METADATA, at)) {
            throw malformed("has a footer of %s bytes, allowed in this file: 0 to %s".formatted(
                    length, Math.min(MAX_METADATA, at)));
        }
        long end = at - length;
        at = end;
        FlatTable footer = FlatTable.root(file.read(at, length, "the footer"));
        column = ArrowColumn.of(file.path(), footer.table(1), name);
        ByteBuffer blocks = footer.vector(3, BLOCK);
        long least = MAGIC.length();
        for (int block = 0; block < blocks.limit(); block += BLOCK) {
            at = blocks.getLong(block);
            if (at < least || at > end) {
                throw malformed("a record batch begins at %s, allowed: %s to %s".formatted(at, least, end));
            }
            long metadata = Integer.toUnsignedLong(blocks.getInt(block + Long.BYTES));
            least = message(end);
            if (rows.size() * BLOCK != block + BLOCK) {
                throw malformed("is no record batch, though the footer says so");
            }
            if (metadata + blocks.getLong(block + BLOCK_BODY) != least - at) {
                throw malformed("a record batch has %s bytes, its footer says %s of metadata and %s of body".formatted(
                        least - at, metadata, blocks.getLong(block + BLOCK_BODY)));
            }
        }
    }

    private void readStream() {
        while (at < file.size()) {
            long next = message(file.size());
            if (next == at) {
                return;
            }
            at = next;
        }
    }

    /** Reads a message; returns where the next begins, or the same place at the end of a stream. */
    private long message(long end) {
        int length = scan.at(at, Integer.BYTES, "the length of a message").getInt();
        long begin = at + Integer.BYTES;
        if (length == CONTINUATION) {
            length = scan.at(begin, Integer.BYTES, "the length of a message").getInt();
            begin += Integer.BYTES;
        }
        if (length == 0) {
            return at;
        }
        if (length < 0 || length > Math.min(MAX_METADATA, end - begin)) {
            throw malformed("is no message of Arrow: its metadata have %s bytes, allowed: 0 to %s".formatted(
                    length, Math.min(MAX_METADATA, end - begin)));
        }
        FlatTable message = FlatTable.root(scan.at(begin, length, "a message"));
        int version = message.int16(0);
        if (version < VERSION_4 || version > VERSION_4 + 1) {
            throw malformed("has metadata of version %s, allowed: 4 and 5".formatted(version + 1));
        }
        long body = begin + length;
        long bodyBytes = message.int64(3);
        if (bodyBytes < 0 || bodyBytes > end - body) {
            throw malformed("ends inside a message: its body has %s bytes, allowed: 0 to %s".formatted(
                    bodyBytes, end - body));
        }
        int type = message.uint8(1);
        if (type == SCHEMA && column == null) {
            column = ArrowColumn.of(file.path(), message.table(2), name);
        } else if (type == RECORD_BATCH && column != null) {
            rows.add(column.rows(message.table(2), body, bodyBytes));
        }
        return body + bodyBytes;
    }

    private RecordFormatException malformed(String detail) {
        return RecordFormatException.malformed(file.path(), at, detail);
    }
}
