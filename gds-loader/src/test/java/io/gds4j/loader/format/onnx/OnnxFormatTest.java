package io.gds4j.loader.format.onnx;

import static io.gds4j.loader.format.onnx.OnnxBytes.tensor;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.FormatFuzz;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.FormatInput;
import io.gds4j.loader.format.TensorInfo;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Models of ONNX: which initializers load, and what is refused. */
class OnnxFormatTest {
    private static final int FLOAT = 1;
    private static final int INT64 = 7;

    @TempDir
    Path folder;

    private Path write(byte[] model) throws IOException {
        return Files.write(folder.resolve("m.onnx"), model);
    }

    private static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) (i * 31 + length);
        }
        return bytes;
    }

    private static byte[] content(TensorInfo tensor) {
        try (FormatInput in = FormatInput.open(tensor.file())) {
            ByteBuffer read = in.read(tensor.fileOffset(), (int) tensor.length());
            return read.array();
        }
    }

    private static byte[] valid() {
        return OnnxBytes.model(
                tensor("raw", FLOAT, 2, 3).bytes(9, bytes(24)),
                new OnnxBytes().bytes(1, new byte[]{2, 2}).bytes(4, bytes(16)).number(2, FLOAT).text(8, "floats"),
                tensor("doubles", 11, 3).bytes(10, bytes(24)),
                tensor("scalar", INT64).bytes(9, bytes(8)),
                tensor("half", 22, 4, 2).bytes(9, bytes(4)),
                tensor("none", FLOAT, 0, 4),
                tensor("outside", 16, 2, 2).external("location", "d/w.bin", "offset", "16", "length", "8"));
    }

    private Path validFile() throws IOException {
        Files.createDirectories(folder.resolve("d"));
        Files.write(folder.resolve("d/w.bin"), bytes(24));
        return write(valid());
    }

    @Test
    void initializersAreExtentsOfTheirFiles() throws IOException {
        Checkpoint checkpoint = Checkpoint.open(validFile());
        assertThat(checkpoint.format().id()).isEqualTo("onnx");
        assertThat(checkpoint.warnings()).isEmpty();
        assertThat(checkpoint.tensors()).containsOnlyKeys(
                "raw", "floats", "doubles", "scalar", "half", "none", "outside");
        assertThat(content(checkpoint.tensors().get("raw"))).isEqualTo(bytes(24));
        assertThat(content(checkpoint.tensors().get("floats"))).isEqualTo(bytes(16));
        assertThat(content(checkpoint.tensors().get("scalar"))).isEqualTo(bytes(8));
        assertThat(content(checkpoint.tensors().get("outside"))).isEqualTo(Arrays.copyOfRange(bytes(24), 16, 24));
        assertThat(checkpoint.tensors().get("outside").dtype()).isEqualTo(DType.BF16);
        assertThat(checkpoint.tensors().get("half").dtype()).hasToString("I4");
        assertThat(checkpoint.tensors().get("floats").shape()).containsExactly(2L, 2L);
        assertThat(Checkpoint.open(folder).tensors()).hasSize(7);
    }

    /** Values that are no bytes of a tensor stay in the model, where a runtime has them. */
    @Test
    void valuesThatAreNoBytesAreLeftOutByName() throws IOException {
        Checkpoint checkpoint = Checkpoint.open(write(OnnxBytes.model(
                tensor("raw", FLOAT, 1).bytes(9, bytes(4)),
                tensor("longs", INT64, 2).bytes(7, new byte[]{1, 2}),
                tensor("ints", 2, 2).bytes(5, new byte[]{1, 2}),
                tensor("single", FLOAT, 1).varint(4 << 3 | 5).varint(1).varint(1).varint(1).varint(1),
                tensor("text", 8, 1).text(6, "a"),
                // whose type stands behind values of another one
                new OnnxBytes().number(1, 2).bytes(4, bytes(16)).number(2, 11).text(8, "floats"),
                tensor("odd", 22, 3).bytes(9, bytes(2)))));
        assertThat(checkpoint.tensors()).containsOnlyKeys("raw");
        assertThat(checkpoint.warnings()).singleElement().asString()
                .contains("'longs', 'ints', 'single', 'text', 'floats'").contains("raw_data");
    }

    @Test
    void safetensorsBesideAreTheCheckpoint() throws IOException {
        validFile();
        new SafetensorsWriter(folder.resolve("model.safetensors")).tensor("a", DType.F32, 2).write(
                (name, offset, to) -> to.fill((byte) 1));
        Checkpoint checkpoint = Checkpoint.open(folder);
        assertThat(checkpoint.format().id()).isEqualTo("safetensors");
        assertThat(checkpoint.warnings()).anySatisfy(line -> assertThat(line).contains("m.onnx"));
    }

    @Test
    void oneOfSeveralModelsMustBeNamed() throws IOException {
        Files.write(folder.resolve("other.onnx"), Files.readAllBytes(validFile()));
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(folder));
        assertThat(e.rule()).isEqualTo(CheckpointRule.NO_CHECKPOINT);
        assertThat(Checkpoint.open(folder.resolve("other.onnx")).tensors()).hasSize(7);
    }

    @Test
    void externalDataBeyondTwoGibibytesIsReached() throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(folder.resolve("w").toFile(), "rw")) {
            file.setLength((5L << 30) + 8);
        }
        Checkpoint checkpoint = Checkpoint.open(write(OnnxBytes.model(
                tensor("w", FLOAT, 2).external("location", "./w", "offset", String.valueOf(5L << 30), "length", "8"))));
        assertThat(checkpoint.tensors().get("w").fileOffset()).isEqualTo(5L << 30);
    }

    static Stream<Arguments> brokenModels() {
        return Stream.of(
                broken("raw data of another length", "OnnxData", "has 5 bytes; F32 of shape [2] needs 8",
                        OnnxBytes.model(tensor("t", FLOAT, 2).bytes(9, bytes(5)))),
                broken("no data", "OnnxData", "has 0 bytes", OnnxBytes.model(tensor("t", FLOAT, 2))),
                broken("an unknown type", "OnnxData", "has data type number 27, which is not known",
                        OnnxBytes.model(tensor("t", 99, 2).bytes(9, bytes(8)))),
                broken("a size beyond 64 bits", "OnnxData", "does not fit 64 bits",
                        OnnxBytes.model(tensor("t", FLOAT, 1L << 40, 1L << 40).bytes(9, bytes(8)))),
                broken("two of one name", "DuplicateTensor", "two initializers have the name 't'",
                        OnnxBytes.model(tensor("t", FLOAT).bytes(9, bytes(4)), tensor("t", FLOAT).bytes(9, bytes(4)))),
                broken("no name", "OnnxStructure", "an initializer has no name",
                        OnnxBytes.model(tensor("", FLOAT).bytes(9, bytes(4)))),
                broken("a negative dimension", "OnnxStructure", "a dimension of -1",
                        OnnxBytes.model(tensor("t", FLOAT, -1).bytes(9, bytes(4)))),
                broken("a file outside", "IndexFileName", "only files in the folder of the model",
                        OnnxBytes.model(tensor("t", FLOAT).external("location", "../w"))),
                broken("no location", "IndexFileName", "is in file ''",
                        OnnxBytes.model(tensor("t", FLOAT).external("offset", "0"))),
                broken("a file that is missing", "MissingShard", "names 'gone', which does not exist",
                        OnnxBytes.model(tensor("t", FLOAT).external("location", "gone"))),
                broken("data past the end", "OnnxData", "reaches past the end of the file, which has 3 bytes",
                        OnnxBytes.model(tensor("t", FLOAT).external("location", "short"))),
                broken("an offset that is no number", "OnnxData", "has the offset '-4', which is no number of bytes",
                        OnnxBytes.model(tensor("t", FLOAT).external("location", "short", "offset", "-4"))),
                broken("a length of another tensor", "OnnxData", "has 8 bytes of 'short'; F32 of shape [] needs 4",
                        OnnxBytes.model(tensor("t", FLOAT).external("location", "short", "length", "8"))),
                broken("two graphs", "OnnxStructure", "two graphs",
                        new OnnxBytes().number(1, 9).message(7, new OnnxBytes()).message(7, new OnnxBytes()).get()),
                broken("no graph", "OnnxStructure", "no graph", new OnnxBytes().number(1, 9).text(2, "test").get()));
    }

    private static Arguments broken(String what, String rule, String message, byte[] model) {
        return Arguments.of(what, rule, message, model);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("brokenModels")
    void brokenModelsAreRefusedByName(String what, String rule, String message, byte[] model) throws IOException {
        Files.write(folder.resolve("short"), new byte[3]);
        Path file = write(model);
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(file));
        assertThat(e).isNotNull();
        assertThat(e.rule().variant()).isEqualTo(rule);
        assertThat(e.getMessage()).contains(message).doesNotContain("\n");
    }

    @Test
    void linksOutsideAreRefused() throws IOException {
        Path inside = Files.createDirectory(folder.resolve("inside"));
        Files.write(folder.resolve("w"), bytes(4));
        Files.createSymbolicLink(inside.resolve("w"), folder.resolve("w"));
        Path model = Files.write(inside.resolve("m.onnx"),
                OnnxBytes.model(tensor("t", FLOAT).external("location", "w")));
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(model));
        assertThat(e.rule()).isEqualTo(CheckpointRule.LINK_OUTSIDE);
    }

    @ParameterizedTest
    @CsvSource({"08 09 3a 00, true", "08 0d 12 04 74 65 73 74 3a 00, true", "08 01 12 00, false", "08 09 0a 00, false",
            "08 09 12 ff ff ff ff 0f, false", "0a 09 3a 00, false"})
    void modelsAreRecognisedByTheirFirstFields(String hex, boolean expected) throws IOException {
        byte[] content = new byte[hex.split(" ").length];
        for (int i = 0; i < content.length; i++) {
            content[i] = (byte) Integer.parseInt(hex.split(" ")[i], 16);
        }
        try (FormatInput in = FormatInput.open(write(content))) {
            assertThat(new OnnxFormat().recognize(in).getClass().getSimpleName())
                    .isEqualTo(expected ? "Recognized" : "Unrecognized");
        }
    }

    @Test
    void everyCutIsRefused() throws IOException {
        byte[] model = valid();
        Files.createDirectories(folder.resolve("d"));
        Files.write(folder.resolve("d/w.bin"), bytes(24));
        int graphEnd = model.length - 6; // what follows the graph is not read
        for (int length = 0; length < graphEnd; length += 3) {
            Path file = write(Arrays.copyOf(model, length));
            CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(file));
            assertThat(e).as("cut after %s bytes", length).isNotNull();
        }
    }

    @Test
    void mutatedModelsAreReadOrRefused() throws Exception {
        FormatFuzz.run(new OnnxFormat(), folder, List.of(
                OnnxBytes.model(tensor("raw", FLOAT, 2, 3).bytes(9, bytes(24)),
                        tensor("b", INT64, 2).bytes(9, bytes(16))),
                OnnxBytes.model(tensor("longs", INT64, 2).bytes(7, new byte[]{1, 2}),
                        new OnnxBytes().bytes(1, new byte[]{2, 2}).bytes(4, bytes(16)).number(2, FLOAT).text(8, "f"))));
        Path model = validFile();
        FormatFuzz.runRecognised(model, folder, List.of(Files.readAllBytes(model)));
    }
}
