package io.gds4j.loader.format.gguf;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.FormatInput;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Reads numbers and strings from a file in order, through one buffer. Never goes past the end of the file. */
final class GgufCursor {
    /** Bytes that are read at a time; skipping more than that reads nothing. */
    private static final int BUFFER = 128 << 10;

    private final FormatInput in;
    private final ByteBuffer buffer;
    /** Offset in the file of the buffer's first byte. */
    private long base;

    /** Creates a cursor at an offset within the file. */
    GgufCursor(FormatInput in, long offset) {
        this.in = in;
        this.buffer = ByteBuffer.allocate((int) Math.min(BUFFER, in.size() - offset)).order(ByteOrder.LITTLE_ENDIAN);
        this.base = offset;
        buffer.limit(0);
    }

    /** Returns the offset of the next byte in the file. */
    long offset() {
        return base + buffer.position();
    }

    /** Returns the bytes from here to the end of the file. */
    long left() {
        return in.size() - offset();
    }

    CheckpointException failure(CheckpointRule rule, long offset, String detail) {
        return CheckpointException.of(rule, in.path(), offset, detail);
    }

    /** Checks that the file has {@code bytes} more bytes. */
    void require(long bytes, String what) {
        if (bytes > left()) {
            throw failure(GgufRules.TRUNCATED, offset(),
                    "the file ends within %s, which has %s bytes, but only %s are left"
                            .formatted(what, bytes, left()));
        }
    }

    /** Makes {@code bytes} bytes available in the buffer; at most {@link Long#BYTES}. */
    private void fill(int bytes, String what) {
        if (buffer.remaining() < bytes) {
            require(bytes, what);
            base = offset();
            buffer.clear();
            buffer.limit((int) Math.min(buffer.capacity(), in.size() - base));
            in.read(base, buffer);
            buffer.flip();
        }
    }

    byte int8(String what) {
        fill(Byte.BYTES, what);
        return buffer.get();
    }

    short int16(String what) {
        fill(Short.BYTES, what);
        return buffer.getShort();
    }

    int int32(String what) {
        fill(Integer.BYTES, what);
        return buffer.getInt();
    }

    long int64(String what) {
        fill(Long.BYTES, what);
        return buffer.getLong();
    }

    /** Skips bytes of the file, which must have them. */
    void skip(long bytes, String what) {
        if (bytes <= buffer.remaining()) {
            buffer.position(buffer.position() + (int) bytes);
            return;
        }
        require(bytes, what);
        base = offset() + bytes;
        buffer.limit(0);
    }

    /** Returns the next bytes; checks that the file has them before it allocates memory. */
    byte[] bytes(int length, String what) {
        require(length, what);
        byte[] bytes = new byte[length];
        int done = 0;
        while (done < length) {
            fill(1, what);
            int count = Math.min(length - done, buffer.remaining());
            buffer.get(bytes, done, count);
            done += count;
        }
        return bytes;
    }

    /** Reads the length of a string and checks it; the string itself follows. */
    long stringLength(long most, CheckpointRule rule, String what) {
        long at = offset();
        long length = int64(what);
        if (Long.compareUnsigned(length, most) > 0) {
            throw failure(rule, at, "%s has a length of %s bytes, at most %s are allowed"
                    .formatted(what, Long.toUnsignedString(length), most));
        }
        if (length > left()) {
            throw failure(GgufRules.TRUNCATED, at, "%s has a length of %s bytes, but only %s are left in the file"
                    .formatted(what, length, left()));
        }
        return length;
    }

    /** Skips a string whose length is at most {@code most}. */
    void skipString(long most, CheckpointRule rule, String what) {
        skip(stringLength(most, rule, what), what);
    }

    /** Returns the text of bytes; empty if they are not UTF-8. */
    static Optional<String> utf8(byte[] bytes) {
        try {
            return Optional.of(StandardCharsets.UTF_8.newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(bytes)).toString());
        } catch (CharacterCodingException e) {
            return Optional.empty();
        }
    }
}
