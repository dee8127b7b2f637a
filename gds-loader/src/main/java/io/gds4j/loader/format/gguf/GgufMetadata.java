package io.gds4j.loader.format.gguf;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.source.FileVersion;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Metadata of a GGUF file. Keeps numbers and short strings, and the places of long strings and of arrays, which it reads when a
 * program asks for them.
 */
final class GgufMetadata implements Metadata {
    /** Longest string, in bytes, that is kept in memory. */
    static final int SHORT = 1024;
    /** Elements of a string array between two of its marks. */
    static final int MARK_DISTANCE = 4096;

    /** Longest string of the reference implementation, in bytes. */
    static final long MAX_STRING = 1 << 30;
    /** Most elements of an array in the reference implementation. */
    private static final long MAX_ELEMENTS = 1 << 30;
    /** Deepest nesting of arrays. ggml reads none, gguf-py any. */
    private static final int MAX_NESTED = 8;
    private static final long[] NO_MARKS = {};

    private final Map<String, Object> values;
    private final Set<String> keys;

    /**
     * A file whose values are read later.
     *
     * @param version version of the content that the header describes
     */
    record Source(Path path, FileVersion version) {
        /** @throws CheckpointException FILE_CHANGED if this is no longer the file whose header was read */
        FormatInput open() {
            FormatInput in = FormatInput.open(path);
            if (!in.version().isSameAs(version)) {
                in.close();
                throw CheckpointException.changed(path, version, in.version());
            }
            return in;
        }
    }

    /**
     * A string in the file.
     *
     * @param offset first byte of the text
     */
    record LongText(Source source, long offset, int length) {
        String read() {
            try (FormatInput in = source.open()) {
                return new String(in.read(offset, length).array(), StandardCharsets.UTF_8);
            }
        }
    }

    /**
     * An array in the file.
     *
     * @param offset first byte of the first element
     * @param marks for strings and arrays, offsets of every {@link #MARK_DISTANCE}th element; empty for other types
     */
    static final class FileArray implements MetadataValue.Array {
        private final Source source;
        private final GgufValueType type;
        private final long size;
        private final long offset;
        private final long[] marks;

        private FileArray(Source source, GgufValueType type, long size, long offset, long[] marks) {
            this.source = source;
            this.type = type;
            this.size = size;
            this.offset = offset;
            this.marks = marks;
        }

        /** Reads the description of an array and skips its elements, which it checks. */
        static FileArray read(GgufCursor in, Source source, String what) {
            GgufValueType type = GgufValueType.read(in, what);
            long count = count(in, type, what);
            long begin = in.offset();
            return new FileArray(source, type, count, begin, skip(in, type, count, what, 1));
        }

        private static long count(GgufCursor in, GgufValueType type, String what) {
            long at = in.offset();
            long count = in.int64(what);
            if (Long.compareUnsigned(count, MAX_ELEMENTS) > 0) {
                throw in.failure(
                        GgufRules.VALUE,
                        at,
                        "%s has %s elements, at most %s are allowed"
                                .formatted(what, Long.toUnsignedString(count), MAX_ELEMENTS));
            }
            if (count * type.bytes > in.left()) {
                throw in.failure(
                        GgufRules.TRUNCATED,
                        at,
                        "%s has %s elements of %s bytes or more, but only %s bytes are left in the file"
                                .formatted(what, count, type.bytes, in.left()));
            }
            return count;
        }

        /** Skips elements; returns the marks. The depth bounds the recursion. */
        private static long[] skip(GgufCursor in, GgufValueType type, long count, String what, int depth) {
            if (type == GgufValueType.BOOL) {
                for (long i = 0; i < count; i++) {
                    GgufValueType.truth(in, what);
                }
                return NO_MARKS;
            }
            if (type != GgufValueType.STRING && type != GgufValueType.ARRAY) {
                in.skip(count * type.bytes, what);
                return NO_MARKS;
            }
            if (type == GgufValueType.ARRAY && depth == MAX_NESTED) {
                throw in.failure(
                        GgufRules.VALUE, in.offset(), "%s has arrays within arrays, deeper than %s levels"
                                .formatted(what, MAX_NESTED));
            }
            // the file has at least 8 bytes for each element, so the marks take at most 1/4096 of its size
            long[] marks = new long[(int) Math.ceilDiv(count, MARK_DISTANCE)];
            for (long i = 0; i < count; i++) {
                if (i % MARK_DISTANCE == 0) {
                    marks[(int) (i / MARK_DISTANCE)] = in.offset();
                }
                skipElement(in, type, what, depth);
            }
            return marks;
        }

        private static void skipElement(GgufCursor in, GgufValueType type, String what, int depth) {
            if (type == GgufValueType.STRING) {
                in.skipString(MAX_STRING, GgufRules.VALUE, what);
            } else {
                GgufValueType inner = GgufValueType.read(in, what);
                skip(in, inner, count(in, inner, what), what, depth + 1);
            }
        }

        @Override
        public String elementType() {
            return type.name();
        }

        @Override
        public long size() {
            return size;
        }

        @Override
        public List<MetadataValue> values(long first, int count) {
            if (first < 0 || count < 0 || first > size - count) {
                throw CuFileException.of(CuFileError.INVALID_VALUE, "MetadataValue.Array.values", source.path,
                        "%s elements from %s on are not within the array of %s".formatted(count, first, size));
            }
            if (count == 0) {
                return List.of();
            }
            try (FormatInput in = source.open()) {
                return type == GgufValueType.STRING || type == GgufValueType.ARRAY
                        ? marked(in, first, count)
                        : scalars(in, first, count);
            }
        }

        private List<MetadataValue> scalars(FormatInput in, long first, int count) {
            GgufCursor cursor = new GgufCursor(in, offset + first * type.bytes);
            List<MetadataValue> found = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                found.add(type.scalar(cursor, "an element"));
            }
            return Collections.unmodifiableList(found);
        }

        private List<MetadataValue> marked(FormatInput in, long first, int count) {
            String what = "an element";
            int mark = (int) (first / MARK_DISTANCE);
            GgufCursor cursor = new GgufCursor(in, marks[mark]);
            for (long i = (long) mark * MARK_DISTANCE; i < first; i++) {
                skipElement(cursor, type, what, 1);
            }
            List<MetadataValue> found = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                if (type == GgufValueType.STRING) {
                    long length = cursor.stringLength(MAX_STRING, GgufRules.VALUE, what);
                    byte[] text = cursor.bytes((int) length, what);
                    found.add(new Text(new String(text, StandardCharsets.UTF_8)));
                } else {
                    found.add(read(cursor, source, what));
                }
            }
            return Collections.unmodifiableList(found);
        }

        @Override
        public String toString() {
            return "%s[%s]".formatted(type, size);
        }
    }

    /**
     * Creates metadata.
     *
     * @param values by key a {@link MetadataValue} or a {@link LongText}
     */
    GgufMetadata(Map<String, Object> values) {
        this.values = new LinkedHashMap<>(values);
        this.keys = Collections.unmodifiableSet(this.values.keySet());
    }

    @Override
    public Set<String> keys() {
        return keys;
    }

    @Override
    public Optional<MetadataValue> get(String key) {
        Object value = values.get(key);
        if (value instanceof LongText text) {
            return Optional.of(new MetadataValue.Text(text.read()));
        }
        return Optional.ofNullable((MetadataValue) value);
    }
}
