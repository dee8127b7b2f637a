package io.gds4j.loader.format.onnx;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.SafetensorsText;
import io.gds4j.loader.internal.file.FileNames;
import io.gds4j.loader.internal.text.HeaderHeap;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Reads the initializers of the main graph. Numbers of fields are those of onnx.proto. */
final class OnnxModel {
    private static final int MODEL_GRAPH = 7;
    private static final int GRAPH_INITIALIZER = 5;
    private static final int GRAPH_SPARSE_INITIALIZER = 15;
    private static final int TENSOR_DIMS = 1;
    private static final int TENSOR_TYPE = 2;
    private static final int TENSOR_SEGMENT = 3;
    private static final int TENSOR_FLOATS = 4;
    private static final int TENSOR_INTS = 5;
    private static final int TENSOR_TEXTS = 6;
    private static final int TENSOR_LONGS = 7;
    private static final int TENSOR_NAME = 8;
    private static final int TENSOR_RAW = 9;
    private static final int TENSOR_DOUBLES = 10;
    private static final int TENSOR_UNSIGNED = 11;
    private static final int TENSOR_EXTERNAL = 13;
    private static final int TENSOR_LOCATION = 14;
    private static final int ENTRY_KEY = 1;
    private static final int ENTRY_VALUE = 2;

    private static final int MAX_DIMENSIONS = 64;
    private static final int MAX_ENTRIES = 16;
    private static final int MAX_TEXT = 4096 * 3;
    private static final long HEAP_OF_TENSOR = 400;
    private static final int STRING = 8;
    /** Types by the numbers of TensorProto.DataType; null for those that are no numbers. */
    private static final @Nullable DType[] TYPES = {
            null, DType.F32, DType.U8, DType.I8, DType.U16, DType.I16, DType.I32, DType.I64, null, DType.BOOL,
            DType.F16,
            DType.F64, DType.U32, DType.U64, DType.C64, DType.C128, DType.BF16, DType.F8_E4M3, DType.F8_E4M3FNUZ,
            DType.F8_E5M2, DType.F8_E5M2FNUZ, new DType("U4", 2, 1), new DType("I4", 2, 1), DType.F4, DType.F8_E8M0,
            new DType("U2", 4, 1), new DType("I2", 4, 1)};

    /** The fields of an initializer as they are read. */
    private static final class Fields {
        private final long at;
        private @Nullable String name;
        private final List<Long> dims = new ArrayList<>();
        private int type;
        /** Where the bytes are in the file, or -1. */
        private long data = -1;
        private long dataEnd;
        private int dataField = TENSOR_RAW;
        /** Whether it has values that are no bytes of the tensor. */
        private boolean typed;
        private boolean external;
        private final Map<String, String> place = new HashMap<>();

        Fields(long at) {
            this.at = at;
        }
    }

    private final Path path;
    private final ProtoInput in;
    private final HeaderHeap heap = new HeaderHeap(0);
    private final Map<String, Path> files = new HashMap<>();
    private final Map<String, TensorInfo> tensors = new LinkedHashMap<>();
    private final List<String> leftOut = new ArrayList<>();
    private int sparse;

    private OnnxModel(Path path, ProtoInput in) {
        this.path = path;
        this.in = in;
    }

    static OnnxModel read(FormatInput file) {
        OnnxModel model = new OnnxModel(file.path(), new ProtoInput(file));
        model.model(file.size());
        return model;
    }

    List<TensorInfo> tensors() {
        return List.copyOf(tensors.values());
    }

    /** Returns the initializers that are no extents. */
    List<String> leftOut() {
        return leftOut;
    }

    /** Returns the number of sparse initializers. */
    int sparse() {
        return sparse;
    }

    private void model(long end) {
        boolean graph = false;
        while (in.position() < end) {
            if (in.field(end) != MODEL_GRAPH) {
                in.skip(end);
                continue;
            }
            if (graph) {
                throw in.broken("the model has two graphs");
            }
            graph = true;
            in.expect(ProtoInput.BYTES, "the graph");
            graph(in.bytesEnd(end));
        }
        if (!graph) {
            throw in.broken("the model has no graph");
        }
    }

