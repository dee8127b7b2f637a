package io.gds4j.loader.format.extents;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.internal.text.StrictJson;
import io.gds4j.loader.internal.text.StrictJson.Malformed;
import io.gds4j.loader.internal.text.StrictJson.Token;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Parses a list of extents and checks each of them. Pure: bytes in, tensors out. */
final class ExtentsList {
    private static final String SCHEMA = "gds4j.extents/1";
    private static final int MAX_DIMENSIONS = 64;

    private final Path path;
    private final Map<String, TensorInfo> tensors = new LinkedHashMap<>();
    /** Each file once, so that a list of many extents resolves few names. */
    private final Map<String, Path> files = new HashMap<>();

    private ExtentsList(Path path) {
        this.path = path;
    }

    /** Returns the extents of a list. */
    static List<TensorInfo> read(Path path, byte[] json) {
        int bad = StrictJson.checkUtf8(json);
        if (bad >= 0) {
            throw CheckpointException.of(ExtentsRules.LIST, path, bad, "the list is not UTF-8");
        }
        ExtentsList list = new ExtentsList(path);
        try {
            list.parse(new StrictJson(json));
        } catch (Malformed e) {
            throw CheckpointException.of(ExtentsRules.LIST, path, e.offset(), e.detail());
        }
        return new ArrayList<>(list.tensors.values());
    }

    private void parse(StrictJson in) throws Malformed {
        in.expect(Token.START_OBJECT, "a list of extents", "one JSON object");
        boolean schemaSeen = false;
        boolean extentsSeen = false;
        while (in.next() == Token.NAME) {
            switch (in.text()) {
                case "schema" -> {
                    String schema = in.string("schema");
                    if (!schema.equals(SCHEMA)) {
                        throw in.here("schema is %s; this version reads %s"
                                .formatted(CheckpointException.quote(schema), SCHEMA));
                    }
                    schemaSeen = true;
                }
                case "extents" -> {
                    if (extentsSeen) {
                        throw in.here("extents occurs twice");
                    }
                    extentsSeen = true;
                    in.expect(Token.START_ARRAY, "extents", "an array");
                    while (in.next() != Token.END_ARRAY) {
                        extent(in);
                    }
                }
                default -> {
                    in.next();
                    in.skip();
                }
            }
        }
        in.end();
        if (!schemaSeen || !extentsSeen) {
            throw new Malformed(0, (schemaSeen ? "extents" : "schema") + " is missing");
        }
    }

    /** The fields of an extent as they are read. */
    private static final class Fields {
        private @Nullable String name;
        private @Nullable String file;
        private @Nullable String dtype;
        private @Nullable List<Long> shape;
        private long offset = -1;
        private long bytes = -1;
    }

    private void extent(StrictJson in) throws Malformed {
        int mark = in.mark();
        if (!in.found().equals("an object")) {
            throw in.here("an extent must be an object, found " + in.found());
        }
        Fields fields = new Fields();
        while (in.next() == Token.NAME) {
            switch (in.text()) {
                case "name" -> fields.name = in.string("name");
                case "file" -> fields.file = in.string("file");
                case "dtype" -> fields.dtype = in.string("dtype");
                case "offset" -> fields.offset = number(in, "offset");
                case "bytes" -> fields.bytes = number(in, "bytes");
                case "shape" -> fields.shape = shape(in);
                default -> {
                    in.next();
                    in.skip();
                }
            }
        }
        add(fields, mark);
    }

    private static long number(StrictJson in, String field) throws Malformed {
        in.next();
        long value = in.unsigned(field);
        if (value < 0) {
            throw in.here(field + " must be at most 2^63-1");
        }
        return value;
    }

    private static List<Long> shape(StrictJson in) throws Malformed {
        in.expect(Token.START_ARRAY, "shape", "an array of numbers");
        List<Long> shape = new ArrayList<>();
        while (in.next() != Token.END_ARRAY) {
            if (shape.size() == MAX_DIMENSIONS) {
                throw in.here("shape has more than %s dimensions".formatted(MAX_DIMENSIONS));
            }
            long dimension = in.unsigned("a dimension");
            if (dimension < 0) {
                throw in.here("a dimension must be at most 2^63-1");
            }
            shape.add(dimension);
        }
        return shape;
    }

    private void add(Fields fields, int mark) throws Malformed {
        String name = fields.name;
        String file = fields.file;
        String dtype = fields.dtype;
        List<Long> shape = fields.shape;
        if (name == null || file == null || dtype == null || shape == null || fields.offset < 0 || fields.bytes < 0) {
            throw new Malformed(mark, "an extent needs name, file, offset, bytes, dtype and shape");
        }
        TensorInfo tensor = new TensorInfo(
                name, type(name, dtype, shape, fields.bytes, mark), shape, resolve(name, file, mark), fields.offset,
                fields.bytes);
        if (tensors.putIfAbsent(name, tensor) != null) {
            throw broken(
                    CheckpointRule.DUPLICATE_TENSOR,
                    mark,
                    name,
                    "two extents have the name %s".formatted(CheckpointException.quote(name)));
        }
    }

    /** Returns the type; one that is not known is opaque, with elements as long as the extent's bytes say. */
    private DType type(String name, String id, List<Long> shape, long bytes, int mark) {
        DType known = DType.of(id).orElse(null);
        OptionalLong needed;
        if (known != null) {
            needed = known.bytes(shape);
        } else {
            long elements = DType.U8.bytes(shape).orElse(0);
            long each = elements == 0 ? 0 : bytes / elements;
            known = DType.opaque(id, (int) Math.min(each, Integer.MAX_VALUE));
            needed = known.bytes(shape);
        }
        if (needed.isEmpty() || needed.getAsLong() != bytes) {
            throw broken(
                    ExtentsRules.SIZE,
                    mark,
                    name,
                    "extent %s has %s bytes; %s of shape %s needs %s"
                            .formatted(
                                    CheckpointException.quote(name),
                                    bytes,
                                    CheckpointException.quote(id),
                                    shape.size() <= 8 ? shape : shape.size() + " dimensions",
                                    needed.isEmpty() ? "more than 64 bits can count" : needed.getAsLong()));
        }
        return known;
    }

    private Path resolve(String name, String file, int mark) {
        Path known = files.get(file);
        if (known != null) {
            return known;
        }
        if (file.isEmpty()
                || file.startsWith("/")
                || file.indexOf('\\') >= 0
                || file.indexOf('\0') >= 0
                || ("/" + file + "/").contains("/../")) {
            throw broken(
                    ExtentsRules.FILE_NAME,
                    mark,
                    name,
                    "the file of extent %s is %s; only paths below the list's own folder are allowed"
                            .formatted(CheckpointException.quote(name), CheckpointException.quote(file)));
        }
        try {
            // Path.normalize would resolve the two dots of the list's own path, too, and not as the kernel does behind a link
            String plain = Arrays.stream(file.split("/"))
                    .filter(part -> !part.isEmpty() && !part.equals("."))
                    .collect(Collectors.joining("/"));
            Path resolved = path.resolveSibling(plain);
            files.put(file, resolved);
            return resolved;
        } catch (InvalidPathException e) {
            throw broken(
                    ExtentsRules.FILE_NAME,
                    mark,
                    name,
                    "this machine cannot name a file %s".formatted(CheckpointException.quote(file)));
        }
    }

    private CheckpointException broken(CheckpointRule rule, int offset, String name, String detail) {
        return CheckpointException.of(rule, path, offset, name, detail);
    }
}
