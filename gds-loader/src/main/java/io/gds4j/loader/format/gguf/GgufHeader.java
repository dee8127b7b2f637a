package io.gds4j.loader.format.gguf;

import io.gds4j.internal.file.Pages;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.format.TensorInfo;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;

/** Parses the metadata and the tensor descriptions of a GGUF file, and checks every rule. */
final class GgufHeader {
    /** Bytes of magic, version and the two counts. */
    static final int FIXED_BYTES = 24;
    static final String ALIGNMENT_KEY = "general.alignment";
    /** Longest key of the specification, in bytes. */
    private static final long MAX_KEY = 65_535;
    /**
     * Longest tensor name in bytes: what the 4,096 characters need that the loader allows in every format. The specification says
     * 64; ggml reads 63 by default, programs that set GGML_MAX_NAME more, and gguf-py writes any.
     */
    private static final long MAX_NAME = 3 * 4096;
    /** Most dimensions. ggml reads 4; the specification says that this may change. */
    private static final int MAX_DIMENSIONS = 64;
    /** Fewest bytes of a key with its value: lengths, a letter, a type, a byte. */
    private static final long MIN_KEY_BYTES = 14;
    /** Fewest bytes of a tensor description: length, number of dimensions, type, offset. */
    private static final long MIN_TENSOR_BYTES = 24;
    private static final long DEFAULT_ALIGNMENT = 32;

    /** A tensor as the file describes it; the offset is relative to the data section. */
    private record Entry(String name, DType dtype, List<Long> shape, long offset, long bytes) {
    }

    private final Path path;
    private final long size;
    private final GgufTypes types;
    private final GgufCursor in;
    private final GgufMetadata.Source source;
    private final Map<String, Object> values = new LinkedHashMap<>();
    private final Set<String> names = new HashSet<>();
    private final List<Entry> entries = new ArrayList<>();
    private long alignment = DEFAULT_ALIGNMENT;
    /** Offset of the value of general.alignment in the file. */
    private long alignmentAt = -1;
    /** End of the last tensor with its padding, relative to the data section. */
    private long dataEnd;

    private GgufHeader(FormatInput in, GgufTypes types) {
        this.path = in.path();
        this.size = in.size();
        this.types = types;
        this.in = new GgufCursor(in, 0);
        this.source = new GgufMetadata.Source(path, in.version());
    }

    /** Reads a file whose magic and version were checked. */
    static CheckpointFile read(FormatInput in, GgufTypes types) {
        return new GgufHeader(in, types).read();
    }

    private CheckpointFile read() {
        in.require(FIXED_BYTES, "the fixed part of the header");
        in.skip(8, "magic and version");
        long tensors = in.int64("the number of tensors");
        long keys = in.int64("the number of keys");
        checkCount(8, "tensors", tensors, MIN_TENSOR_BYTES);
        checkCount(16, "keys", keys, MIN_KEY_BYTES);
        for (long i = 0; i < keys; i++) {
            key();
        }
        for (long i = 0; i < tensors; i++) {
            tensor();
        }
        return file();
    }

    private void checkCount(long offset, String what, long count, long leastBytes) {
        if (count < 0 || count > in.left() / leastBytes) {
            throw in.failure(
                    GgufRules.COUNT,
                    offset,
                    "the header announces %s %s; the %s bytes after it hold at most %s"
                            .formatted(count, what, in.left(), in.left() / leastBytes));
        }
    }

    private void key() {
        long at = in.offset();
        int length = (int) in.stringLength(MAX_KEY, GgufRules.KEY, "a key");
        if (length == 0) {
            throw in.failure(GgufRules.KEY, at, "a key is empty");
        }
        String key = GgufCursor.utf8(in.bytes(length, "a key"))
                .orElseThrow(() -> in.failure(GgufRules.KEY, at, "a key is not UTF-8"));
        String what = "the value of " + CheckpointException.quote(key);
        GgufValueType type = GgufValueType.read(in, what);
        if (key.equals(ALIGNMENT_KEY)) {
            alignment(type);
        }
        if (values.putIfAbsent(key, value(type, what)) != null) {
            throw in.failure(
                    CheckpointRule.DUPLICATE_METADATA_KEY,
                    at,
                    "key %s occurs twice".formatted(CheckpointException.quote(key)));
        }
    }

    private void alignment(GgufValueType type) {
        long at = in.offset();
        if (type != GgufValueType.UINT32) {
            throw in.failure(
                    GgufRules.ALIGNMENT, at, "%s has type %s; it must be a UINT32".formatted(ALIGNMENT_KEY, type));
        }
        alignmentAt = at;
    }

    private Object value(GgufValueType type, String what) {
        return switch (type) {
            case STRING -> string(what);
            case ARRAY -> GgufMetadata.FileArray.read(in, source, what);
            default -> type.scalar(in, what);
        };
    }

    private Object string(String what) {
        int length = (int) in.stringLength(GgufMetadata.MAX_STRING, GgufRules.VALUE, what);
        if (length <= GgufMetadata.SHORT) {
            return new MetadataValue.Text(new String(in.bytes(length, what), StandardCharsets.UTF_8));
        }
        GgufMetadata.LongText text = new GgufMetadata.LongText(source, in.offset(), length);
        in.skip(length, what);
        return text;
    }

