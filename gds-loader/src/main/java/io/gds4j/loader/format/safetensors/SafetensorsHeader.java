package io.gds4j.loader.format.safetensors;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.SafetensorsText;
import io.gds4j.loader.internal.metadata.MetadataText;
import io.gds4j.loader.internal.text.HeaderHeap;
import io.gds4j.loader.internal.text.StrictJson;
import io.gds4j.loader.internal.text.StrictJson.Malformed;
import io.gds4j.loader.internal.text.StrictJson.Token;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Parses the JSON header of a safetensors file and checks the rules for its tensors. Pure: bytes in, tensors out. */
final class SafetensorsHeader {
    private static final String METADATA = "__metadata__";
    /** Offset of the JSON text in the file. */
    private static final int JSON_START = 8;
    private static final long HEAP_OF_TENSOR = 300;
    private static final long HEAP_OF_TEXTS = 150;
    private static final Map<String, DType> TYPES = new HashMap<>();

    static {
        for (DType type : DType.ofSafetensors()) {
            TYPES.put(type.id(), type);
        }
    }

    /** A tensor as the header describes it; offsets are unsigned and relative to the data section. */
    private record Entry(String name, DType dtype, long[] shape, long begin, long end, int mark)
            implements
                Comparable<Entry> {
        @Override
        public int compareTo(Entry other) {
            int order = Long.compareUnsigned(begin, other.begin);
            return order != 0 ? order : Long.compareUnsigned(end, other.end);
        }
    }

    private final Path path;
    private final HeaderHeap heap;
    private final Map<String, Entry> entries = new LinkedHashMap<>();
    private final Map<String, String> metadata = new LinkedHashMap<>();

    private SafetensorsHeader(Path path, int jsonBytes) {
        this.path = path;
        this.heap = new HeaderHeap(jsonBytes);
    }

    /** Parses the header and checks the rules up to the reference's InvalidHeaderDeserialization. */
    static SafetensorsHeader parse(Path path, byte[] json) {
        int bad = StrictJson.checkUtf8(json);
        if (bad >= 0) {
            throw CheckpointException.of(
                    CheckpointRule.INVALID_HEADER, path, JSON_START + bad, "the header is not UTF-8");
        }
        SafetensorsHeader header = new SafetensorsHeader(path, json.length);
        try {
            header.parse(new StrictJson(json));
        } catch (Malformed e) {
            throw header.deserialization(e, null);
        }
        return header;
    }

    private void parse(StrictJson in) throws Malformed {
        in.expect(Token.START_OBJECT, "a header", "one JSON object");
        boolean metadataSeen = false;
        while (in.next() == Token.NAME) {
            String name = in.text();
            int mark = in.mark();
            if (!name.equals(METADATA)) {
                tensor(in, name, mark);
            } else if (metadataSeen) {
                throw in.here(METADATA + " occurs twice");
            } else {
                metadataSeen = true;
                metadata(in);
            }
        }
        in.end();
    }

    private void metadata(StrictJson in) throws Malformed {
        Token token = in.next();
        if (token == Token.NULL) {
            return;
        }
        if (token != Token.START_OBJECT) {
            throw in.here(METADATA + " must be an object of strings or null, found " + in.found());
        }
        while (in.next() == Token.NAME) {
            String key = in.text();
            int mark = in.mark();
            String value = in.string("a value of __metadata__");
            take(HEAP_OF_TEXTS + 2L * (key.length() + value.length()), mark);
            if (metadata.putIfAbsent(key, value) != null) {
                throw failure(
                        CheckpointRule.DUPLICATE_METADATA_KEY,
                        mark,
                        null,
                        "key %s occurs twice in %s".formatted(CheckpointException.quote(key), METADATA));
            }
        }
    }

    private void take(long bytes, int mark) {
        if (!heap.take(bytes)) {
            throw failure(CheckpointRule.HEADER_LIMIT, mark, null, heap.excess());
        }
    }

