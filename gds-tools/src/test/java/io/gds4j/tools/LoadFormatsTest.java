package io.gds4j.tools;

import static io.gds4j.tools.GdsRun.gds;
import static io.gds4j.tools.TestCheckpoints.LIBRARIES;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code gds load} of files that torch and NumPy wrote, compared with the digests that they computed. */
class LoadFormatsTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"types.pt, torch", "nested.bin, torch", "arrays.npz, npz", "fortran.npy, npy",
            "distributed, safetensors"})
    void filesOfLibrariesHaveTheirDigestsInMemory(String file, String format) throws IOException {
        JsonNode json =
                gds("load", LIBRARIES.resolve(file).toString(), "-t", "host", "--verify", "--digest", "--json").json();
        assertThat(json.get("format").asText()).isEqualTo(format);
        assertThat(json.get("verified").asBoolean()).isTrue();
        assertThat(GdsRun.digests(json)).isEqualTo(TestCheckpoints.libraryDigests(file));
        JsonNode mapped =
                gds("load", LIBRARIES.resolve(file).toString(), "--map", "--verify", "--digest", "--json").json();
        assertThat(mapped.get("verified").asBoolean()).isTrue();
        assertThat(GdsRun.digests(mapped)).isEqualTo(TestCheckpoints.libraryDigests(file));
    }

    @Test
    void tensorsAreChosenByTheirNamesWithDots() {
        JsonNode json = gds(
                "load", LIBRARIES.resolve("nested.bin").toString(), "-t", "host", "--tensor", "^model\\.", "--digest",
                "--json")
                .json();
        assertThat(json.get("tensorList")).extracting(tensor -> tensor.get("name").asText())
                .containsExactlyInAnyOrder("model.w", "model.b");
    }

    @Test
    void listsShowFormatMetadataAndOffsets() {
        JsonNode torch = gds("load", LIBRARIES.resolve("nested.bin").toString(), "--list", "--json").json();
        assertThat(torch.get("format").asText()).isEqualTo("torch");
        assertThat(torch.get("metadata").get("epoch").asInt()).isEqualTo(7);
        assertThat(torch.get("tensorList")).allSatisfy(
                tensor -> assertThat(tensor.get("fileOffset").asLong() % 64).isZero());
        JsonNode fortran = gds("load", LIBRARIES.resolve("fortran.npy").toString(), "--list", "--json").json();
        assertThat(fortran.get("metadata").get("fortran.fortran_order").asBoolean()).isTrue();
        assertThat(fortran.get("tensorList").get(0).get("order")).hasToString("[1,0]");
        assertThat(torch.get("tensorList").get(0).has("order")).isFalse();
        assertThat(gds("load", LIBRARIES.resolve("fortran.npy").toString(), "--list").out())
                .contains("[2, 3] column-major");
        JsonNode distributed = gds("load", LIBRARIES.resolve("distributed").toString(), "--list", "--json").json();
        assertThat(distributed.get("metadata").get("rows.global_shape").asText()).isEqualTo("[5, 4]");
    }

    @ParameterizedTest
    @CsvSource({"legacy.pt, UnsupportedFormat", "script.pt, UnsupportedFormat", "compressed.pt, UnsupportedFormat",
            "conjugated.pt, UnsupportedTensor", "compressed.npz, UnsupportedFormat", "objects.npy, NpyDescr"})
    void filesThatAreNotReadGiveStatusThree(String file, String rule) {
        GdsRun run = gds("load", LIBRARIES.resolve(file).toString(), "-t", "host", "--json");
        assertThat(run.status()).isEqualTo(3);
        assertThat(run.json().get("error").get("name").asText()).isEqualTo(rule);
        assertThat(run.err().lines()).singleElement().asString().contains(file).doesNotContain(rule);
    }

    @Test
    void whatIsLeftOutIsInEveryOutput() throws IOException {
        Path model = Files.createDirectory(folder.resolve("model"));
        Files.copy(LIBRARIES.resolve("types.pt"), model.resolve("pytorch_model.bin"));
        Files.copy(LIBRARIES.resolve("types.pt"), model.resolve("optimizer.pt"));
        String target = folder.resolve("converted").toString();
        for (GdsRun run : List.of(
                gds("load", model.toString(), "-t", "host", "--json"),
                gds("load", model.toString(), "-t", "host,host", "--json"),
                gds("load", model.toString(), "--list", "--json"),
                gds("convert", model.toString(), target, "--json"))) {
            assertThat(run.status()).isZero();
            JsonNode json = run.json();
            OutputSchemas.check(json);
            assertThat(json.get("warnings")).singleElement()
                    .satisfies(warning -> assertThat(warning.asText()).contains("not loaded: 'optimizer.pt'"));
            assertThat(run.err()).contains("note: ", "'optimizer.pt'");
        }
        JsonNode clean = gds("load", target, "-t", "host", "--json").json();
        assertThat(clean.get("warnings")).isEmpty();
    }

    @Test
    void digestsOfNoTensorsAreAnEmptyList() throws IOException {
        Path file = Files.write(folder.resolve("none.safetensors"), new byte[]{2, 0, 0, 0, 0, 0, 0, 0, '{', '}'});
        for (String targets : List.of("host", "host,host")) {
            JsonNode json = gds("load", file.toString(), "-t", targets, "--digest", "--json").json();
            OutputSchemas.check(json);
            assertThat(json.get("tensorList").isArray()).isTrue();
            assertThat(json.get("tensorList")).isEmpty();
            assertThat(gds("load", file.toString(), "-t", targets, "--json").json().has("tensorList")).isFalse();
        }
    }

    @Test
    void listOfExtentsFitsItsSchemaAndLoads() throws IOException {
        Path list = TestCheckpoints.extents(folder);
        Schema schema = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
                .getSchema(OutputSchemas.read(Path.of("../docs/schemas/extents-1.json")));
        assertThat(schema.validate(OutputSchemas.read(list))).isEmpty();
        JsonNode json = gds("load", list.toString(), "-t", "host", "--verify", "--json").json();
        assertThat(json.get("format").asText()).isEqualTo("extents");
        assertThat(json.get("bytes").asInt()).isEqualTo(24);
    }
}
