package io.gds4j.dataset.source;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.gds4j.internal.file.TrustedFolder;
import io.gds4j.internal.text.InertText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads the index.json of an MDS data set, which describes its shards. */
final class MdsIndex {
    private static final int MAX_INDEX = 64 << 20;
    /** Most bytes of JSON between two shards; the writer's take about 500 and their columns. */
    private static final int MAX_SHARD = 1 << 20;
    private static final long VERSION = 2;
    /** Longest shard: offsets of samples have 32 bits. */
    private static final long MAX_BYTES = 0xffff_ffffL;
    private static final String ZSTD = "zstd";
    /** What writes the plain bytes, by the name that the writer has for the compression. */
    private static final Map<String, String> UNPACK =
            Map.of("br", "brotli -dc", "bz2", "bzip2 -dc", "gz", "gzip -dc", ZSTD, "zstd -dc");

    private final Path index;
    private final Optional<UnpackedShards> unpacked;
    private final boolean followLinks;
    private final List<MdsShard> shards = new ArrayList<>();

    private MdsIndex(Path index, Optional<UnpackedShards> unpacked, boolean followLinks) {
        this.index = index;
        this.unpacked = unpacked;
        this.followLinks = followLinks;
    }

    /**
     * Opens the shards that an index describes.
     *
     * @param unpacked where those are unpacked that have only a packed file; empty to refuse them
     */
    static List<MdsShard> shards(Path index, Optional<UnpackedShards> unpacked, boolean followLinks) {
        MdsIndex reader = new MdsIndex(index, unpacked, followLinks);
        try (HeaderFile file = HeaderFile.open(index)) {
            if (file.size() > MAX_INDEX) {
                throw reader.malformed("the index has %s bytes, allowed: 0 to %s".formatted(file.size(), MAX_INDEX));
            }
            reader.read(file.read(0, (int) file.size(), "the index").array());
        }
        if (reader.shards.isEmpty()) {
            throw reader.malformed("the index has no shards");
        }
        return reader.shards;
    }

