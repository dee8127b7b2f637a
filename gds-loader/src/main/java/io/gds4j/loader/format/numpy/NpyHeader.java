package io.gds4j.loader.format.numpy;

import io.gds4j.internal.text.NpyGrammar;
import io.gds4j.internal.text.PythonLiteral.Malformed;
import io.gds4j.internal.text.PythonLiteral.Value;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.TensorInfo;
import java.nio.ByteBuffer;
import java.util.List;

/** Reads the header of an array in {@code .npy} form, at any place of a file. */
final class NpyHeader {
    private NpyHeader() {
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
            if (end - begin < NpyGrammar.PREFIX + Short.BYTES) {
                throw header(begin, "of %s bytes is too short for a header".formatted(end - begin));
            }
            ByteBuffer start = in.read(begin, (int) Math.min(end - begin, NpyGrammar.PREFIX + Integer.BYTES));
            if (!NpyGrammar.hasMagic(start)) {
                throw header(begin, "does not begin with \\x93NUMPY");
            }
            int major = start.get() & 0xFF;
            int minor = start.get() & 0xFF;
            if (!NpyGrammar.knows(major, minor)) {
                throw failure(CheckpointRule.UNSUPPORTED_FORMAT, begin + NpyGrammar.PREFIX - 2,
                        "has format version %s.%s; 1.0, 2.0 and 3.0 are read".formatted(major, minor));
            }
            long lengthAt = begin + NpyGrammar.PREFIX;
            if (start.remaining() < NpyGrammar.lengthBytes(major)) {
                throw header(lengthAt, "ends within its header length");
            }
            long length = NpyGrammar.length(start, major);
            long text = lengthAt + NpyGrammar.lengthBytes(major);
            if (length > NpyGrammar.MAX || length > end - text) {
                throw header(
                        lengthAt,
                        "has a header of %s bytes, but %s follow and at most %s are allowed"
                                .formatted(length, end - text, NpyGrammar.MAX));
            }
            try {
                NpyGrammar says = NpyGrammar.parse(in.read(text, (int) length), major);
                return array(says.descr(), says.fortran(), says.shape(), text, text + length);
            } catch (Malformed e) {
                throw header(text + e.position(), "has a malformed header: " + e.detail());
            }
        }

        private TensorInfo array(Value descr, boolean fortran, List<Long> shape, long offset, long data) {
            DType dtype;
            try {
                dtype = NpyTypes.of(descr);
            } catch (Malformed e) {
                throw failure(NumpyRules.DESCRIPTION, offset, e.detail());
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
            return failure(NumpyRules.HEADER, offset, detail);
        }

        private CheckpointException failure(CheckpointRule rule, long offset, String detail) {
            return CheckpointException.of(
                    rule, in.path(), offset, name, "array %s %s".formatted(CheckpointException.quote(name), detail));
        }
    }
}
