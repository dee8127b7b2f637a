package io.gds4j.loader;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Makes GGUF files field by field, valid or not. Shares no code with the reader. */
final class GgufBytes {
    static final int UINT8 = 0;
    static final int INT8 = 1;
    static final int UINT16 = 2;
    static final int INT16 = 3;
    static final int UINT32 = 4;
    static final int INT32 = 5;
    static final int FLOAT32 = 6;
    static final int BOOL = 7;
    static final int STRING = 8;
    static final int ARRAY = 9;
    static final int UINT64 = 10;
    static final int INT64 = 11;
    static final int FLOAT64 = 12;

    private record Tensor(byte[] name, int dimensions, long[] ne, int type, long offset, long bytes) {
    }

    private final ByteArrayOutputStream keys = new ByteArrayOutputStream();
    private final List<Tensor> tensors = new ArrayList<>();
    private ByteOrder order = ByteOrder.LITTLE_ENDIAN;
    private String magic = "GGUF";
    private int version = 3;
    private long keyCount;
    private long moreKeys;
    private long moreTensors;
    private long alignment = 32;
    private long dataEnd;
    private boolean padded = true;

    GgufBytes order(ByteOrder order) {
        this.order = order;
        return this;
    }

    GgufBytes magic(String magic) {
        this.magic = magic;
        return this;
    }

    GgufBytes version(int version) {
        this.version = version;
        return this;
    }

    /** Announces more keys and tensors than the file has. */
    GgufBytes announce(long moreKeys, long moreTensors) {
        this.moreKeys = moreKeys;
        this.moreTensors = moreTensors;
        return this;
    }

    /** Leaves out the padding after the last tensor. */
    GgufBytes withoutFinalPadding() {
        padded = false;
        return this;
    }

    /** Adds general.alignment and pads by it. */
    GgufBytes alignment(int alignment) {
        this.alignment = alignment;
        return key("general.alignment", UINT32, number(4, alignment));
    }

    byte[] number(int bytes, long value) {
        ByteBuffer buffer = ByteBuffer.allocate(8).order(order);
        switch (bytes) {
            case 1 -> buffer.put((byte) value);
            case 2 -> buffer.putShort((short) value);
            case 4 -> buffer.putInt((int) value);
            default -> buffer.putLong(value);
        }
        return Arrays.copyOf(buffer.array(), bytes);
    }

    byte[] text(String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        return join(number(8, utf8.length), utf8);
    }

    byte[] array(int type, long count, byte[]... elements) {
        return join(number(4, type), number(8, count), join(elements));
    }

    static byte[] join(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }

    GgufBytes key(String key, int type, byte[]... value) {
        return raw(text(key), number(4, type), join(value));
    }

    GgufBytes key(String key, String value) {
        return key(key, STRING, text(value));
    }

    /** Adds the bytes of a key with its value. */
    GgufBytes raw(byte[]... parts) {
        keys.writeBytes(join(parts));
        keyCount++;
        return this;
    }

    /** Adds a tensor after the previous one; {@code ne} begins with the contiguous dimension. */
    GgufBytes tensor(String name, int type, long bytes, long... ne) {
        return rawTensor(name, ne.length, type, dataEnd, bytes, ne);
    }

    /** Adds a tensor with any fields. */
    GgufBytes rawTensor(String name, int dimensions, int type, long offset, long bytes, long... ne) {
        tensors.add(new Tensor(name.getBytes(StandardCharsets.UTF_8), dimensions, ne, type, offset, bytes));
        dataEnd = (offset + bytes + alignment - 1) / alignment * alignment;
        return this;
    }

    /** Returns header, metadata and tensor descriptions. */
    byte[] header() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(magic.getBytes(StandardCharsets.US_ASCII));
        out.writeBytes(number(4, version));
        out.writeBytes(number(8, tensors.size() + moreTensors));
        out.writeBytes(number(8, keyCount + moreKeys));
        out.writeBytes(keys.toByteArray());
        for (Tensor tensor : tensors) {
            out.writeBytes(number(8, tensor.name.length));
            out.writeBytes(tensor.name);
            out.writeBytes(number(4, tensor.dimensions));
            for (long dimension : tensor.ne) {
                out.writeBytes(number(8, dimension));
            }
            out.writeBytes(number(4, tensor.type));
            out.writeBytes(number(8, tensor.offset));
        }
        return out.toByteArray();
    }

    /** Returns the offset of the first tensor. */
    int dataOffset() {
        long end = header().length;
        return Math.toIntExact(tensors.isEmpty() ? end : (end + alignment - 1) / alignment * alignment);
    }

    /** Returns the whole file; byte {@code i} of the data is {@code (31 * i) ^ (i >> 8)}, the padding is zero. */
    byte[] file() {
        byte[] header = header();
        int dataOffset = dataOffset();
        long end = tensors.isEmpty() || padded ? dataEnd : tensors.getLast().offset + tensors.getLast().bytes;
        byte[] file = Arrays.copyOf(header, Math.toIntExact(dataOffset + end));
        for (Tensor tensor : tensors) {
            for (long i = tensor.offset; i < tensor.offset + tensor.bytes; i++) {
                file[dataOffset + (int) i] = data(i);
            }
        }
        return file;
    }

    static byte data(long i) {
        return (byte) (31 * i ^ i >> 8);
    }
}
