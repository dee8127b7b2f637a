package io.gds4j.tools;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** The JSON Schemas in docs/schemas. */
final class OutputSchemas {
    private static final Path FOLDER = Path.of("../docs/schemas");
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final SchemaRegistry REGISTRY =
            SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12);
    private static final Map<String, Schema> STRICT = new ConcurrentHashMap<>();

    private OutputSchemas() {
    }

    /** All schema files. */
    static List<Path> files() {
        try (Stream<Path> files = Files.list(FOLDER)) {
            return files.sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static JsonNode read(Path file) {
        try {
            return MAPPER.readTree(file.toFile());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Fails unless the output fits its schema, and the schema describes every field. */
    static void check(JsonNode output) {
        Schema schema = STRICT.computeIfAbsent(output.get("schema").asText(), OutputSchemas::strict);
        assertThat(schema.validate(output)).as("%s", output).isEmpty();
    }

    private static Schema strict(String name) {
        Path file = FOLDER.resolve(name.replace("gds4j.", "").replace('/', '-') + ".json");
        JsonNode schema = read(file);
        close(schema);
        return REGISTRY.getSchema(schema);
    }

    /** Refuses fields that a schema does not name: users accept them, because later releases add fields. */
    private static void close(JsonNode node) {
        if (node instanceof ObjectNode object && object.path("properties").isObject()
                && !object.has("additionalProperties")) {
            object.put("additionalProperties", false);
        }
        node.forEach(OutputSchemas::close);
    }
}
