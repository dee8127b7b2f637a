package io.gds4j.config;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonStreamContext;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.exc.InputCoercionException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Reads the text of a cufile.json: values of known keys and unknown keys, or the first error with its place. */
final class JsonConfigReader {
    /** Largest depth of nested objects and arrays. */
    private static final int DEEPEST = 64;

    private static final String ADDRESSES = "rdma_dev_addr_list";
    private static final JsonFactory FACTORY = JsonFactory.builder()
            .enable(JsonReadFeature.ALLOW_JAVA_COMMENTS)
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .streamReadConstraints(
                    StreamReadConstraints.builder().maxNestingDepth(DEEPEST).build())
            .build();

    /** Names of the objects that contain keys: {@code fs}, {@code fs.lustre} and so on. */
    private static final Set<String> SECTIONS = CuFileKeys.all().stream()
            .filter(ConfigKey::inFile)
            .flatMap(key -> prefixes(key.name()).stream())
            .collect(Collectors.toUnmodifiableSet());

    private final Path file;
    private final JsonParser parser;
    private final Map<ConfigKey<?>, ConfigValue<?>> values = new LinkedHashMap<>();
    private final List<UnknownKey> unknown = new ArrayList<>();

    private JsonConfigReader(Path file, JsonParser parser) {
        this.file = file;
        this.parser = parser;
    }

    /** The content of a file. */
    record Content(Map<ConfigKey<?>, ConfigValue<?>> values, List<UnknownKey> unknown) {
        static final Content NONE = new Content(Map.of(), List.of());
    }

    private static List<String> prefixes(String name) {
        List<String> all = new ArrayList<>();
        for (int dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
            all.add(name.substring(0, dot));
        }
        return all;
    }

    /**
     * Reads {@code text}.
     *
     * @throws CuFileConfigException for the first error
     */
    static Content read(Path file, String text) {
        try (JsonParser parser = FACTORY.createParser(text)) {
            return new JsonConfigReader(file, parser).readDocument();
        } catch (IOException impossible) {
            throw new UncheckedIOException("reading from memory", impossible);
        }
    }

    private Content readDocument() throws IOException {
        try {
            JsonToken first = parser.nextToken();
            if (first == null) {
                throw error(null, "the file is empty, allowed: a JSON object");
            }
            if (first != JsonToken.START_OBJECT) {
                throw error(null, "the file contains " + currentValue() + ", allowed: a JSON object");
            }
            readSection("");
            if (parser.nextToken() != null) {
                throw error(null, "text after the end of the JSON object");
            }
            return new Content(values, unknown);
        } catch (JsonProcessingException e) {
            throw malformed(e);
        }
    }

