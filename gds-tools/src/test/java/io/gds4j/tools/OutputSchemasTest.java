package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The schemas of all outputs. {@link GdsRun#json} checks every output of every other test as well. */
class OutputSchemasTest {
    private static final String DRAFT = "https://json-schema.org/draft/2020-12/schema";

    @TempDir
    private Path folder;

    @Test
    void everySchemaIsValidDraft202012() {
        Schema draft = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                .getSchema(SchemaLocation.of(DRAFT));

        assertThat(OutputSchemas.files()).isNotEmpty().allSatisfy(file -> {
            JsonNode schema = OutputSchemas.read(file);
            assertThat(schema.get("$schema").asText()).isEqualTo(DRAFT);
            assertThat(draft.validate(schema)).as("%s", file).isEmpty();
        });
    }

    @Test
    void everyOutputOfEveryCommandFitsItsSchema() throws Exception {
        String model = folder.resolve("gds-demo/model.safetensors").toString();
        Path result = folder.resolve("result.json");
        Path jobs =
                Files.writeString(folder.resolve("jobs"), "[global]\nxfer_type=0\nrw=read\nbs=64K\nfilename=" + model
                        + "\n[a]\nnum_threads=2\n[b]\nnum_threads=1\n");
        List<String> lines = List.of(
                "demo --size 2M --keep --stats --dir " + folder,
                "load -t host --verify --digest --stats " + model,
                "load --list " + model,
                "! load " + folder.resolve("missing"),
                "explain -t host " + model,
                "! explain " + folder.resolve("missing"),
                "convert " + model + " " + folder.resolve("converted") + " --stats",
                "! convert " + folder.resolve("missing") + " " + folder,
                "check " + folder,
                "check --print-config",
                "check --require nvfs",
                "io -d host -i 64K:128K:*2 -w 2 --warm-up 0 --repeat 2 --stats -f " + model,
                "io -d host -J --warm-up 0 " + jobs,
                "! io -f " + folder.resolve("missing"),
                "records --record 1 --batch 65536 -t host --stats --digest " + jobs,
                "records --record 1 --batch 2 --list " + jobs,
                "! records --record 7 " + folder.resolve("missing"),
                "! rdma bw -d nothing localhost",
                "patterns -p 1,3 -i 64K -s 256K --stats",
                "sample --list",
                "sample pattern-1 --size 256K --stats",
                "sample pattern-1 pattern-2 --size 256K",
                "! sample nothing",
                "! stats 0",
                "top -i 0.1 " + ProcessHandle.current().pid(),
                "! top 0",
                "help",
                "help exit-codes",
                "completion zsh",
                "! frobnicate",
                "--version");
        for (String line : lines) {
            boolean fails = line.startsWith("! ");
            GdsRun run = gds((line.substring(fails ? 2 : 0) + " --json").split(" "));
            JsonNode output = run.json();
            assertThat(output.has("error")).as("%s: %s", line, run.err()).isEqualTo(fails);
            if (line.startsWith("io") && output.has("results")) {
                Files.writeString(result, output.toString());
            }
        }
        gds("plot", result.toString(), "-o", folder.resolve("chart.svg").toString(), "--json").json();
        gds("plot", model, "-o", folder.resolve("chart.svg").toString(), "--json").json();
    }

    @Test
    void missingAndUndescribedFieldsAreNoticed() {
        JsonNode version = gds("--version", "--json").json();

        assertThatThrownBy(() -> OutputSchemas.check(((ObjectNode) version.deepCopy()).put("surprise", 1)))
                .isInstanceOf(AssertionError.class);
        assertThatThrownBy(() -> OutputSchemas.check(((ObjectNode) version.deepCopy()).without("jdk")))
                .isInstanceOf(AssertionError.class);
    }

    @Test
    void fieldsAreNamedInCamelCase() {
        for (Path file : OutputSchemas.files()) {
            ObjectNode definitions = (ObjectNode) OutputSchemas.read(file).get("$defs");
            // Counters have their cuFile names.
            definitions.remove("statistics");
            for (JsonNode properties : definitions.findValues("properties")) {
                assertThat(properties.fieldNames()).toIterable().as("%s", file)
                        .allSatisfy(name -> assertThat(name).matches("[a-z][a-zA-Z0-9]*"));
            }
        }
    }
}
