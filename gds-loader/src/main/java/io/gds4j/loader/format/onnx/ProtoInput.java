package io.gds4j.loader.format.onnx;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.FormatInput;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The fields of protobuf messages in a file, read in order through one buffer. Skipped bytes are not read if they are many. */
final class ProtoInput {
    /** Wire types. */
    static final int VARINT = 0;
    static final int BYTES = 2;
    private static final int FIXED_64 = 1;
    private static final int FIXED_32 = 5;
    /** Most bytes of tags, numbers and texts that are read; the limit of safetensors headers. */
    private static final long MAX_READ = 100_000_000;
    private static final int BUFFER = 64 << 10;
    private static final int MAX_VARINT_BYTES = 10;

    private final FormatInput file;
    private final ByteBuffer buffer;
    /** Offset in the file behind the buffer's last byte. */
    private long next;
    private long read;
    private int wire;

    ProtoInput(FormatInput file) {
        this.file = file;
        this.buffer = ByteBuffer.allocate((int) Math.min(BUFFER, file.size())).order(ByteOrder.LITTLE_ENDIAN).limit(0);
    }

    /** Returns the offset in the file of the next byte. */
    long position() {
        return next - buffer.remaining();
    }

    /** Returns the number of the next field, whose value follows. */
    int field(long end) {
        long tag = varint(end);
        wire = (int) (tag & 7);
        if (tag >>> 3 == 0 || tag >>> 3 > 1 << 29) {
            throw broken("a field with the number " + (tag >>> 3));
        }
        return (int) (tag >>> 3);
    }

    /** Checks the kind of the value that follows. */
    void expect(int kind, String what) {
        if (wire != kind) {
            throw broken("%s has the wire type %s".formatted(what, wire));
        }
    }

    /** Returns the kind of the value that follows. */
    int wire() {
        return wire;
    }

    /** Returns a number of up to 64 bits. */
    long varint(long end) {
        long value = 0;
        for (int i = 0; i < MAX_VARINT_BYTES; i++) {
            int one = u8(end);
            value |= (long) (one & 0x7f) << (7 * i);
            if (one < 0x80) {
                return value;
            }
        }
        throw broken("a number of more than 64 bits");
    }

    /** Returns where the bytes that follow end, which is within the message around them. */
    long bytesEnd(long end) {
        long length = varint(end);
        if (length < 0 || length > end - position()) {
            throw broken("%s bytes are announced, but %s follow in the message"
                    .formatted(Long.toUnsignedString(length), end - position()));
        }
        return position() + length;
    }

    /** Reads bytes to an end that {@link #bytesEnd} returned. */
    byte[] bytes(long end) {
        byte[] all = new byte[(int) (end - position())];
        for (int i = 0; i < all.length; i++) {
            all[i] = (byte) u8(end);
        }
        return all;
    }

    /** Skips the value of the field. */
    void skip(long end) {
        switch (wire) {
            case VARINT -> varint(end);
            case FIXED_64 -> skipTo(end, position() + Long.BYTES);
            case FIXED_32 -> skipTo(end, position() + Integer.BYTES);
            case BYTES -> skipTo(end, bytesEnd(end));
            default -> throw broken("a field of the wire type " + wire);
        }
    }

    /** Skips bytes to an end that {@link #bytesEnd} returned. */
    void skipBytes(long to) {
        skipTo(to, to);
    }

    private void skipTo(long end, long to) {
        if (to > end) {
            throw broken("a value ends at %s, the message at %s".formatted(to, end));
        }
        long count = to - position();
        if (count <= buffer.remaining()) {
            buffer.position(buffer.position() + (int) count);
        } else {
            next = to;
            buffer.limit(0).position(0);
        }
    }

    private int u8(long end) {
        if (position() >= end) {
            throw broken("the message ends within a field");
        }
        if (++read > MAX_READ) {
            throw CheckpointException.of(OnnxRules.LIMIT, file.path(), position(),
                    "the model has more than %s bytes of fields beside its tensors".formatted(MAX_READ));
        }
        if (!buffer.hasRemaining()) {
            buffer.clear().limit((int) Math.min(buffer.capacity(), file.size() - next));
            file.read(next, buffer);
            next += buffer.position();
            buffer.flip();
        }
        return buffer.get() & 0xff;
    }

    CheckpointException broken(String detail) {
        return CheckpointException.of(OnnxRules.STRUCTURE, file.path(), position(), detail);
    }
}
