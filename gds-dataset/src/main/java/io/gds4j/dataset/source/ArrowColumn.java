package io.gds4j.dataset.source;

import io.gds4j.internal.text.InertText;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A column of an Arrow schema whose rows have one length, and where a record batch has it. */
final class ArrowColumn {
    /** Types by their number in the schema. */
    private static final String[] TYPES =
            {"None", "Null", "Int", "FloatingPoint", "Binary", "Utf8", "Bool", "Decimal", "Date",
                    "Time", "Timestamp", "Interval", "List", "Struct", "Union", "FixedSizeBinary", "FixedSizeList",
                    "Map", "Duration",
                    "LargeBinary", "LargeUtf8", "LargeList", "RunEndEncoded", "BinaryView", "Utf8View", "ListView",
                    "LargeListView"};
    /** Buffers that a column of each type has without its children; -1 where they depend on more. */
    private static final int[] BUFFERS =
            {-1, 0, 2, 2, 3, 3, 2, 2, 2, 2, 2, 2, 2, 1, -1, 2, 1, 2, 2, 3, 3, 2, -1, 2, 2, 3, 3};
    private static final int INT = 2;
    private static final int FLOATING_POINT = 3;
    private static final int FIXED_SIZE_BINARY = 15;
    private static final int FIXED_SIZE_LIST = 16;
    private static final int BINARY_VIEW = 23;
    private static final int UTF8_VIEW = 24;

    private static final int FIELD_NAME = 0;
    private static final int FIELD_TYPE = 2;
    private static final int FIELD_DETAILS = 3;
    private static final int FIELD_DICTIONARY = 4;
    private static final int FIELD_CHILDREN = 5;

    private static final int MAX_DEPTH = 64;
    /** Fewest bytes that a field of the schema takes: tables that refer to each other would have no end. */
    private static final int MIN_FIELD = 8;
    /** Bytes of a node (length and nulls) and of a buffer (offset and length) of a record batch. */
    private static final int PAIR = 16;

    private final Path file;
    private final String name;
    private final List<Long> shape = new ArrayList<>();
    private String element = "";
    private long rowBytes = 1;
    /** Nodes and buffers of the columns in front. */
    private int nodes;
    private int buffers;
    /** Columns of views in front: each batch says how many more buffers they have. */
    private int views;
    private int fieldsLeft;

    private ArrowColumn(Path file, String name, int schemaBytes) {
        this.file = file;
        this.name = name;
        this.fieldsLeft = schemaBytes / MIN_FIELD;
    }

    /**
     * Finds a column.
     *
     * @param wanted its name; null for the only one
     */
    static ArrowColumn of(Path file, FlatTable schema, @Nullable String wanted) {
        List<FlatTable> fields = schema.tables(1);
        List<String> names = new ArrayList<>();
        long left = schema.bytes().limit();
        for (FlatTable field : fields) {
            left -= Integer.BYTES + field.vector(FIELD_NAME, 1).limit();
            if (left < 0) {
                throw new IndexOutOfBoundsException("names overlap: they would take more memory than the schema");
            }
            names.add(field.text(FIELD_NAME));
        }
        int index = wanted == null ? 0 : names.indexOf(wanted);
        if (index < 0 || index >= names.size() || wanted == null && names.size() > 1
                || names.lastIndexOf(names.get(index)) > index) {
            throw RecordFormatException.malformed(file, "has columns %s, allowed: one of the name %s".formatted(
                    names.stream().limit(MAX_DEPTH).map(InertText::quote).collect(Collectors.joining(", ")),
                    wanted == null ? "that RecordFiles.arrow, or --column, tells" : InertText.quote(wanted)));
        }
        ArrowColumn column = new ArrowColumn(file, names.get(index), schema.bytes().limit());
        for (FlatTable field : fields.subList(0, index)) {
            column.pass(field, 0);
        }
        column.describe(fields.get(index), schema.int16(0) == 0 ? "<" : ">");
        return column;
    }

    /** Counts the nodes and buffers of a column in front. */
    private void pass(FlatTable field, int depth) {
        int type = field.uint8(FIELD_TYPE);
        boolean isDictionary = field.has(FIELD_DICTIONARY);
        int own = isDictionary ? 2 : type < BUFFERS.length ? BUFFERS[type] : -1;
        if (own < 0) {
            throw malformed("stands behind a column of type %s, allowed: in front of it".formatted(type(field)));
        }
        fieldsLeft--;
        if (depth == MAX_DEPTH || fieldsLeft < 0) {
            throw malformed("stands behind columns of more than %s levels".formatted(MAX_DEPTH));
        }
        nodes++;
        buffers += own;
        if (!isDictionary) {
            views += type == BINARY_VIEW || type == UTF8_VIEW ? 1 : 0;
            for (FlatTable child : field.tables(FIELD_CHILDREN)) {
                pass(child, depth + 1);
            }
        }
    }

