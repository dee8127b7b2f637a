package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link Checkpoint#open} with files, folders and indexes. */
class CheckpointFilesTest {
    private static final String INDEX = "model.safetensors.index.json";

    @TempDir
    Path folder;

    private Path model;

    @BeforeEach
    void makeFolder() throws IOException {
        model = Files.createDirectory(folder.resolve("model"));
    }

    private Path tensors(String file, String... names) {
        StringBuilder header = new StringBuilder("{");
        for (int i = 0; i < names.length; i++) {
            header.append(i == 0 ? "" : ",")
                    .append("\"%s\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[%d,%d]}"
                            .formatted(names[i], 2 * i, 2 * i + 2));
        }
        return HeaderText.write(model.resolve(file), HeaderText.file(header + "}", 2 * names.length));
    }

    private Path index(String json) {
        return HeaderText.write(model.resolve(INDEX), json.getBytes(StandardCharsets.UTF_8));
    }

    private static CheckpointException failure(Path path) {
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(path));
        assertThat(e).isNotNull();
        assertThat(e.getMessage()).doesNotContain("\n");
        return e;
    }

    @Test
    void folderIsReadByItsIndex() {
        tensors("b.safetensors", "b1", "b2");
        tensors("a.safetensors", "a1");
        tensors("unmentioned.safetensors", "a1");
        index("{\"weight_map\":{\"b2\":\"b.safetensors\",\"a1\":\"a.safetensors\",\"b1\":\"b.safetensors\"},"
                + "\"metadata\":{\"total_size\":6,\"other\":[{}]},\"more\":null}");
        for (Path path : List.of(model, model.resolve(INDEX))) {
            Checkpoint checkpoint = Checkpoint.open(path);
            assertThat(checkpoint.path()).isEqualTo(path);
            assertThat(checkpoint.tensors()).containsOnlyKeys("a1", "b1", "b2");
            assertThat(checkpoint.files())
                    .extracting(file -> String.valueOf(file.path().getFileName()))
                    .containsExactly("b.safetensors", "a.safetensors");
            assertThat(checkpoint.bytes()).isEqualTo(6);
            assertThat(checkpoint.warnings()).isEmpty();
        }
    }

    @Test
    void folderWithoutIndexIsItsModelFile() {
        tensors("model.safetensors", "a");
        tensors("another.safetensors", "a");
        assertThat(Checkpoint.open(model).files()).hasSize(1);
    }

    @Test
    void folderWithoutModelFileIsAllItsFiles() throws IOException {
        tensors("y.safetensors", "a");
        tensors("x.safetensors", "b");
        Files.writeString(model.resolve(".hidden.safetensors"), "no checkpoint");
        Files.writeString(model.resolve("config.json"), "{}");
        Checkpoint checkpoint = Checkpoint.open(model);
        assertThat(checkpoint.tensors().keySet()).containsExactly("b", "a");
        tensors("z.safetensors", "b");
        CheckpointException e = failure(model);
        assertThat(e.rule()).isEqualTo(CheckpointRule.TENSOR_IN_TWO_FILES);
        assertThat(e.tensor()).contains("b");
        assertThat(e.getMessage()).contains("z.safetensors", "x.safetensors");
    }

    @Test
    void onlyIndexOfAFolderMayHaveAnyName() throws IOException {
        tensors("a.safetensors", "a");
        index("{\"weight_map\":{\"a\":\"a.safetensors\"}}");
        Files.move(model.resolve(INDEX), model.resolve("diffusion.safetensors.index.json"));
        assertThat(Checkpoint.open(model).tensors()).containsOnlyKeys("a");
        Files.copy(model.resolve("diffusion.safetensors.index.json"), model.resolve("x.safetensors.index.json"));
        CheckpointException e = failure(model);
        assertThat(e.rule()).isEqualTo(CheckpointRule.NO_CHECKPOINT);
        assertThat(e.getMessage()).contains("2 indexes");
    }

    @Test
    void symbolicLinkIsFollowed() throws IOException {
        Path file = tensors("blob", "a");
        Files.createSymbolicLink(model.resolve("model.safetensors"), file);
        assertThat(Checkpoint.open(model).tensors()).containsOnlyKeys("a");
    }

    @Test
    void metadataOfAllFilesIsMerged() {
        HeaderText.write(
                model.resolve("a.safetensors"), HeaderText.file("{\"__metadata__\":{\"k\":\"a\",\"x\":\"1\"}}", 0));
        HeaderText.write(
                model.resolve("b.safetensors"), HeaderText.file("{\"__metadata__\":{\"k\":\"b\",\"y\":\"2\"}}", 0));
        assertThat(Checkpoint.open(model).metadata())
                .containsEntry("k", "a")
                .containsEntry("x", "1")
                .containsEntry("y", "2");
    }

    @Test
    void differentTotalSizeIsAWarning() {
        tensors("a.safetensors", "a");
        index("{\"metadata\":{\"total_size\":3},\"weight_map\":{\"a\":\"a.safetensors\"}}");
        assertThat(Checkpoint.open(model).warnings())
                .singleElement()
                .asString()
                .contains(INDEX, "total_size is 3", "2 bytes");
    }

    @ParameterizedTest
    @ValueSource(strings = {"2", "2.0", "2e0", "20E-1", "\"2\"", "null", "[2]"})
    void totalSizeIsReadInAnyNotation(String total) {
        tensors("a.safetensors", "a");
        index("{\"metadata\":{\"total_size\":" + total + "},\"weight_map\":{\"a\":\"a.safetensors\"}}");
        assertThat(Checkpoint.open(model).warnings()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"16.0", "-5", "16e0", "1180591620717411303424", "1e400", "1e-400", "1e99999999999"})
    void wrongTotalSizeIsOnlyAWarning(String total) {
        tensors("a.safetensors", "a");
        index("{\"metadata\":{\"total_size\":" + total + "},\"weight_map\":{\"a\":\"a.safetensors\"}}");
        assertThat(Checkpoint.open(model).warnings()).singleElement().asString().contains("total_size is " + total);
    }

    @Test
    @Timeout(60)
    void totalSizeOfAMillionDigitsIsOnlyAShortWarning() {
        tensors("a.safetensors", "a");
        index("{\"metadata\":{\"total_size\":" + "9".repeat(1_000_000)
                + "},\"weight_map\":{\"a\":\"a.safetensors\"}}");
        assertThat(Checkpoint.open(model).warnings()).singleElement().asString()
                .hasSizeLessThan(200 + model.toString().length());
    }

    static Stream<Arguments> brokenIndexes() {
        return Stream.of(
                arguments("", CheckpointRule.INVALID_INDEX, "ends early"),
                arguments("[]", CheckpointRule.INVALID_INDEX, "one JSON object"),
                arguments("{}", CheckpointRule.INVALID_INDEX, "weight_map is missing"),
                arguments("{\"weight_map\":[]}", CheckpointRule.INVALID_INDEX, "must be an object"),
                arguments("{\"weight_map\":{\"a\":1}}", CheckpointRule.INVALID_INDEX,
                        "the file of a tensor in weight_map must be a string"),
                arguments("{\"weight_map\":{},\"weight_map\":{}}", CheckpointRule.INVALID_INDEX, "occurs twice"),
                arguments("{\"metadata\":{},\"metadata\":{},\"weight_map\":{}}", CheckpointRule.INVALID_INDEX, "twice"),
                arguments("{\"weight_map\":{}} x", CheckpointRule.INVALID_INDEX, "more text follows"),
                arguments(
                        "{\"weight_map\":{\"a\":\"a.safetensors\",\"a\":\"a.safetensors\"}}",
                        CheckpointRule.INVALID_INDEX,
                        "'a' occurs twice"),
                arguments("{\"weight_map\":{\"a\":\"../a.safetensors\"}}", CheckpointRule.INDEX_FILE_NAME, "../a"),
                arguments("{\"weight_map\":{\"a\":\"/a.safetensors\"}}", CheckpointRule.INDEX_FILE_NAME, "own folder"),
                arguments("{\"weight_map\":{\"a\":\"sub/a.safetensors\"}}", CheckpointRule.INDEX_FILE_NAME, "sub/a"),
                arguments("{\"weight_map\":{\"a\":\"..\"}}", CheckpointRule.INDEX_FILE_NAME, "'..'"),
                arguments("{\"weight_map\":{\"a\":\".\"}}", CheckpointRule.INDEX_FILE_NAME, "'.'"),
                arguments("{\"weight_map\":{\"a\":\"\"}}", CheckpointRule.INDEX_FILE_NAME, "''"),
                arguments("{\"weight_map\":{\"a\":\"a\\u0000b\"}}", CheckpointRule.INDEX_FILE_NAME, "a\\u0000b"),
                arguments("{\"weight_map\":{\"a\":\"c.safetensors\"}}", CheckpointRule.MISSING_SHARD,
                        "'c.safetensors'"),
                arguments(
                        "{\"weight_map\":{\"a\":\"a.safetensors\",\"q\":\"a.safetensors\"}}",
                        CheckpointRule.TENSOR_NOT_IN_SHARD,
                        "places tensor 'q' in 'a.safetensors', which does not contain it"),
                arguments(
                        "{\"weight_map\":{\"a\":\"b.safetensors\",\"b\":\"a.safetensors\"}}",
                        CheckpointRule.TENSOR_NOT_IN_SHARD,
                        "it is in a.safetensors"),
                arguments(
                        "{\"weight_map\":{\"b\":\"b.safetensors\",\"a\":\"two.safetensors\"}}",
                        CheckpointRule.TENSOR_NOT_IN_INDEX,
                        "'a2' is in two.safetensors"),
                arguments(
                        "{\"weight_map\":{\"a\":\"a.safetensors\",\"a2\":\"two.safetensors\"}}",
                        CheckpointRule.TENSOR_IN_TWO_FILES,
                        "'a' is also in"));
    }

    @ParameterizedTest(name = "[{index}] {0}")
    @MethodSource("brokenIndexes")
    void brokenIndexIsRefused(String json, CheckpointRule rule, String message) {
        tensors("a.safetensors", "a");
        tensors("b.safetensors", "b");
        tensors("two.safetensors", "a", "a2");
        index(json);
        CheckpointException e = failure(model);
        assertThat(e.rule()).as(e.getMessage()).isEqualTo(rule);
        assertThat(e.getMessage()).contains(rule.variant()).contains(message);
    }

    @Test
    void indexThatIsNotUtf8IsRefused() {
        HeaderText.write(model.resolve(INDEX), new byte[]{'{', (byte) 0xfe});
        CheckpointException e = failure(model);
        assertThat(e.rule()).isEqualTo(CheckpointRule.INVALID_INDEX);
        assertThat(e.fileOffset()).hasValue(1);
    }

    @Test
    void hugeIndexIsRefusedUnread() throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(model.resolve(INDEX).toFile(), "rw")) {
            file.setLength(1L << 40);
        }
        assertThat(failure(model).getMessage()).contains("1099511627776", "100000000");
    }

    @Test
    void brokenShardIsNamed() throws IOException {
        Path shard = Files.writeString(model.resolve("a.safetensors"), "short");
        index("{\"weight_map\":{\"a\":\"a.safetensors\"}}");
        CheckpointException e = failure(model);
        assertThat(e.rule()).isEqualTo(CheckpointRule.HEADER_TOO_SMALL);
        assertThat(e.path()).contains(shard);
    }

    @Test
    void shardThatIsAFolderIsRefused() throws IOException {
        Files.createDirectory(model.resolve("a.safetensors"));
        index("{\"weight_map\":{\"a\":\"a.safetensors\"}}");
        CheckpointException e = failure(model);
        assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_TYPE);
        assertThat(e.error()).isEqualTo(CuFileError.INVALID_FILE_TYPE);
    }

    @Test
    void missingPathIsReported() {
        CheckpointException e = failure(folder.resolve("nothing"));
        assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_NOT_FOUND);
        assertThat(e.errno()).hasValue(Errno.ENOENT);
        assertThat(e.getMessage()).isEqualTo(folder.resolve("nothing") + ": no such file or folder (FileNotFound)");
    }

    @Test
    void danglingLinkIsReportedAsMissing() throws IOException {
        Path link = Files.createSymbolicLink(folder.resolve("m.safetensors"), folder.resolve("gone"));
        assertThat(failure(link).rule()).isEqualTo(CheckpointRule.FILE_NOT_FOUND);
    }

    @Test
    void fileInsteadOfAFolderIsReported() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "x");
        assertThat(failure(file.resolve("m.safetensors")).errno()).isPresent();
    }

    @Test
    void emptyFolderIsNoCheckpoint() {
        CheckpointException e = failure(model);
        assertThat(e.rule()).isEqualTo(CheckpointRule.NO_CHECKPOINT);
        assertThat(e.getMessage()).contains(INDEX, "*.safetensors");
    }

    @Test
    @Timeout(60)
    void pipeIsRefusedWithoutOpeningIt() throws Exception {
        Path pipe = folder.resolve("pipe.safetensors");
        int status = new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor();
        assumeTrue(status == 0, "mkfifo failed");
        assertThat(failure(pipe).rule()).isEqualTo(CheckpointRule.FILE_TYPE);
    }

    @Test
    void deviceIsRefused() {
        assertThat(failure(Path.of("/dev/zero")).rule()).isEqualTo(CheckpointRule.FILE_TYPE);
    }

    @ParameterizedTest
    @ValueSource(strings = {"file", "folder"})
    void missingPermissionIsReported(String what) throws IOException {
        Path path = what.equals("file") ? tensors("m.safetensors", "a") : model;
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("---------"));
        try {
            assumeFalse(Files.isReadable(path), "root can read every file");
            CheckpointException e = failure(path);
            assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_NOT_READABLE);
            assertThat(e.errno()).hasValue(Errno.EACCES);
        } finally {
            Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rwx------"));
        }
    }

    @Test
    void interruptedThreadReadsNothingAndKeepsItsFlag() {
        Path file = tensors("m.safetensors", "a");
        Thread.currentThread().interrupt();
        try {
            assertThat(catchThrowableOfType(CuFileInterruptedException.class, () -> Checkpoint.open(file)))
                    .isNotNull();
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
    }
}
