package io.gds4j.loader.format.extents;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.FormatFuzz;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointFile;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Lists of extents in JSON: valid ones, and one for each rule. */
class ExtentsFormatTest {
    @TempDir
    Path folder;

    @BeforeEach
    void writeData() throws IOException {
        Files.write(folder.resolve("a.bin"), new byte[100]);
        Files.createDirectory(folder.resolve("sub"));
        Files.write(folder.resolve("sub/b.bin"), new byte[50]);
    }

    private static String extent(String name, String file, String offset, String bytes, String dtype, String shape) {
        return "{\"name\":\"%s\",\"file\":\"%s\",\"offset\":%s,\"bytes\":%s,\"dtype\":\"%s\",\"shape\":%s,\"more\":[{}]}"
                .formatted(name, file, offset, bytes, dtype, shape);
    }

    private static String list(String... extents) {
        return " {\"schema\": \"gds4j.extents/1\", \"note\": null, \"extents\": [" + String.join(",", extents) + "]}";
    }

    private CheckpointException failure(String json) throws IOException {
        Path path = Files.writeString(folder.resolve("list.json"), json);
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(path));
        assertThat(e).isNotNull();
        assertThat(e.getMessage()).doesNotContain("\n");
        return e;
    }

    @Test
    void extentsAreTensorsOfTheirFiles() throws IOException {
        Path path = Files.writeString(
                folder.resolve("list"),
                list(
                        extent("x", "a.bin", "10", "24", "F32", "[2,3]"),
                        extent("all", "a.bin", "0", "100", "Q9", "[4]"),
                        extent("y", "sub/b.bin", "0", "0", "F16", "[0,7]")));
        Checkpoint checkpoint = Checkpoint.open(path);
        assertThat(checkpoint.format().id()).isEqualTo("extents");
        assertThat(checkpoint.files()).extracting(CheckpointFile::path)
                .containsExactly(folder.resolve("a.bin"), folder.resolve("sub/b.bin"));
        TensorInfo x = checkpoint.tensors().get("x");
        assertThat(x.fileOffset()).isEqualTo(10);
        assertThat(x.shape()).containsExactly(2L, 3L);
        assertThat(checkpoint.tensors().get("all").dtype()).isEqualTo(DType.opaque("Q9", 25));
        assertThat(Checkpoint.open(folder).tensors()).containsOnlyKeys("x", "all", "y");
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = ';', value = {
            "past the end; x; a.bin; 90; 24; F32; [6]; ExtentsOutside; which has 100 bytes",
            "an offset of 2^63-1; x; a.bin; 9223372036854775807; 24; F32; [6]; ExtentsOutside; past the end",
            "an offset of 2^64-1; x; a.bin; 18446744073709551615; 24; F32; [6]; ExtentsList; at most 2^63-1",
            "a negative offset; x; a.bin; -1; 24; F32; [6]; ExtentsList; whole number",
            "bytes of another shape; x; a.bin; 0; 24; F32; [7]; ExtentsSize; needs 28",
            "a shape beyond 64 bits; x; a.bin; 0; 24; F32; [4611686018427387904,4]; ExtentsSize; more than 64 bits",
            "bytes that do not divide; x; a.bin; 0; 24; odd; [7]; ExtentsSize; needs 21",
            "a path out of the folder; x; ../a.bin; 0; 24; F32; [6]; ExtentsFileName; below the list's own folder",
            "a path out of a folder; x; sub/../../a; 0; 24; F32; [6]; ExtentsFileName; below the list's own folder",
            "an absolute path; x; /etc/passwd; 0; 24; F32; [6]; ExtentsFileName; below the list's own folder",
            "a missing file; x; none; 0; 24; F32; [6]; FileNotFound; no such file",
            "a folder; x; sub; 0; 24; F32; [6]; FileType; a folder",
            "a shape that is no array; x; a.bin; 0; 24; F32; 6; ExtentsList; an array of numbers"
    })
    void brokenExtentIsRefusedByRule(
            String what, String name, String file, String offset, String bytes, String dtype, String shape, String rule,
            String message) throws IOException {
        CheckpointException e = failure(list(extent(name, file, offset, bytes, dtype, shape)));
        assertThat(e.rule().variant()).isEqualTo(rule);
        assertThat(e.getMessage()).contains(message);
    }

    @Test
    void brokenListsAreRefused() throws IOException {
        String one = extent("x", "a.bin", "0", "24", "F32", "[6]");
        assertThat(failure(list(one, one)).rule()).isEqualTo(CheckpointRule.DUPLICATE_TENSOR);
        assertThat(failure(list("{\"name\":\"x\"}")).getMessage()).contains("needs name, file, offset");
        assertThat(failure(list("1")).getMessage()).contains("must be an object");
        assertThat(failure("{\"schema\":\"gds4j.extents/2\",\"extents\":[]}").getMessage())
                .contains("this version reads gds4j.extents/1");
        assertThat(failure("{\"schema\":\"gds4j.extents/1\"}").getMessage()).contains("extents is missing");
    }

    @Test
    void everyCutOfTheListIsRefused() throws IOException {
        String json = list(extent("x", "a.bin", "0", "24", "F32", "[6]")).strip();
        for (int length = 0; length < json.length(); length++) {
            assertThat(failure(json.substring(0, length)).rule().variant()).as("cut after %d bytes", length)
                    .isIn("ExtentsList", "InvalidIndex", "UnknownFormat");
        }
    }

    @Test
    void mutatedListsOpenOrFailWithOneLine() throws Exception {
        // shorter than every list: the harness compares offsets with the size of the list
        Files.write(folder.resolve("c.bin"), new byte[40]);
        byte[] json = list(
                extent("x", "c.bin", "10", "24", "F32", "[2,3]"), extent("y", "c.bin", "0", "40", "odd", "[5]"))
                .getBytes(StandardCharsets.UTF_8);
        FormatFuzz.run(new ExtentsFormat(), folder, List.of(json));
    }

    @Test
    void listFindsItsFilesBehindALinkAndTwoDots() throws IOException {
        Path link = Files.createSymbolicLink(Files.createDirectory(folder.resolve("other")).resolve("link"),
                folder.resolve("sub"));
        Files.writeString(folder.resolve("list"), list(extent("x", "./sub/.//b.bin", "10", "24", "F32", "[6]"),
                extent("y", "sub/b.bin", "0", "1", "U8", "[1]")));
        Checkpoint checkpoint = Checkpoint.open(link.resolve("../list"));
        assertThat(checkpoint.files()).extracting(file -> file.path().toRealPath())
                .containsExactly(folder.toRealPath().resolve("sub/b.bin"));
    }
}
