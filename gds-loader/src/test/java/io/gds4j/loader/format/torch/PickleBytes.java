package io.gds4j.loader.format.torch;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Writes pickles opcode by opcode, as {@code torch.save} writes them. Knows nothing of the reader. */
final class PickleBytes {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    PickleBytes() {
        op(0x80, 2);
    }

    static PickleBytes dict() {
        return new PickleBytes().op('}', '(');
    }

    PickleBytes op(int... bytes) {
        for (int b : bytes) {
            out.write(b);
        }
        return this;
    }

    PickleBytes text(String text) {
        byte[] raw = text.getBytes(StandardCharsets.UTF_8);
        op('X');
        out.writeBytes(ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(raw.length).array());
        out.writeBytes(raw);
        return this;
    }

    PickleBytes number(long value) {
        if (value >= 0 && value < 256) {
            return op('K', (int) value);
        }
        op(0x8a, 8);
        out.writeBytes(ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(value).array());
        return this;
    }

    PickleBytes symbol(String module, String name) {
        op('c');
        out.writeBytes((module + "\n" + name + "\n").getBytes(StandardCharsets.UTF_8));
        return this;
    }

    PickleBytes numbers(long... values) {
        op('(');
        for (long value : values) {
            number(value);
        }
        return op('t');
    }

    /** A storage: its class such as torch.FloatStorage, key and number of elements. */
    PickleBytes storage(String type, String key, long count) {
        int dot = type.lastIndexOf('.');
        return op('(').text("storage").symbol(type.substring(0, dot), type.substring(dot + 1)).text(key).text("cpu")
                .number(count).op('t', 'Q');
    }

    /** A tensor of _rebuild_tensor_v2. */
    PickleBytes tensor(String type, String key, long count, long offset, long[] size, long[] stride) {
        return symbol("torch._utils", "_rebuild_tensor_v2").op('(').storage(type, key, count).number(offset)
                .numbers(size).numbers(stride).op(0x89).symbol("collections", "OrderedDict").op(')', 'R', 't', 'R');
    }

    /** A vector of floats that fills its storage. */
    PickleBytes floats(String key, long count) {
        return tensor("torch.FloatStorage", key, count, 0, new long[]{count}, new long[]{1});
    }

    /** Ends an open dict and the pickle. */
    byte[] endDict() {
        return op('u').end();
    }

    byte[] end() {
        return op('.').bytes();
    }

    /** Returns what was written so far. */
    byte[] bytes() {
        return out.toByteArray();
    }
}
