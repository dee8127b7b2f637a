package io.gds4j.loader.format.onnx;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;

/** Writes messages of protobuf, field by field. Knows nothing of the reader. */
public final class OnnxBytes {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    OnnxBytes number(int field, long value) {
        varint((long) field << 3);
        return varint(value);
    }

    OnnxBytes bytes(int field, byte[] value) {
        varint((long) field << 3 | 2).varint(value.length);
        out.writeBytes(value);
        return this;
    }

    OnnxBytes text(int field, String value) {
        return bytes(field, value.getBytes(StandardCharsets.UTF_8));
    }

    OnnxBytes message(int field, OnnxBytes value) {
        return bytes(field, value.get());
    }

    OnnxBytes varint(long value) {
        long rest = value;
        while ((rest & ~0x7fL) != 0) {
            out.write((int) (rest & 0x7f | 0x80));
            rest >>>= 7;
        }
        out.write((int) rest);
        return this;
    }

    byte[] get() {
        return out.toByteArray();
    }

    /** An initializer with dimensions one by one. */
    public static OnnxBytes tensor(String name, int type, long... dims) {
        OnnxBytes tensor = new OnnxBytes();
        for (long dim : dims) {
            tensor.number(1, dim);
        }
        return tensor.number(2, type).text(8, name);
    }

    /** Adds external data. */
    OnnxBytes external(String... keysAndValues) {
        for (int i = 0; i < keysAndValues.length; i += 2) {
            message(13, new OnnxBytes().text(1, keysAndValues[i]).text(2, keysAndValues[i + 1]));
        }
        return number(14, 1);
    }

    /** A model whose graph has a node, these initializers and an input. */
    public static byte[] model(OnnxBytes... initializers) {
        OnnxBytes graph = new OnnxBytes().message(1, new OnnxBytes().text(1, "x").text(4, "Relu")).text(2, "g");
        for (OnnxBytes initializer : initializers) {
            graph.message(5, initializer);
        }
        graph.message(11, new OnnxBytes().text(1, "x"));
        return new OnnxBytes().number(1, 9).text(2, "test").message(7, graph)
                .message(8, new OnnxBytes().text(1, "").number(2, 17)).get();
    }
}