    private void tensor(StrictJson in, String name, int mark) {
        try {
            Token token = in.next();
            if (token == Token.START_ARRAY) {
                throw failure(
                        CheckpointRule.TENSOR_NOT_AN_OBJECT,
                        mark,
                        name,
                        "tensor %s is described by an array instead of an object"
                                .formatted(CheckpointException.quote(name)));
            }
            if (token != Token.START_OBJECT) {
                throw in.here("must be an object, found " + in.found());
            }
            Entry entry = entry(in, name, mark);
            take(HEAP_OF_TENSOR + 2L * name.length() + HeaderHeap.DIMENSION * entry.shape.length, mark);
            if (entries.putIfAbsent(name, entry) != null) {
                throw failure(
                        CheckpointRule.DUPLICATE_TENSOR,
                        mark,
                        name,
                        "tensor %s occurs twice in the header".formatted(CheckpointException.quote(name)));
            }
        } catch (Malformed e) {
            throw deserialization(e, name);
        }
    }

    private static Entry entry(StrictJson in, String name, int mark) throws Malformed {
        DType dtype = null;
        long[] shape = null;
        long[] offsets = null;
        while (in.next() == Token.NAME) {
            String field = in.text();
            switch (field) {
                case "dtype" -> {
                    once(in, dtype, field);
                    String text = in.string("dtype");
                    dtype = TYPES.get(text);
                    if (dtype == null) {
                        throw in.here("unknown dtype %s; known are %s"
                                .formatted(CheckpointException.quote(text), DType.ofSafetensors()));
                    }
                }
                case "shape" -> {
                    once(in, shape, field);
                    shape = numbers(in, field, SafetensorsText.MAX_DIMENSIONS);
                }
                case "data_offsets" -> {
                    once(in, offsets, field);
                    offsets = numbers(in, field, 2);
                }
                default -> {
                    // the reference ignores unknown fields
                    in.next();
                    in.skip();
                }
            }
        }
        if (dtype == null) {
            throw in.here("field 'dtype' is missing");
        }
        if (shape == null) {
            throw in.here("field 'shape' is missing");
        }
        if (offsets == null) {
            throw in.here("field 'data_offsets' is missing");
        }
        if (offsets.length != 2) {
            throw in.here("data_offsets must be two numbers, found " + offsets.length);
        }
        return new Entry(name, dtype, shape, offsets[0], offsets[1], mark);
    }

    private static void once(StrictJson in, @Nullable Object seen, String field) throws Malformed {
        if (seen != null) {
            throw in.here("field '%s' occurs twice".formatted(field));
        }
    }

    private static long[] numbers(StrictJson in, String field, int most) throws Malformed {
        in.expect(Token.START_ARRAY, field, "an array of numbers");
        long[] values = new long[4];
        int count = 0;
        while (in.next() != Token.END_ARRAY) {
            if (count == most) {
                throw in.here(
                        "%s must be %s numbers, found more".formatted(field, most == 2 ? "two" : "at most " + most));
            }
            if (count == values.length) {
                values = Arrays.copyOf(values, count * 2);
            }
            values[count++] = in.unsigned(field);
        }
        return Arrays.copyOf(values, count);
    }

    /**
     * Checks the tensors against each other and against the size of the file.
     *
     * @param dataOffset offset of the first byte after the header
     * @param fileSize size of the file in bytes
     */
    CheckpointFile validate(long dataOffset, long fileSize) {
        List<Entry> sorted = new ArrayList<>(entries.values());
        Collections.sort(sorted);
        List<TensorInfo> tensors = new ArrayList<>(sorted.size());
        long position = 0;
        for (Entry entry : sorted) {
            check(entry, position);
            position = entry.end;
            tensors.add(new TensorInfo(
                    entry.name,
                    entry.dtype,
                    shapeOf(entry),
                    path,
                    dataOffset + entry.begin,
                    entry.end - entry.begin));
        }
        if (position != fileSize - dataOffset) {
            throw CheckpointException.of(
                    CheckpointRule.METADATA_INCOMPLETE_BUFFER,
                    path,
                    "the header describes %s bytes of data, but %s follow it in the file%s"
                            .formatted(
                                    Long.toUnsignedString(position),
                                    fileSize - dataOffset,
                                    Long.compareUnsigned(position, fileSize - dataOffset) > 0 ? ", which is cut" : ""));
        }
        return CheckpointFile.of(path, fileSize, dataOffset, tensors, MetadataText.typed(metadata));
    }