    private void graph(long end) {
        while (in.position() < end) {
            int field = in.field(end);
            if (field == GRAPH_INITIALIZER) {
                in.expect(ProtoInput.BYTES, "an initializer");
                long tensorEnd = in.bytesEnd(end);
                Fields fields = new Fields(in.position());
                tensor(fields, tensorEnd);
                add(fields);
            } else {
                sparse += field == GRAPH_SPARSE_INITIALIZER ? 1 : 0;
                in.skip(end);
            }
        }
    }

    private void tensor(Fields fields, long end) {
        while (in.position() < end) {
            int field = in.field(end);
            switch (field) {
                case TENSOR_DIMS -> dims(fields, end);
                case TENSOR_TYPE -> {
                    in.expect(ProtoInput.VARINT, "a data type");
                    fields.type = Math.clamp(in.varint(end), 0, TYPES.length);
                }
                case TENSOR_NAME -> {
                    in.expect(ProtoInput.BYTES, "a name");
                    fields.name = text(end, "a name");
                }
                case TENSOR_FLOATS, TENSOR_DOUBLES, TENSOR_RAW -> data(fields, field, end);
                case TENSOR_INTS, TENSOR_LONGS, TENSOR_UNSIGNED, TENSOR_TEXTS, TENSOR_SEGMENT -> {
                    fields.typed = true;
                    in.skip(end);
                }
                case TENSOR_EXTERNAL -> {
                    in.expect(ProtoInput.BYTES, "an entry of external_data");
                    entry(fields, in.bytesEnd(end));
                }
                case TENSOR_LOCATION -> {
                    in.expect(ProtoInput.VARINT, "a data location");
                    fields.external = in.varint(end) == 1;
                }
                default -> in.skip(end);
            }
        }
    }

    /** Reads dimensions, one by one or packed. */
    private void dims(Fields fields, long end) {
        long last = in.wire() == ProtoInput.BYTES ? in.bytesEnd(end) : -1;
        if (last < 0) {
            in.expect(ProtoInput.VARINT, "a dimension");
        }
        do {
            long dimension = last == in.position() ? -1 : in.varint(last < 0 ? end : last);
            if (dimension < 0 && last != in.position() || fields.dims.size() == MAX_DIMENSIONS) {
                throw in.broken("an initializer has a dimension of %s, or more than %s".formatted(dimension,
                        MAX_DIMENSIONS));
            }
            if (dimension >= 0) {
                fields.dims.add(dimension);
            }
        } while (in.position() < last);
    }

    /** Notes where bytes are. Values of a packed field are bytes of the tensor, as little-endian as those of raw_data. */
    private void data(Fields fields, int field, long end) {
        if (in.wire() != ProtoInput.BYTES || fields.data >= 0) {
            // values one by one, or in several lists
            fields.typed = true;
            in.skip(end);
            return;
        }
        long dataEnd = in.bytesEnd(end);
        fields.dataField = field;
        fields.data = in.position();
        fields.dataEnd = dataEnd;
        in.skipBytes(dataEnd);
    }

    private void entry(Fields fields, long end) {
        String key = null;
        String value = null;
        while (in.position() < end) {
            int field = in.field(end);
            if (field == ENTRY_KEY || field == ENTRY_VALUE) {
                in.expect(ProtoInput.BYTES, "external_data");
                String text = text(end, "external_data");
                key = field == ENTRY_KEY ? text : key;
                value = field == ENTRY_VALUE ? text : value;
            } else {
                in.skip(end);
            }
        }
        if (key != null && value != null && (fields.place.putIfAbsent(key, value) != null
                || fields.place.size() > MAX_ENTRIES)) {
            throw in.broken("external_data has two entries %s, or more than %s"
                    .formatted(CheckpointException.quote(key), MAX_ENTRIES));
        }
    }