    private void tensor() {
        if (entries.isEmpty()) {
            checkAlignment();
        }
        long at = in.offset();
        int length = (int) in.stringLength(MAX_NAME, GgufRules.TENSOR_NAME, "the name of tensor " + entries.size());
        String name = name(in.bytes(length, "a tensor name"), at);
        String what = "tensor " + CheckpointException.quote(name);
        if (!names.add(name)) {
            throw failure(CheckpointRule.DUPLICATE_TENSOR, at, name, what + " occurs twice in the header");
        }
        long dimensionsAt = in.offset();
        int dimensions = in.int32(what);
        if (dimensions < 0 || dimensions > MAX_DIMENSIONS) {
            throw failure(
                    GgufRules.SHAPE,
                    dimensionsAt,
                    name,
                    "%s has %s dimensions, at most %s are allowed"
                            .formatted(what, Integer.toUnsignedString(dimensions), MAX_DIMENSIONS));
        }
        Long[] shape = new Long[dimensions];
        long elements = elements(shape, name, what);
        long typeAt = in.offset();
        int number = in.int32(what);
        DType dtype = types.get(number);
        if (dtype == null) {
            throw failure(GgufRules.TENSOR_TYPE, typeAt, name, what + ": " + GgufTypes.describe(number));
        }
        long row = dimensions == 0 ? 1 : shape[dimensions - 1];
        if (row % dtype.blockElements() != 0) {
            throw failure(
                    GgufRules.SHAPE,
                    dimensionsAt,
                    name,
                    "%s has rows of %s elements, which are no multiple of the %s elements in a block of %s"
                            .formatted(what, row, dtype.blockElements(), dtype));
        }
        OptionalLong bytes = dtype.bytes(elements);
        if (bytes.isEmpty()) {
            throw overflow(dimensionsAt, name, what);
        }
        place(name, what, dtype, List.of(shape), bytes.getAsLong());
    }

    private String name(byte[] bytes, long at) {
        for (byte b : bytes) {
            if (b == 0) {
                throw in.failure(GgufRules.TENSOR_NAME, at, "the name of a tensor contains a zero byte");
            }
        }
        return GgufCursor.utf8(bytes)
                .orElseThrow(() -> in.failure(GgufRules.TENSOR_NAME, at, "the name of a tensor is not UTF-8"));
    }

    /** Reads the dimensions, fastest first, into a shape, slowest first; returns the number of elements. */
    private long elements(Long[] shape, String name, String what) {
        long elements = 1;
        for (int i = shape.length - 1; i >= 0; i--) {
            long at = in.offset();
            long dimension = in.int64(what);
            if (dimension < 0) {
                throw failure(
                        GgufRules.SHAPE, at, name, "%s has a dimension of %s".formatted(what, dimension));
            }
            if (Math.multiplyHigh(elements, dimension) != 0 || elements * dimension < 0) {
                throw overflow(at, name, what);
            }
            elements *= dimension;
            shape[i] = dimension;
        }
        return elements;
    }

    private void place(String name, String what, DType dtype, List<Long> shape, long bytes) {
        long at = in.offset();
        long offset = in.int64(what);
        if (offset != dataEnd) {
            throw failure(
                    CheckpointRule.INVALID_OFFSET,
                    at,
                    name,
                    "%s begins at %s, but the tensors before it end at %s with their padding"
                            .formatted(what, Long.toUnsignedString(offset), dataEnd));
        }
        if (bytes > Long.MAX_VALUE - (alignment - 1) - dataEnd) {
            throw overflow(at, name, what);
        }
        entries.add(new Entry(name, dtype, shape, offset, bytes));
        dataEnd = offset + Pages.up(bytes, alignment);
    }

    private void checkAlignment() {
        if (values.get(ALIGNMENT_KEY) instanceof MetadataValue.Whole(long value, boolean unsigned)) {
            alignment = value;
        }
        if (Long.bitCount(alignment) != 1) {
            throw CheckpointException.of(
                    GgufRules.ALIGNMENT,
                    path,
                    alignmentAt,
                    "%s is %s; it must be a power of two".formatted(ALIGNMENT_KEY, alignment));
        }
    }

    private CheckpointFile file() {
        checkAlignment();
        long end = in.offset();
        long dataOffset = entries.isEmpty() ? end : Pages.up(end, alignment);
        List<TensorInfo> tensors = new ArrayList<>(entries.size());
        for (Entry entry : entries) {
            // the padding after the last tensor may be missing: only the tensor itself must be there
            if (entry.bytes > 0
                    && (entry.offset > size - dataOffset || entry.bytes > size - dataOffset - entry.offset)) {
                throw CheckpointException.of(
                        GgufRules.TRUNCATED_DATA,
                        path,
                        size,
                        entry.name,
                        "tensor %s has %s bytes from %s of the data on, but the file ends after %s bytes of data"
                                .formatted(
                                        CheckpointException.quote(entry.name),
                                        entry.bytes,
                                        entry.offset,
                                        Math.max(0, size - dataOffset)));
            }
            long begin =
                    entry.bytes > 0 ? dataOffset + entry.offset : Math.min(size, saturated(dataOffset, entry.offset));
            tensors.add(new TensorInfo(entry.name, entry.dtype, entry.shape, path, begin, entry.bytes));
        }
        return CheckpointFile.of(path, size, dataOffset, tensors, new GgufMetadata(values));
    }

    private static long saturated(long one, long other) {
        return one > Long.MAX_VALUE - other ? Long.MAX_VALUE : one + other;
    }

    private CheckpointException overflow(long at, String name, String what) {
        return failure(CheckpointRule.VALIDATION_OVERFLOW, at, name,
                "the size of %s does not fit 63 bits".formatted(what));
    }

    private CheckpointException failure(CheckpointRule rule, long at, String tensor, String detail) {
        return CheckpointException.of(rule, path, at, tensor, detail);
    }
}
