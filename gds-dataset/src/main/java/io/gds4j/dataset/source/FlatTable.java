package io.gds4j.dataset.source;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.AbstractList;
import java.util.List;
import java.util.Objects;

/**
 * A table of FlatBuffers: fields by number, each of which may be absent. Malformed bytes cause an IndexOutOfBoundsException.
 *
 * @param bytes what holds the table, little-endian
 * @param at where the table begins
 */
record FlatTable(ByteBuffer bytes, int at) {
    private static final int VTABLE_HEADER = 4;

    /** Returns the table that bytes begin with. */
    static FlatTable root(ByteBuffer bytes) {
        return new FlatTable(bytes, bytes.getInt(0));
    }

    boolean has(int field) {
        return place(field) > 0;
    }

    /** Returns where a field is; 0 if it is absent. */
    private int place(int field) {
        int vtable = at - bytes.getInt(at);
        int slot = VTABLE_HEADER + field * Short.BYTES;
        int inTable = slot < Short.toUnsignedInt(bytes.getShort(vtable))
                ? Short.toUnsignedInt(bytes.getShort(vtable + slot))
                : 0;
        return inTable == 0 ? 0 : at + inTable;
    }

    long int64(int field) {
        int place = place(field);
        return place == 0 ? 0 : bytes.getLong(place);
    }

    int int32(int field) {
        int place = place(field);
        return place == 0 ? 0 : bytes.getInt(place);
    }

    int int16(int field) {
        int place = place(field);
        return place == 0 ? 0 : bytes.getShort(place);
    }

    int uint8(int field) {
        int place = place(field);
        return place == 0 ? 0 : Byte.toUnsignedInt(bytes.get(place));
    }

    /** Returns what a field refers to: a table, or the number of elements in front of a vector. */
    private int target(int field) {
        int place = place(field);
        if (place == 0) {
            throw new IndexOutOfBoundsException("field " + field + " is absent");
        }
        return place + bytes.getInt(place);
    }

    FlatTable table(int field) {
        return new FlatTable(bytes, target(field));
    }

    /** Returns a text, or bytes, as UTF-8. */
    String text(int field) {
        return has(field) ? StandardCharsets.UTF_8.decode(vector(field, 1)).toString() : "";
    }

    /** Returns the elements of a vector; none if it is absent. */
    ByteBuffer vector(int field, int elementBytes) {
        if (!has(field)) {
            return ByteBuffer.allocate(0);
        }
        int vector = target(field);
        int count = bytes.getInt(vector);
        Objects.checkIndex(count, bytes.limit() / elementBytes + 1);
        return bytes.slice(vector + Integer.BYTES, count * elementBytes).order(bytes.order());
    }

    /** Returns the tables of a vector. */
    List<FlatTable> tables(int field) {
        int count = vector(field, Integer.BYTES).limit() / Integer.BYTES;
        int first = count == 0 ? 0 : target(field) + Integer.BYTES;
        return new AbstractList<>() {
            @Override
            public FlatTable get(int index) {
                int place = first + Objects.checkIndex(index, count) * Integer.BYTES;
                return new FlatTable(bytes, place + bytes.getInt(place));
            }

            @Override
            public int size() {
                return count;
            }
        };
    }
}