    private static List<Long> shapeOf(Entry entry) {
        Long[] shape = new Long[entry.shape.length];
        for (int i = 0; i < shape.length; i++) {
            shape[i] = entry.shape[i];
        }
        return List.of(shape);
    }

    private void check(Entry entry, long position) {
        if (entry.begin != position) {
            throw failure(
                    CheckpointRule.INVALID_OFFSET,
                    entry,
                    "%s begins at %s, but the tensors before it end at %s"
                            .formatted(who(entry), unsigned(entry.begin), unsigned(position)));
        }
        if (Long.compareUnsigned(entry.end, entry.begin) < 0) {
            throw failure(
                    CheckpointRule.INVALID_OFFSET,
                    entry,
                    "%s ends at %s, before it begins at %s"
                            .formatted(who(entry), unsigned(entry.end), unsigned(entry.begin)));
        }
        long bits = 1;
        for (int i = 0; i <= entry.shape.length; i++) {
            long factor = i < entry.shape.length ? entry.shape[i] : entry.dtype.bits();
            if (Math.unsignedMultiplyHigh(bits, factor) != 0) {
                throw failure(
                        CheckpointRule.VALIDATION_OVERFLOW,
                        entry,
                        "the size of %s, %s of shape %s, does not fit 64 bits"
                                .formatted(who(entry), entry.dtype, shape(entry)));
            }
            bits *= factor;
        }
        if (bits % 8 != 0) {
            throw failure(
                    CheckpointRule.MISALIGNED_SLICE,
                    entry,
                    "%s, %s of shape %s, does not fill its last byte".formatted(who(entry), entry.dtype, shape(entry)));
        }
        if (entry.end - entry.begin != bits >>> 3) {
            throw failure(
                    CheckpointRule.TENSOR_INVALID_INFO,
                    entry,
                    "%s, %s of shape %s, needs %s bytes, but its data_offsets span %s"
                            .formatted(
                                    who(entry),
                                    entry.dtype,
                                    shape(entry),
                                    bits >>> 3,
                                    unsigned(entry.end - entry.begin)));
        }
    }

    private static String who(Entry entry) {
        return "tensor " + CheckpointException.quote(entry.name);
    }

    private static String unsigned(long value) {
        return Long.toUnsignedString(value);
    }

    private static String shape(Entry entry) {
        StringBuilder text = new StringBuilder("[");
        for (int i = 0; i < entry.shape.length; i++) {
            if (i == 8) {
                return text.append(", …]").toString();
            }
            text.append(i == 0 ? "" : ", ").append(unsigned(entry.shape[i]));
        }
        return text.append(']').toString();
    }

    private CheckpointException failure(CheckpointRule rule, Entry entry, String detail) {
        return failure(rule, entry.mark, entry.name, detail);
    }

    private CheckpointException failure(CheckpointRule rule, int mark, @Nullable String tensor, String detail) {
        long offset = (long) JSON_START + mark;
        return tensor == null
                ? CheckpointException.of(rule, path, offset, detail)
                : CheckpointException.of(rule, path, offset, tensor, detail);
    }

    private CheckpointException deserialization(Malformed e, @Nullable String tensor) {
        String detail =
                tensor == null ? e.detail() : "tensor " + CheckpointException.quote(tensor) + ": " + e.detail();
        return failure(CheckpointRule.INVALID_HEADER_DESERIALIZATION, e.offset(), tensor, detail);
    }
}
