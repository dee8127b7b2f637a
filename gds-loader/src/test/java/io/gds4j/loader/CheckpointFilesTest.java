package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
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
        }
        assertThat(Checkpoint.open(model.resolve(INDEX)).warnings()).isEmpty();
        assertThat(Checkpoint.open(model).warnings()).singleElement().asString()
                .contains("not loaded: 'unmentioned.safetensors'");
    }

    @Test
    void indexChoosesAmongTheTensorsOfItsFiles() {
        tensors("base.safetensors", "w", "scale");
        tensors("overlay.safetensors", "scale", "other");
        index("{\"weight_map\":{\"w\":\"base.safetensors\",\"scale\":\"overlay.safetensors\"},"
                + "\"metadata\":{\"total_size\":4}}");
        Checkpoint checkpoint = Checkpoint.open(model);
        assertThat(checkpoint.tensors()).containsOnlyKeys("w", "scale");
        assertThat(checkpoint.tensors().get("scale").file()).hasFileName("overlay.safetensors");
        assertThat(checkpoint.bytes()).isEqualTo(4);
        assertThat(checkpoint.warnings()).singleElement().asString()
                .contains("'scale' of base.safetensors, 'other' of overlay.safetensors");
    }

    @Test
    void modelFileTakesThePlaceOfAnIndexWithoutItsShards() {
        tensors("model.safetensors", "a");
        index("{\"weight_map\":{\"b\":\"model-00001-of-00002.safetensors\"}}");
        Checkpoint checkpoint = Checkpoint.open(model);
        assertThat(checkpoint.tensors()).containsOnlyKeys("a");
        assertThat(checkpoint.warnings()).singleElement().asString().contains("not loaded: '" + INDEX + "'");
        tensors("model-00001-of-00002.safetensors", "b");
        assertThat(Checkpoint.open(model).tensors()).containsOnlyKeys("b");
        assertThat(Checkpoint.open(model).warnings()).singleElement().asString().contains("'model.safetensors'");
    }

    @Test
    void modelFileIsPreferredToAnIndexOfAnotherName() {
        tensors("model.safetensors", "new");
        tensors("other.safetensors", "old");
        HeaderText.write(model.resolve("other.safetensors.index.json"),
                "{\"weight_map\":{\"old\":\"other.safetensors\"}}".getBytes(StandardCharsets.UTF_8));
        assertThat(Checkpoint.open(model).tensors()).containsOnlyKeys("new");
        assertThat(Checkpoint.open(model).warnings()).singleElement().asString()
                .contains("'other.safetensors', 'other.safetensors.index.json'");
    }

    @ParameterizedTest
    @CsvSource({"1, 3, 1", "1, 3, 2", "1, 3, 3", "0, 2, 1"})
    void missingPartOfASetIsNamed(int first, int count, int missing) throws IOException {
        for (int part = first; part < first + count; part++) {
            tensors(part(part, count), "t" + part);
        }
        assertThat(Checkpoint.open(model).tensors()).hasSize(count);
        Files.delete(model.resolve(part(missing, count)));
        CheckpointException e = failure(model);
        assertThat(e.rule()).isEqualTo(CheckpointRule.MISSING_SHARD);
        assertThat(e.getMessage()).contains("part %d of the %d files 'm-*-of-".formatted(missing, count));
    }

    private static String part(int number, int count) {
        return "m-%05d-of-%05d.safetensors".formatted(number, count);
    }

    @Test
    void partThatIsNamedItselfLoadsWithAWarning() {
        Path part = tensors(part(2, 3), "a");
        assertThat(Checkpoint.open(part).tensors()).containsOnlyKeys("a");
        assertThat(Checkpoint.open(part).warnings()).singleElement().asString().contains("only part 2 of 3 is loaded");
        assertThat(Checkpoint.open(tensors(part(1, 1), "a")).warnings()).isEmpty();
    }

    @Test
    void filesOfOtherProgramsAreNamed() throws IOException {
        tensors("model.safetensors", "a");
        for (String name : List.of("tf_model.h5", "flax_model.msgpack", "pytorch_model.bin", "optimizer.pt", "m.gguf",
                "x.onnx", "README.md", "config.json")) {
            Files.writeString(model.resolve(name), "x");
        }
        assertThat(Checkpoint.open(model).warnings()).singleElement().asString().contains(
                "'flax_model.msgpack', 'm.gguf', 'optimizer.pt', 'pytorch_model.bin', 'tf_model.h5' and 1 more")
                .doesNotContain("README", "config");
    }

    @Test
    void warningsAreOneLineWhateverTheNames() throws IOException {
        Path odd = Files.createDirectory(model.resolve("a\nb"));
        HeaderText.write(odd.resolve("model.safetensors"), HeaderText.file("{}", 0));
        Files.writeString(odd.resolve("x\ny.pt"), "x");
        assertThat(Checkpoint.open(odd).warnings()).singleElement().asString().contains("x\\ny.pt")
                .doesNotContain("\n");
    }

    @Test
    void unreadableBystandersEndNoLoad() throws IOException {
        tensors("a.safetensors", "a");
        assumeFalse(Files.isReadable(unreadable("README.md")), "root can read every file");
        assertThat(Checkpoint.open(model).tensors()).containsOnlyKeys("a");
    }

    private Path unreadable(String name) throws IOException {
        Path file = Files.writeString(model.resolve(name), "x");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("---------"));
    }

    static Stream<Arguments> strangers() {
        return Stream.of(
                arguments("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4976698672\n",
                        "a Git LFS pointer to a file of 4976698672 bytes; run git lfs pull"),
                arguments("\n<!DOCTYPE html>\n<HTML><head>", "a web page; the download got an answer other than"),
                arguments("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>",
                        "an XML text with the error AccessDenied"),
                arguments("\u0089HDF\r\n\u001a\n and more", "an HDF5 file"),
                arguments("\u001f\u008b\b\0", "gzip"),
                arguments("\b\n\u0012\u0007pytorch\u001a", "an ONNX model"),
                arguments("\u0081\u00a6params\u0081", "a msgpack file"));
    }

    @ParameterizedTest(name = "{1}")
    @MethodSource("strangers")
    void fileInThePlaceOfWeightsIsNamed(String content, String message) throws IOException {
        for (String name : List.of("model.safetensors", "model.gguf", "pytorch_model.bin", "m.npy", "m.npz", "m.pt")) {
            Path file = Files.write(model.resolve(name), content.getBytes(StandardCharsets.ISO_8859_1));
            for (Path path : List.of(file, model)) {
                CheckpointException e = failure(path);
                assertThat(e.rule()).as(name).isEqualTo(CheckpointRule.UNSUPPORTED_FORMAT);
                assertThat(e.getMessage()).contains(name, "this is a", message);
            }
            Files.delete(file);
        }
        Files.write(model.resolve("s.safetensors"), content.getBytes(StandardCharsets.ISO_8859_1));
        index("{\"weight_map\":{\"a\":\"s.safetensors\"}}");
        assertThat(failure(model).getMessage()).contains("s.safetensors", message);
    }

    @Test
    void weightsBelowAFolderArePointedTo() throws IOException {
        Files.createDirectories(model.resolve("scheduler"));
        Path unet = Files.createDirectories(model.resolve("unet"));
        Files.writeString(unet.resolve("diffusion_pytorch_model.safetensors"), "x");
        assertThat(failure(model).getMessage()).contains("there are weights in 'unet'");
        Path snapshot = Files.createDirectories(folder.resolve("models--o--m/snapshots/123"));
        Files.writeString(snapshot.resolve("model.safetensors"), "x");
        assertThat(failure(folder.resolve("models--o--m")).getMessage())
                .contains("there are weights in 'snapshots/123'");
    }

    @Test
    void brokenWeightsOfAFolderAreNamed() throws IOException {
        Files.writeString(model.resolve("weights.pt"), "garbage");
        CheckpointException e = failure(model);
        assertThat(e.rule()).isEqualTo(CheckpointRule.NO_CHECKPOINT);
        assertThat(e.getMessage()).contains("the content of 'weights.pt' is of none of them");
        Files.write(model.resolve("weights.pt"), new byte[0]);
        assertThat(failure(model).getMessage()).contains("weights.pt", "the file is empty");
    }

    @ParameterizedTest
    @CsvSource({"_CHECKPOINT_METADATA, an orbax checkpoint", "zarr.json, a zarr store", "saved_model.pb, a SavedModel"})
    void folderOfAnotherProgramIsNamed(String file, String message) throws IOException {
        Files.writeString(model.resolve(file), "{}");
        CheckpointException e = failure(model);
        assertThat(e.rule()).isEqualTo(CheckpointRule.UNSUPPORTED_FORMAT);
        assertThat(e.getMessage()).contains(message);
    }

    @Test
    void filesOfAnIndexMayLieBelowItsFolder() throws IOException {
        Files.createDirectories(model.resolve("sub/deep"));
        tensors("sub/a.safetensors", "a", "x");
        tensors("sub/deep/a.safetensors", "b", "a");
        index("{\"weight_map\":{\"a\":\"sub/a.safetensors\",\"b\":\"sub/deep/a.safetensors\"}}");
        Checkpoint checkpoint = Checkpoint.open(model);
        assertThat(checkpoint.tensors()).containsOnlyKeys("a", "b");
        assertThat(checkpoint.tensors().get("a").file()).isEqualTo(model.resolve("sub/a.safetensors"));
        assertThat(checkpoint.warnings()).singleElement().asString()
                .contains("'x' of sub/a.safetensors, 'a' of sub/deep/a.safetensors");
    }

    /** Several threads read many headers: the order stays, and the first file that is wrong is the one that is named. */
    @Test
    void manyFilesAreReadInOrder() throws IOException {
        int count = 150;
        for (int i = 0; i < count; i++) {
            tensors("f%03d.safetensors".formatted(i), "t" + i);
        }
        List<String> names = IntStream.range(0, count).mapToObj(i -> "t" + i).toList();
        assertThat(Checkpoint.open(model).tensors().keySet()).containsExactlyElementsOf(names);
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        Path outside = Files.createDirectory(folder.resolve("outside"));
        for (int i = 0; i < 20; i++) {
            int first = random.nextInt(count - 1);
            int second = random.nextInt(first + 1, count);
            Path link = model.resolve("f%03d.safetensors".formatted(first));
            Path kept = outside.resolve("kept");
            Files.move(link, kept);
            Files.createSymbolicLink(link, kept);
            Files.write(model.resolve("f%03d.safetensors".formatted(second)), new byte[9]);
            CheckpointException e = failure(model);
            assertThat(e.rule()).as("seed %d", seed).isEqualTo(CheckpointRule.LINK_OUTSIDE);
            assertThat(e.path()).as("seed %d", seed).hasValue(link);
            Files.delete(link);
            Files.move(kept, link);
            tensors("f%03d.safetensors".formatted(second), "t" + second);
        }
        Thread.currentThread().interrupt();
        assertThat(catchThrowableOfType(CuFileInterruptedException.class, () -> Checkpoint.open(model))).isNotNull();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(Checkpoint.open(model).tensors()).hasSize(count);
    }

    @Test
    void filesOfAnIndexThatLeadOutOfItsFolderAreRefused() throws IOException {
        Path outside = Files.createDirectory(folder.resolve("outside"));
        Files.move(tensors("a.safetensors", "a"), outside.resolve("a.safetensors"));
        Files.createSymbolicLink(model.resolve("sub"), outside);
        index("{\"weight_map\":{\"a\":\"sub/a.safetensors\"}}");
        assertThat(failure(model).rule()).isEqualTo(CheckpointRule.LINK_OUTSIDE);
        assertThat(Checkpoint.open(model, FileVisitOption.FOLLOW_LINKS).tensors()).containsOnlyKeys("a");
    }

    /** Names of diffusers and transformers: whole files, parts with the variant before or behind the number, indexes. */
    @ParameterizedTest
    @CsvSource(delimiter = ';', value = {
            "unet.safetensors; unet.fp16.safetensors; unet.non_ema.safetensors",
            "unet.safetensors; unet.fp16-00001-of-00002.safetensors unet.fp16-00002-of-00002.safetensors; -",
            "unet-00001-of-00002.safetensors unet-00002-of-00002.safetensors; unet.fp16.safetensors; -",
            "unet-00001-of-00002.safetensors unet-00002-of-00002.safetensors;"
                    + "unet-00001-of-00002.fp16.safetensors unet-00002-of-00002.fp16.safetensors; -",
            "unet.safetensors other.safetensors; unet.fp16.safetensors; unet.fp16.ema.safetensors"})
    void variantsAreLeftOutUnlessOneIsAskedFor(String plain, String half, String further) {
        List<String> wanted = List.of(plain.split(" "));
        List<String> variant = List.of(half.split(" "));
        wanted.forEach(name -> tensors(name, "plain" + wanted.indexOf(name)));
        variant.forEach(name -> tensors(name, "plain" + variant.indexOf(name), "half"));
        if (!further.equals("-")) {
            tensors(further, "plain0");
        }
        Checkpoint checkpoint = Checkpoint.open(model);
        assertThat(checkpoint.files()).extracting(file -> file.path().getFileName().toString())
                .containsExactlyInAnyOrderElementsOf(wanted);
        assertThat(checkpoint.warnings()).singleElement().asString().contains("not loaded: ", variant.getFirst());
        if (variant.size() == 1) {
            assertThat(Checkpoint.variant("fp16").open(model).files()).singleElement()
                    .satisfies(file -> assertThat(file.path()).hasFileName(half));
        }
    }

    /** A name may look like a variant's: only a file with a tensor of the other one is. */
    @Test
    void filesWithOtherTensorsAreNoVariants() throws IOException {
        tensors("w-00001-of-00002.safetensors", "a");
        tensors("w-00002-of-00002.safetensors", "b");
        tensors("w.vision-00001-of-00002.safetensors", "c");
        tensors("w.vision-00002-of-00002.safetensors", "d");
        tensors("w.mtp.safetensors", "e");
        tensors("w.fp16-00001-of-00002.safetensors", "f");
        tensors("w.fp16-00002-of-00002.safetensors", "b");
        Files.writeString(model.resolve("w.fp8.safetensors"), "version https://git-lfs.github.com/spec/v1");
        Checkpoint checkpoint = Checkpoint.open(model);
        assertThat(checkpoint.tensors()).containsOnlyKeys("a", "b", "c", "d", "e");
        assertThat(checkpoint.warnings()).singleElement().asString()
                .contains("w.fp16-00001-of-00002.safetensors", "w.fp16-00002-of-00002.safetensors", "w.fp8");
    }

    @Test
    void indexesOfOtherTensorsAreNoVariants() throws IOException {
        for (String[] index : new String[][]{{"x", "a"}, {"x.fp16", "a"}, {"x.vision", "b"}}) {
            tensors(index[0] + "-part.safetensors", index[1]);
            Files.writeString(model.resolve(index[0] + ".safetensors.index.json"),
                    "{\"weight_map\":{\"%s\":\"%s-part.safetensors\"}}".formatted(index[1], index[0]));
        }
        assertThat(failure(model).getMessage()).contains("the folder has 2 indexes");
        Files.delete(model.resolve("x.vision.safetensors.index.json"));
        assertThat(Checkpoint.open(model).tensors()).containsOnlyKeys("a");
    }

    @Test
    void indexOfAVariantNamesItsFiles() throws IOException {
        tensors("model.safetensors", "a");
        tensors("model.fp16-00001-of-00002.safetensors", "a");
        tensors("model.fp16-00002-of-00002.safetensors", "b", "c");
        String json = "{\"weight_map\":{\"a\":\"model.fp16-00001-of-00002.safetensors\","
                + "\"b\":\"model.fp16-00002-of-00002.safetensors\"}}";
        for (String name : List.of("model.safetensors.index.fp16.json", "model.fp16.safetensors.index.json")) {
            Path index = Files.writeString(model.resolve(name), json);
            assertThat(Checkpoint.open(model).tensors()).containsOnlyKeys("a");
            assertThat(Checkpoint.open(model).warnings()).singleElement().asString().contains("not loaded: ", name);
            assertThat(Checkpoint.variant("fp16").open(model).tensors()).containsOnlyKeys("a", "b");
            Files.move(model.resolve("model.safetensors"), model.resolve("unet.safetensors"));
            Files.move(index, model.resolve(name.replace("model", "unet")));
            assertThat(Checkpoint.variant("fp16").open(model).tensors()).containsOnlyKeys("a", "b");
            Files.move(model.resolve("unet.safetensors"), model.resolve("model.safetensors"));
            Files.delete(model.resolve(name.replace("model", "unet")));
        }
    }

    @Test
    void variantThatAFolderLacksIsNamed() {
        Path file = tensors("model.safetensors", "a");
        CheckpointException e = catchThrowableOfType(CheckpointException.class,
                () -> Checkpoint.variant("fp16").open(model));
        assertThat(e.rule()).isEqualTo(CheckpointRule.NO_CHECKPOINT);
        assertThat(e.getMessage()).contains("no file of the variant 'fp16'");
        e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.variant("fp16").open(file));
        assertThat(e.getMessage()).contains("a variant is chosen in a folder");
        for (String wrong : List.of("", "../x")) {
            CuFileException refused =
                    catchThrowableOfType(CuFileException.class, () -> Checkpoint.variant(wrong));
            assertThat(refused.error()).isEqualTo(CuFileError.INVALID_VALUE);
        }
    }

    /** Numbers are no variants: versions, layers. */
    @Test
    void filesWithNumbersInTheirNamesAreAllLoaded() {
        tensors("v1.safetensors", "a");
        tensors("v1.5.safetensors", "b");
        assertThat(Checkpoint.open(model).tensors()).containsOnlyKeys("a", "b");
    }

    @Test
    void folderWithoutIndexIsItsModelFile() {
        tensors("model.safetensors", "a");
        tensors("another.safetensors", "a");
        assertThat(Checkpoint.open(model).files()).hasSize(1);
        assertThat(Checkpoint.open(model).warnings()).singleElement().asString().contains("'another.safetensors'");
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
        assertThat(e.getMessage()).contains("z.safetensors", "x.safetensors", "name one of the files")
                .doesNotContain("index and files disagree");
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
                arguments("{\"weight_map\":{\"a\":\"sub/../../a.safetensors\"}}", CheckpointRule.INDEX_FILE_NAME,
                        "sub/.."),
                arguments("{\"weight_map\":{\"a\":\"sub//a.safetensors\"}}", CheckpointRule.INDEX_FILE_NAME, "sub//a"),
                arguments("{\"weight_map\":{\"a\":\"sub/a.safetensors\"}}", CheckpointRule.MISSING_SHARD, "sub/a"),
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
                arguments("{\"weight_map\":{}}", CheckpointRule.INVALID_INDEX, "weight_map names no tensor"));
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
    void missingShardIsToldBeforeABrokenOne() throws IOException {
        Files.writeString(model.resolve("a.safetensors"), "short");
        index("{\"weight_map\":{\"a\":\"a.safetensors\",\"b\":\"b.safetensors\"}}");
        for (Path path : List.of(model, model.resolve(INDEX))) {
            CheckpointException e = failure(path);
            assertThat(e.rule()).as(e.getMessage()).isEqualTo(CheckpointRule.MISSING_SHARD);
            assertThat(e.getMessage()).contains("'b.safetensors'");
        }
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

    /** The search for a hint meets folders that may be opened, but not read. */
    @Test
    void foldersThatCannotBeReadAreNoneWithACheckpoint() {
        CheckpointException failure =
                catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(Path.of("/proc")));

        assertThat(failure).hasMessageStartingWith("/proc: no checkpoint");
    }
}