    private void read(byte[] json) {
        try (JsonParser parser = new JsonFactory().createParser(json)) {
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw malformed("the index is no JSON object");
            }
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                boolean isShards = parser.currentName().equals("shards");
                if (parser.nextToken() == JsonToken.START_ARRAY && isShards) {
                    while (parser.nextToken() != JsonToken.END_ARRAY) {
                        shards.add(shard(value(parser, parser.currentLocation().getByteOffset() + MAX_SHARD)));
                    }
                } else {
                    parser.skipChildren();
                }
            }
        } catch (JacksonException e) {
            throw malformed("the index is not valid JSON");
        } catch (IOException e) {
            throw RecordFormatException.of(index, e);
        }
    }

    /** Returns a map, list, whole number or null; anything else is a text. */
    private @Nullable Object value(JsonParser parser, long end) throws IOException {
        if (parser.currentLocation().getByteOffset() > end) {
            throw malformed("a shard is described by more than %s bytes".formatted(MAX_SHARD));
        }
        return switch (parser.currentToken()) {
            case START_OBJECT -> {
                Map<String, @Nullable Object> fields = new HashMap<>();
                while (parser.nextToken() == JsonToken.FIELD_NAME) {
                    String name = parser.currentName();
                    parser.nextToken();
                    fields.put(name, value(parser, end));
                }
                yield fields;
            }
            case START_ARRAY -> {
                List<@Nullable Object> elements = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    elements.add(value(parser, end));
                }
                yield elements;
            }
            case VALUE_NULL -> null;
            case VALUE_NUMBER_INT -> parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
                    ? parser.getText()
                    : (Object) parser.getLongValue();
            default -> parser.getText();
        };
    }

    private MdsShard shard(@Nullable Object described) {
        if (!(described instanceof Map<?, ?> shard)
                || !"mds".equals(shard.get("format")) || !Long.valueOf(VERSION).equals(shard.get("version"))) {
            throw malformed("shard %s is not of format mds and version %s".formatted(shards.size(), VERSION));
        }
        Map<?, ?> plain = field(shard, "raw_data", Map.class);
        long bytes = field(plain, "bytes", Long.class);
        Path path = file(plain);
        if (shard.get("zip_data") instanceof Map<?, ?> packed && Files.notExists(path)) {
            path = unpacked(packed, field(shard, "compression", String.class), path, bytes);
        } else {
            checkLink(path);
        }
        List<?> names = field(shard, "column_names", List.class);
        List<?> widths = field(shard, "column_sizes", List.class);
        List<String> columns = new ArrayList<>();
        for (Object name : names) {
            if (!(name instanceof String text) || columns.contains(text)) {
                throw malformed("shard %s has a column without a name of its own".formatted(shards.size()));
            }
            columns.add(text);
        }
        int[] sizes = widths.stream().mapToInt(width -> {
            if (width != null && !(width instanceof Long size && size > 0 && size <= Integer.MAX_VALUE)) {
                throw malformed("shard %s has a column of %s bytes, allowed: null, 1 to %s".formatted(
                        shards.size(), InertText.quote(width.toString()), Integer.MAX_VALUE));
            }
            return width == null ? 0 : Math.toIntExact((Long) width);
        }).toArray();
        if (columns.size() != sizes.length) {
            throw malformed("shard %s has %s columns and %s sizes of columns".formatted(
                    shards.size(), columns.size(), sizes.length));
        }
        return MdsShard.read(path, bytes, field(shard, "samples", Long.class), List.copyOf(columns), sizes,
                plain.get("hashes") instanceof Map<?, ?> checksums ? Checksum.of(checksums) : Optional.empty());
    }

    private Path unpacked(Map<?, ?> packed, String compression, Path plain, long bytes) {
        Path file = file(packed);
        if (unpacked.isEmpty() || !algorithm(compression).equals(ZSTD)) {
            throw packed(file, compression, plain);
        }
        if (bytes < 0 || bytes > MAX_BYTES) {
            throw malformed("shard %s unpacks to %s bytes, allowed: 0 to %s".formatted(
                    shards.size(), bytes, MAX_BYTES));
        }
        checkLink(file);
        return unpacked.get().unpack(file, field(packed, "bytes", Long.class), plain, bytes);
    }

    private void checkLink(Path file) {
        if (!followLinks) {
            HeaderFile.checkLink(index, file);
        }
    }

    /** Returns the algorithm without its level. */
    private static String algorithm(String compression) {
        return compression.split(":", 2)[0];
    }

    private static RecordFormatException packed(Path file, String compression, Path plain) {
        String algorithm = algorithm(compression);
        String unpack = UNPACK.get(algorithm);
        return RecordFormatException.malformed(file, "is compressed by %s, allowed: a plain shard; %s".formatted(
                InertText.quote(compression), unpack == null
                        ? "write it with compression=None"
                        : "unpack it once by %s into %s%s".formatted(
                                unpack, InertText.quote(plain.getFileName().toString()),
                                algorithm.equals(ZSTD)
                                        ? ", or name a folder for it: RecordFiles.mds, or --unpack of gds records"
                                        : "")));
    }

    private Path file(Map<?, ?> described) {
        String name = field(described, "basename", String.class);
        try {
            if (TrustedFolder.isBelow(name)) {
                return index.resolveSibling(name);
            }
        } catch (InvalidPathException e) {
            // such as half a surrogate pair
        }
        throw malformed("shard %s has a name that leads elsewhere, %s".formatted(shards.size(), InertText.quote(name)));
    }

    private <T> T field(Map<?, ?> fields, String name, Class<T> type) {
        Object value = fields.get(name);
        if (!type.isInstance(value)) {
            throw malformed("shard %s has no %s, as %s".formatted(shards.size(), name, type.getSimpleName()));
        }
        return type.cast(value);
    }

    private RecordFormatException malformed(String detail) {
        return RecordFormatException.malformed(index, detail);
    }
}