    private void describe(FlatTable column, String byteOrder) {
        FlatTable field = column;
        while (field.uint8(FIELD_TYPE) == FIXED_SIZE_LIST && !field.has(FIELD_DICTIONARY) && shape.size() < MAX_DEPTH) {
            long length = field.table(FIELD_DETAILS).int32(0);
            shape.add(length);
            rowBytes = Math.multiplyExact(rowBytes, length);
            field = field.tables(FIELD_CHILDREN).get(0);
        }
        if (field.has(FIELD_DICTIONARY)) {
            throw malformed("is encoded by a dictionary, allowed: plain values; write column.dictionary_decode()");
        }
        int type = field.uint8(FIELD_TYPE);
        FlatTable details = field.has(FIELD_DETAILS) ? field.table(FIELD_DETAILS) : field;
        String kind;
        int bytes;
        if (type == INT) {
            kind = details.uint8(1) == 0 ? "u" : "i";
            bytes = List.of(8, 16, 32, 64).contains(details.int32(0)) ? details.int32(0) / Byte.SIZE : 0;
        } else if (type == FLOATING_POINT) {
            kind = "f";
            bytes = details.int16(0) >= 0 && details.int16(0) <= 2 ? Short.BYTES << details.int16(0) : 0;
        } else if (type == FIXED_SIZE_BINARY) {
            kind = "V";
            bytes = details.int32(0);
        } else {
            throw malformed("is of type %s, allowed: %s, %s, %s, and %s of these".formatted(type(field), TYPES[INT],
                    TYPES[FLOATING_POINT], TYPES[FIXED_SIZE_BINARY], TYPES[FIXED_SIZE_LIST]));
        }
        rowBytes = Math.multiplyExact(rowBytes, bytes);
        if (bytes < 1 || rowBytes < 1 || shape.stream().anyMatch(length -> length < 1)) {
            throw malformed("has rows of lengths %s and elements of %s bytes, allowed: 1 or more".formatted(
                    shape, bytes));
        }
        element = (bytes == 1 || kind.equals("V") ? "|" : byteOrder) + kind + bytes;
    }

    private static String type(FlatTable field) {
        int type = field.uint8(FIELD_TYPE);
        return type < TYPES.length ? TYPES[type] : String.valueOf(type);
    }

    /** Returns no rows, for a file without record batches. */
    RecordRows none() {
        return rows(0, 0);
    }

    /**
     * Returns the rows of a record batch.
     *
     * @param body where the body of the batch begins
     * @param bodyBytes its length
     */
    RecordRows rows(FlatTable batch, long body, long bodyBytes) {
        if (batch.has(3)) {
            String codec = batch.table(3).uint8(0) == 0 ? "lz4" : "zstd";
            throw malformed("has record batches compressed by %s, allowed: plain ones; write them with %s".formatted(
                    codec, "pyarrow.ipc.IpcWriteOptions(compression=None), or feather with 'uncompressed'"));
        }
        ByteBuffer lengths = batch.vector(1, PAIR);
        ByteBuffer places = batch.vector(2, PAIR);
        long count = batch.int64(0);
        long elements = count;
        for (int level = 0; level <= shape.size(); level++) {
            int node = (nodes + level) * PAIR;
            if (lengths.getLong(node) != elements || count < 0) {
                throw malformed("has %s rows or elements in a record batch, allowed: %s".formatted(
                        lengths.getLong(node), elements));
            }
            if (lengths.getLong(node + Long.BYTES) != 0) {
                throw malformed("has %s nulls in a record batch, allowed: none; write column.fill_null(…)".formatted(
                        lengths.getLong(node + Long.BYTES)));
            }
            elements = level == shape.size() ? elements : Math.multiplyExact(elements, shape.get(level));
        }
        ByteBuffer ofViews = batch.vector(4, Long.BYTES);
        long behind = buffers + shape.size() + 1L; // behind the validity of each level
        for (int view = 0; view < views; view++) {
            behind += ofViews.getLong(view * Long.BYTES);
        }
        int buffer = Math.toIntExact(Math.multiplyExact(behind, PAIR));
        long offset = places.getLong(buffer);
        long bytes = places.getLong(buffer + Long.BYTES);
        if (offset < 0 || bytes < Math.multiplyExact(count, rowBytes) || bytes > bodyBytes - offset) {
            throw malformed("has a buffer of %s bytes at %s for %s rows of %s bytes, allowed: in a body of %s bytes"
                    .formatted(bytes, offset, count, rowBytes, bodyBytes));
        }
        return rows(body + offset, count);
    }

    private RecordRows rows(long first, long count) {
        return new RecordRows(file, first, rowBytes, rowBytes, count, Optional.of(element),
                Optional.of(List.copyOf(shape)));
    }

    private RecordFormatException malformed(String detail) {
        return RecordFormatException.malformed(file, "column %s %s".formatted(InertText.quote(name), detail));
    }
}