    private void readSection(String path) throws IOException {
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            String name = path.isEmpty() ? parser.currentName() : path + "." + parser.currentName();
            JsonLocation nameAt = parser.currentTokenLocation();
            parser.nextToken();
            Optional<ConfigKey<?>> key = CuFileKeys.named(name).filter(ConfigKey::inFile);
            if (key.isPresent()) {
                readKey(key.get());
            } else if (!SECTIONS.contains(name)) {
                keepUnknown(name, nameAt);
            } else if (parser.currentToken() == JsonToken.START_OBJECT) {
                readSection(name);
            } else {
                throw error(name, name + " is " + currentValue() + ", allowed: a JSON object");
            }
        }
    }

    private <T> void readKey(ConfigKey<T> key) throws IOException {
        JsonLocation at = parser.currentTokenLocation();
        T value = key.type().cast(readValue(key));
        T accepted = key.accept(value)
                .orElseThrow(() -> CuFileConfigException.ofFile(
                        key, CuFileConfigException.show(value), file, at.getLineNr(), at.getColumnNr()));
        values.put(key, ConfigValueParts.ofFile(key, accepted, file, at.getLineNr()));
    }

    private Object readValue(ConfigKey<?> key) throws IOException {
        ValueType<?> type = key.valueType();
        if (type == ValueType.NUMBER) {
            return number(key);
        }
        if (type == ValueType.SWITCH) {
            return switch (parser.currentToken()) {
                case VALUE_TRUE -> true;
                case VALUE_FALSE -> false;
                default -> throw wrongValue(key);
            };
        }
        if (type == ValueType.TEXT) {
            return text(key);
        }
        if (type == ValueType.NUMBERS) {
            return array(key, this::number);
        }
        if (type == ValueType.TEXTS) {
            return array(key, this::text);
        }
        return mounts(key);
    }

    private long number(ConfigKey<?> key) throws IOException {
        if (parser.currentToken() != JsonToken.VALUE_NUMBER_INT) {
            throw wrongValue(key);
        }
        try {
            return parser.getLongValue();
        } catch (InputCoercionException beyond64Bits) {
            throw wrongValue(key);
        }
    }

    private String text(ConfigKey<?> key) throws IOException {
        if (parser.currentToken() != JsonToken.VALUE_STRING) {
            throw wrongValue(key);
        }
        return parser.getText();
    }

    private interface Element<E> {
        E read(ConfigKey<?> key) throws IOException;
    }

    private <E> List<E> array(ConfigKey<?> key, Element<E> element) throws IOException {
        if (parser.currentToken() != JsonToken.START_ARRAY) {
            throw wrongValue(key);
        }
        List<E> list = new ArrayList<>();
        while (parser.nextToken() != JsonToken.END_ARRAY) {
            list.add(element.read(key));
        }
        return List.copyOf(list);
    }

    private MountTable mounts(ConfigKey<?> key) throws IOException {
        if (parser.currentToken() != JsonToken.START_OBJECT) {
            throw wrongValue(key);
        }
        Map<String, List<String>> table = new LinkedHashMap<>();
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            String mount = parser.currentName();
            String path = key.name() + "." + mount;
            if (parser.nextToken() != JsonToken.START_OBJECT) {
                throw wrongValue(key);
            }
            table.put(mount, List.of());
            while (parser.nextToken() != JsonToken.END_OBJECT) {
                String name = parser.currentName();
                JsonLocation nameAt = parser.currentTokenLocation();
                parser.nextToken();
                if (name.equals(ADDRESSES)) {
                    table.put(mount, array(key, this::text));
                } else {
                    keepUnknown(path + "." + name, nameAt);
                }
            }
        }
        return new MountTable(table);
    }

    /** Keeps an unknown key and its value as text. */
    private void keepUnknown(String name, JsonLocation at) throws IOException {
        StringWriter json = new StringWriter();
        try (JsonGenerator generator = FACTORY.createGenerator(json)) {
            generator.copyCurrentStructure(parser);
        }
        unknown.add(new UnknownKey(name, json.toString(), file, at.getLineNr()));
    }

    private CuFileConfigException wrongValue(ConfigKey<?> key) throws IOException {
        JsonLocation at = parser.currentTokenLocation();
        return CuFileConfigException.ofFile(key, currentValue(), file, at.getLineNr(), at.getColumnNr());
    }

    private CuFileConfigException error(@Nullable String key, String what) {
        JsonLocation at = parser.currentToken() == null ? parser.currentLocation() : parser.currentTokenLocation();
        return CuFileConfigException.at(
                file, Math.max(1, at.getLineNr()), Math.max(1, at.getColumnNr()), key, what, null);
    }

    private String currentValue() throws IOException {
        return switch (parser.currentToken()) {
            case START_OBJECT -> "an object";
            case START_ARRAY -> "an array";
            case VALUE_STRING -> CuFileConfigException.show(parser.getText());
            default -> CuFileConfigException.show(new StringBuilder(parser.getText()));
        };
    }

    private CuFileConfigException malformed(JsonProcessingException e) {
        JsonLocation at = e.getLocation();
        int line = at == null ? 1 : Math.max(1, at.getLineNr());
        int column = at == null ? 1 : Math.max(1, at.getColumnNr());
        String reason = e.getOriginalMessage();
        if (reason.startsWith("Duplicate field ")) {
            String name = nameOfCurrentField();
            return CuFileConfigException.at(file, line, column, name, name + " is given twice, allowed: once", e);
        }
        return CuFileConfigException.at(file, line, column, null, "not JSON: " + firstLine(reason), e);
    }

    private String nameOfCurrentField() {
        Deque<String> names = new ArrayDeque<>();
        for (JsonStreamContext context = parser.getParsingContext(); context != null; context = context.getParent()) {
            if (context.hasCurrentName()) {
                names.addFirst(context.getCurrentName());
            }
        }
        return String.join(".", names);
    }

    private static String firstLine(String text) {
        return text.lines().findFirst().orElse("");
    }
}
