package io.gds4j.loader.format.numpy;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.format.numpy.PythonLiteral.Malformed;
import io.gds4j.loader.format.numpy.PythonLiteral.Value;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads the header of an array in {@code .npy} form, at any place of a file. */
final class NpyHeader {
    private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
    private static final int VERSION_BYTES = 2;
    /** Largest header in bytes. NumPy stops at 10,000 unless told otherwise; structures with many fields need more. */
    private static final long MAX = 1 << 20;
    /** Most dimensions of an array in NumPy. */
    private static final int MAX_DIMENSIONS = 64;

    private NpyHeader() {
    }

    static byte[] magic() {
        return MAGIC.clone();
    }

    /**
     * Reads the header of an array and returns the array.
     *
     * @param in the file
     * @param name name of the array
     * @param begin offset of the array in the file
     * @param end offset after the array, at most the file's size
     */
    static TensorInfo read(FormatInput in, String name, long begin, long end) {
        return new Reader(in, name, begin, end).read();
    }

    private record Reader(FormatInput in, String name, long begin, long end) {
        TensorInfo read() {
            long fixed = MAGIC.length + VERSION_BYTES;
            if (end - begin < fixed + Short.BYTES) {
                throw header(begin, "of %s bytes is too short for a header".formatted(end - begin));
            }
            ByteBuffer start = in.read(begin, (int) Math.min(end - begin, fixed + Integer.BYTES));
            byte[] magic = new byte[MAGIC.length];
            start.get(magic);
            if (!Arrays.equals(magic, MAGIC)) {
                throw header(begin, "does not begin with \\x93NUMPY");
            }
            int major = start.get() & 0xFF;
            int minor = start.get() & 0xFF;
            if (major < 1 || major > 3 || minor != 0) {
                throw CheckpointException.of(
                        CheckpointRule.UNSUPPORTED_FORMAT,
                        in.path(),
                        begin + MAGIC.length,
                        name,
                        "array %s has format version %s.%s; 1.0, 2.0 and 3.0 are read"
                                .formatted(CheckpointException.quote(name), major, minor));
            }
            int lengthBytes = major == 1 ? Short.BYTES : Integer.BYTES;
            if (start.remaining() < lengthBytes) {
                throw header(begin + fixed, "ends within its header length");
            }
            long length =
                    major == 1 ? Short.toUnsignedInt(start.getShort()) : Integer.toUnsignedLong(start.getInt());
            long text = begin + fixed + lengthBytes;
            if (length > MAX || length > end - text) {
                throw header(
                        begin + fixed,
                        "has a header of %s bytes, but %s follow and at most %s are allowed"
                                .formatted(length, end - text, MAX));
            }
            Charset charset = major == 3 ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1;
            return describe(decode(in.read(text, (int) length), charset, text), text, text + length);
        }

        private String decode(ByteBuffer bytes, Charset charset, long offset) {
            try {
                return charset.newDecoder().decode(bytes).toString();
            } catch (CharacterCodingException e) {
                throw header(offset, "has a header that is not UTF-8");
            }
        }

        private TensorInfo describe(String text, long offset, long data) {
            Value value;
            try {
                value = PythonLiteral.parse(text);
            } catch (Malformed e) {
                // a character beyond ASCII may have several bytes; the offset is exact for all else
                throw header(offset + e.position(), "has a header that is no Python dict: " + e.detail());
            }
            Value descr = null;
            Value order = null;
            Value shape = null;
            if (!(value instanceof Value.Mapping(List<Value> entries)) || entries.size() != 6) {
                throw header(offset, "has a header that is no dict of descr, fortran_order and shape");
            }
            for (int i = 0; i < entries.size(); i += 2) {
                String key = entries.get(i) instanceof Value.Text(String k) ? k : "";
                switch (key) {
                    case "descr" -> descr = entries.get(i + 1);
                    case "fortran_order" -> order = entries.get(i + 1);
                    case "shape" -> shape = entries.get(i + 1);
                    default ->
                        throw header(offset, "has the unknown key %s in its header".formatted(
                                CheckpointException.quote(key)));
                }
            }
            if (descr == null || shape == null || !(order == Value.Word.TRUE || order == Value.Word.FALSE)) {
                throw header(offset, "lacks descr or shape in its header, or fortran_order is neither True nor False");
            }
            return array(descr, order == Value.Word.TRUE, dimensions(shape, offset), offset, data);
        }

        private List<Long> dimensions(@Nullable Value shape, long offset) {
            if (!(shape instanceof Value.Sequence(boolean tuple, List<Value> elements))
                    || !tuple
                    || elements.size() > MAX_DIMENSIONS) {
                throw header(offset, "has a shape that is no tuple of at most %s numbers".formatted(MAX_DIMENSIONS));
            }
            List<Long> dimensions = new ArrayList<>(elements.size());
            for (Value element : elements) {
                if (!(element instanceof Value.Whole(long dimension)) || dimension < 0) {
                    throw header(offset, "has a shape with something else than numbers from 0 on");
                }
                dimensions.add(dimension);
            }
            return dimensions;
        }

        private TensorInfo array(Value descr, boolean fortran, List<Long> shape, long offset, long data) {
            DType dtype;
            try {
                dtype = NpyTypes.of(descr);
            } catch (Malformed e) {
                throw CheckpointException.of(
                        NumpyRules.DESCRIPTION,
                        in.path(),
                        offset,
                        name,
                        "array %s %s".formatted(CheckpointException.quote(name), e.detail()));
            }
            long length = dtype.bytes(shape)
                    .orElseThrow(() -> CheckpointException.of(
                            CheckpointRule.VALIDATION_OVERFLOW,
                            in.path(),
                            offset,
                            name,
                            "the size of array %s, %s of shape %s, does not fit 64 bits"
                                    .formatted(CheckpointException.quote(name), dtype, text(shape))));
            if (length > end - data) {
                throw CheckpointException.of(
                        NumpyRules.DATA,
                        in.path(),
                        data,
                        name,
                        "array %s, %s of shape %s, needs %s bytes of data, but %s follow its header"
                                .formatted(CheckpointException.quote(name), dtype, text(shape), length, end - data));
            }
            DimensionOrder order =
                    fortran ? DimensionOrder.columnMajor(shape.size()) : DimensionOrder.rowMajor(shape.size());
            return new TensorInfo(name, dtype, shape, in.path(), data, length, order);
        }

        private static String text(List<Long> shape) {
            return shape.size() <= 8 ? shape.toString() : shape.subList(0, 8).toString().replace("]", ", …]");
        }

        private CheckpointException header(long offset, String detail) {
            return CheckpointException.of(
                    NumpyRules.HEADER,
                    in.path(),
                    offset,
                    name,
                    "array %s %s".formatted(CheckpointException.quote(name), detail));
        }
    }
}