    private String text(long end, String what) {
        long textEnd = in.bytesEnd(end);
        if (textEnd - in.position() > MAX_TEXT) {
            throw in.broken(
                    "%s has %s bytes, at most %s are allowed".formatted(what, textEnd - in.position(), MAX_TEXT));
        }
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(in.bytes(textEnd))).toString();
        } catch (CharacterCodingException e) {
            throw in.broken(what + " is not UTF-8");
        }
    }

    private void add(Fields fields) {
        String name = fields.name;
        if (name == null || name.isEmpty()) {
            throw CheckpointException.of(OnnxRules.STRUCTURE, path, fields.at, "an initializer has no name");
        }
        if (name.length() > SafetensorsText.MAX_NAME) {
            throw CheckpointException.of(CheckpointRule.TENSOR_NAME, path, fields.at,
                    "a name has %s characters, at most %s are allowed".formatted(name.length(),
                            SafetensorsText.MAX_NAME));
        }
        if (!heap.take(HEAP_OF_TENSOR + 2L * name.length() + HeaderHeap.DIMENSION * fields.dims.size())) {
            throw CheckpointException.of(CheckpointRule.HEADER_LIMIT, path, fields.at, heap.excess());
        }
        DType dtype = fields.type < TYPES.length ? TYPES[fields.type] : null;
        if (dtype == null && fields.type != STRING) {
            throw broken(fields, "has data type %s, which is not known".formatted(
                    fields.type == 0 ? "0" : "number " + fields.type));
        }
        OptionalLong needed = dtype == null ? OptionalLong.of(0) : dtype.bytes(fields.dims);
        boolean fits = switch (fields.dataField) {
            case TENSOR_FLOATS -> fields.type == 1 || fields.type == 14;
            case TENSOR_DOUBLES -> fields.type == 11 || fields.type == 15;
            default -> true;
        };
        boolean odd = dtype != null && needed.isEmpty() && dtype.blockElements() > 1
                && DType.U8.bytes(fields.dims).isPresent();
        if (dtype == null || fields.typed || !fits || odd) {
            leftOut.add(name);
            return;
        }
        long bytes = needed.orElseThrow(() -> broken(fields, "has a size that does not fit 64 bits"));
        TensorInfo tensor = fields.external ? external(fields, dtype, bytes) : inside(fields, dtype, bytes);
        if (tensors.putIfAbsent(name, tensor) != null) {
            throw CheckpointException.of(CheckpointRule.DUPLICATE_TENSOR, path, fields.at, name,
                    "two initializers have the name %s".formatted(CheckpointException.quote(name)));
        }
    }

    private TensorInfo inside(Fields fields, DType dtype, long bytes) {
        long length = fields.data < 0 ? 0 : fields.dataEnd - fields.data;
        if (length != bytes) {
            throw broken(fields, "has %s bytes; %s of shape %s needs %s".formatted(length, dtype, fields.dims, bytes));
        }
        return new TensorInfo(name(fields), dtype, fields.dims, path, Math.max(0, fields.data), bytes);
    }

    private TensorInfo external(Fields fields, DType dtype, long bytes) {
        String location = fields.place.getOrDefault("location", "");
        long offset = number(fields, "offset", 0);
        long length = number(fields, "length", bytes);
        if (length != bytes || fields.data >= 0) {
            throw broken(fields, fields.data >= 0 ? "has bytes in the model and in another file"
                    : "has %s bytes of %s; %s of shape %s needs %s".formatted(
                            length, CheckpointException.quote(location), dtype, fields.dims, bytes));
        }
        Path file = files.computeIfAbsent(location, key -> resolve(fields, key));
        return new TensorInfo(name(fields), dtype, fields.dims, file, offset, bytes);
    }

    private static String name(Fields fields) {
        return fields.name == null ? "" : fields.name;
    }

    private Path resolve(Fields fields, String location) {
        String plain = location.startsWith("./") ? location.substring(2) : location;
        try {
            if (FileNames.areBelow(plain)) {
                return path.resolveSibling(plain);
            }
        } catch (InvalidPathException e) {
            // refused below
        }
        throw CheckpointException.of(CheckpointRule.INDEX_FILE_NAME, path, fields.at, name(fields),
                "initializer %s is in file %s; only files in the folder of the model and below it are allowed"
                        .formatted(
                                CheckpointException.quote(name(fields)), CheckpointException.quote(location)));
    }

    private long number(Fields fields, String key, long otherwise) {
        String text = fields.place.get(key);
        if (text == null) {
            return otherwise;
        }
        try {
            long number = Long.parseLong(text);
            if (number >= 0) {
                return number;
            }
        } catch (NumberFormatException e) {
            // refused below
        }
        throw broken(fields,
                "has the %s %s, which is no number of bytes".formatted(key, CheckpointException.quote(text)));
    }

    private CheckpointException broken(Fields fields, String detail) {
        return CheckpointException.of(OnnxRules.DATA, path, fields.at, name(fields),
                "initializer %s %s".formatted(CheckpointException.quote(name(fields)), detail));
    }
}
