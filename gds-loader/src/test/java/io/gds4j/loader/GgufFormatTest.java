package io.gds4j.loader;

import static io.gds4j.loader.GgufBytes.ARRAY;
import static io.gds4j.loader.GgufBytes.BOOL;
import static io.gds4j.loader.GgufBytes.FLOAT32;
import static io.gds4j.loader.GgufBytes.FLOAT64;
import static io.gds4j.loader.GgufBytes.INT16;
import static io.gds4j.loader.GgufBytes.INT32;
import static io.gds4j.loader.GgufBytes.INT64;
import static io.gds4j.loader.GgufBytes.INT8;
import static io.gds4j.loader.GgufBytes.STRING;
import static io.gds4j.loader.GgufBytes.UINT16;
import static io.gds4j.loader.GgufBytes.UINT32;
import static io.gds4j.loader.GgufBytes.UINT64;
import static io.gds4j.loader.GgufBytes.UINT8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.Metadata;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.format.gguf.GgufFormat;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** GGUF files: types, metadata, broken files, split sets. */
class GgufFormatTest {
    @TempDir
    Path folder;

    private Path write(String name, byte[] bytes) {
        return HeaderText.write(folder.resolve(name), bytes);
    }

    private Checkpoint open(GgufBytes file) {
        return Checkpoint.open(write("model.gguf", file.file()));
    }

    private static CheckpointException failure(Path path) {
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(path));
        assertThat(e).as("%s is accepted", path).isNotNull();
        assertThat(e.getMessage()).doesNotContain("\n").hasSizeLessThan(1000);
        return e;
    }

    private static GgufBytes gguf() {
        return new GgufBytes();
    }

    @ParameterizedTest
    @CsvSource({
            "0, F32, 1, 4", "1, F16, 1, 2", "2, Q4_0, 32, 18", "3, Q4_1, 32, 20", "6, Q5_0, 32, 22",
            "7, Q5_1, 32, 24", "8, Q8_0, 32, 34", "9, Q8_1, 32, 36", "10, Q2_K, 256, 84", "11, Q3_K, 256, 110",
            "12, Q4_K, 256, 144", "13, Q5_K, 256, 176", "14, Q6_K, 256, 210", "15, Q8_K, 256, 292",
            "16, IQ2_XXS, 256, 66", "17, IQ2_XS, 256, 74", "18, IQ3_XXS, 256, 98", "19, IQ1_S, 256, 50",
            "20, IQ4_NL, 32, 18", "21, IQ3_S, 256, 110", "22, IQ2_S, 256, 82", "23, IQ4_XS, 256, 136",
            "24, I8, 1, 1", "25, I16, 1, 2", "26, I32, 1, 4", "27, I64, 1, 8", "28, F64, 1, 8", "29, IQ1_M, 256, 56",
            "30, BF16, 1, 2", "34, TQ1_0, 256, 54", "35, TQ2_0, 256, 66", "39, MXFP4, 32, 17", "40, NVFP4, 64, 36",
            "41, Q1_0, 128, 18", "42, Q2_0, 64, 18"})
    void everyTypeHasTheSizeOfItsBlocks(int number, String id, int blockElements, int blockBytes) {
        Checkpoint checkpoint = open(gguf()
                .tensor("t", number, 3L * 5 * blockBytes, 3L * blockElements, 5)
                .tensor("u", number, blockBytes, blockElements));
        TensorInfo tensor = checkpoint.tensors().get("t");
        assertThat(tensor.dtype()).isEqualTo(new DType(id, blockElements, blockBytes));
        assertThat(tensor.shape()).containsExactly(5L, 3L * blockElements);
        assertThat(GgufFormat.ne(tensor)).containsExactly(3L * blockElements, 5L);
        assertThat(tensor.length()).isEqualTo(15L * blockBytes);
        assertThat(checkpoint.format().id()).isEqualTo("gguf");
    }

    @Test
    void tensorsAreLoadedWithOneReadOfTheDataSection() throws IOException {
        GgufBytes file = gguf().key("general.architecture", "llama");
        for (int i = 0; i < 40; i++) {
            file.tensor("blk." + i + ".ffn_up.weight", 14, 210L * 320, 256, 320)
                    .tensor("blk." + i + ".norm", 0, 1000, 250)
                    .tensor("blk." + i + ".empty", 0, 0, 0, 7);
        }
        FileChannelBackend backend = new FileChannelBackend();
        Checkpoint checkpoint = open(file);
        byte[] bytes = Files.readAllBytes(folder.resolve("model.gguf"));
        LoadPlan plan = checkpoint.plan();
        assertThat(plan.requests()).hasSize(1);
        try (CuFileDriver driver = CuFileDriver.open(backend); LoadedTensors tensors = plan.load(driver)) {
            assertThat(tensors.names()).hasSize(120);
            for (LoadedTensor tensor : tensors.tensors()) {
                MemorySegment expected = MemorySegment.ofArray(bytes)
                        .asSlice(tensor.info().fileOffset(), tensor.info().length());
                assertThat(expected.mismatch(TrackingAllocator.raw(tensor.range()))).isEqualTo(-1);
            }
            assertThat(bytes[(int) tensors.get("blk.1.norm").info().fileOffset()])
                    .isEqualTo(GgufBytes.data(1024 + 2 * 67_200));
        }
    }

    static Stream<Arguments> goodFiles() {
        return Stream.of(
                arguments("no keys, no tensors", gguf(), 0),
                arguments("version 2", gguf().version(2).tensor("a", 24, 5, 5), 1),
                arguments("a dimension of 0", gguf().tensor("a", 0, 0, 4, 0, 3).tensor("b", 24, 1, 1), 2),
                arguments("rows of 0 blocks", gguf().tensor("a", 2, 0, 0, 5), 1),
                arguments("a scalar", gguf().tensor("a", 0, 4), 1),
                arguments("alignment 1", gguf().alignment(1).tensor("a", 24, 5, 5).tensor("b", 24, 3, 3), 2),
                arguments("alignment 4096", gguf().alignment(4096).tensor("a", 24, 5, 5).tensor("b", 24, 3, 3), 2),
                arguments("alignment 2^31 without tensors", gguf().alignment(1 << 31), 0),
                arguments("no padding at the end", gguf().withoutFinalPadding().tensor("a", 24, 5, 5), 1),
                arguments("an empty tensor after missing padding",
                        gguf().withoutFinalPadding().tensor("a", 24, 5, 5).rawTensor("b", 4, 0, 32, 0, 0, 1, 1, 1), -1),
                arguments("four dimensions", gguf().tensor("a", 24, 16, 2, 2, 2, 2), 1),
                arguments("five dimensions", gguf().tensor("a", 24, 16, 2, 1, 2, 2, 2), 1),
                arguments("a name of 63 bytes", gguf().tensor("é".repeat(31) + "n", 24, 1, 1), 1),
                arguments("a name of 4,096 bytes", gguf().tensor("n".repeat(4096), 24, 1, 1), 1),
                arguments("a name of 4,096 characters", gguf().tensor("\u20ac".repeat(4096), 24, 1, 1), 1),
                arguments("a key of 65,535 bytes", gguf().key("k".repeat(65_535), UINT8, new byte[1]), 0));
    }

    @ParameterizedTest(name = "[{index}] {0}")
    @MethodSource("goodFiles")
    void validFileIsAccepted(String what, GgufBytes file, int tensors) {
        if (tensors < 0) {
            // the file ends before the offset of its last, empty tensor
            Path path = write("model.gguf", Arrays.copyOf(file.file(), file.dataOffset() + 5));
            assertThat(Checkpoint.open(path).tensors()).hasSize(2);
        } else {
            assertThat(open(file).tensors()).as(what).hasSize(tensors);
        }
    }

    @Test
    void bytesAfterTheLastTensorAreIgnored() {
        byte[] file = gguf().tensor("a", 24, 5, 5).file();
        assertThat(Checkpoint.open(write("a", Arrays.copyOf(file, file.length + 1000))).bytes()).isEqualTo(5);
    }

    private static Arguments bad(String what, CheckpointRule rule, GgufBytes file, String message) {
        return bad(what, rule.variant(), file, message);
    }

    private static Arguments bad(String what, String rule, GgufBytes file, String message) {
        return arguments(what, rule, file, message);
    }

    static Stream<Arguments> badFiles() {
        GgufBytes n = gguf();
        return Stream.of(
                bad("-1 tensors", "BadCount", gguf().announce(0, -1), "announces -1 tensors"),
                bad("-1 keys", "BadCount", gguf().announce(-1, 0), "announces -1 keys"),
                bad("2^60 tensors", "BadCount", gguf().announce(0, 1L << 60), "hold at most 0"),
                bad("2^60 keys", "BadCount", gguf().announce(1L << 60, 0), "hold at most 0"),
                bad("more keys than there are", "TruncatedHeader",
                        gguf().key("a".repeat(20), UINT64, n.number(8, 1)).announce(1, 0), "ends within a key"),
                bad("a key of 2^63 bytes", "BadKey", gguf().raw(n.number(8, Long.MIN_VALUE), new byte[20]),
                        "9223372036854775808 bytes"),
                bad("a key of 65,536 bytes", "BadKey", gguf().key("k".repeat(65_536), UINT8, n.number(1, 0)),
                        "65536 bytes, at most 65535"),
                bad("an empty key", "BadKey", gguf().key("", UINT8, new byte[4]), "a key is empty"),
                bad("a key that is not UTF-8", "BadKey",
                        gguf().raw(n.number(8, 1), new byte[]{-1}, n.number(4, 0), new byte[1]), "not UTF-8"),
                bad("a key that occurs twice", CheckpointRule.DUPLICATE_METADATA_KEY,
                        gguf().key("a", UINT8, new byte[1]).key("a", INT8, new byte[1]), "'a' occurs twice"),
                bad("value type 13", "BadValue", gguf().key("a", 13, new byte[9]), "'a' has type 13"),
                bad("value type -1", "BadValue", gguf().key("a", -1, new byte[9]), "'a' has type -1"),
                bad("an array of type 13", "BadValue", gguf().key("a", ARRAY, n.array(13, 0)), "has type 13"),
                bad("arrays within arrays, nine deep", "BadValue", gguf().key("a", ARRAY, nested(9)),
                        "deeper than 8 levels"),
                bad("an inner array of type 13", "BadValue",
                        gguf().key("a", ARRAY, n.array(ARRAY, 1, n.array(13, 0))), "has type 13"),
                bad("an inner array longer than the file", "TruncatedHeader",
                        gguf().key("a", ARRAY, n.array(ARRAY, 1, n.array(UINT8, 100))), "has 100 elements"),
                bad("2^61 elements", "BadValue", gguf().key("a", ARRAY, n.array(UINT64, 1L << 61)),
                        "2305843009213693952 elements, at most 1073741824"),
                bad("2^30 strings", "TruncatedHeader", gguf().key("a", ARRAY, n.array(STRING, 1 << 30)),
                        "elements of 8 bytes"),
                bad("-1 elements", "BadValue", gguf().key("a", ARRAY, n.array(UINT8, -1)),
                        "18446744073709551615 elements"),
                bad("a truth value of 2", "BadValue", gguf().key("a", BOOL, n.number(1, 2)), "is 2; a BOOL"),
                bad("a truth value of 255 in an array", "BadValue",
                        gguf().key("a", ARRAY, n.array(BOOL, 2, new byte[]{1, -1})), "is 255; a BOOL"),
                bad("a string of 2^63 bytes", "BadValue", gguf().key("a", STRING, n.number(8, Long.MIN_VALUE)),
                        "9223372036854775808 bytes"),
                bad("a string longer than the file", "TruncatedHeader", gguf().key("a", STRING, n.number(8, 9)),
                        "only 0 are left"),
                bad("a string in an array longer than the file", "TruncatedHeader",
                        gguf().key("a", ARRAY, n.array(STRING, 2, n.text("x"), n.number(8, 1 << 29))),
                        "536870912 bytes"),
                bad("alignment 0", "BadAlignment", gguf().key("general.alignment", UINT32, new byte[4]), "is 0"),
                bad("alignment 13", "BadAlignment", gguf().alignment(13), "power of two"),
                bad("alignment as INT32", "BadAlignment",
                        gguf().key("general.alignment", INT32, n.number(4, 32)), "type INT32"),
                bad("alignment 2^31", "TruncatedData", gguf().tensor("a", 24, 5, 5)
                        .key("general.alignment", UINT32, n.number(4, 1L << 31)), "ends after 0 bytes"),
                bad("a name of 12,289 bytes", "BadTensorName", gguf().tensor("n".repeat(12_289), 24, 1, 1),
                        "12289 bytes, at most 12288"),
                bad("a zero byte in a name", "BadTensorName", gguf().tensor("a\0b", 24, 1, 1), "zero byte"),
                bad("a name that occurs twice", CheckpointRule.DUPLICATE_TENSOR,
                        gguf().tensor("a", 24, 1, 1).tensor("a", 24, 1, 1), "'a' occurs twice"),
                bad("65 dimensions", "BadShape", gguf().rawTensor("a", 65, 24, 0, 1, new long[65]),
                        "65 dimensions, at most 64"),
                bad("-1 dimensions", "BadShape", gguf().rawTensor("a", -1, 24, 0, 1, 1), "4294967295 dimensions"),
                bad("a dimension of -1", "BadShape", gguf().rawTensor("a", 2, 24, 0, 1, 4, -1), "dimension of -1"),
                bad("2^64 elements", CheckpointRule.VALIDATION_OVERFLOW,
                        gguf().rawTensor("a", 2, 24, 0, 1, 1L << 32, 1L << 32), "does not fit"),
                bad("2^63 elements in two dimensions", CheckpointRule.VALIDATION_OVERFLOW,
                        gguf().rawTensor("a", 2, 24, 0, 1, 1L << 32, 1L << 31), "does not fit"),
                bad("2^64 bytes", CheckpointRule.VALIDATION_OVERFLOW,
                        gguf().rawTensor("a", 1, 28, 0, 1, 1L << 61), "does not fit"),
                bad("type 4", "UnknownTensorType", gguf().tensor("a", 4, 18, 32), "type 4 was removed"),
                bad("type 31", "UnknownTensorType", gguf().tensor("a", 31, 18, 32), "type 31 was removed"),
                bad("type 36", "UnknownTensorType", gguf().tensor("a", 36, 18, 32), "type 36 was removed"),
                bad("type 43", "UnknownTensorType", gguf().tensor("a", 43, 1, 1), "private type of a fork"),
                bad("type -1", "UnknownTensorType", gguf().tensor("a", -1, 1, 1), "type -1 is not in ggml"),
                bad("half a block", "BadShape", gguf().tensor("a", 2, 27, 48), "rows of 48 elements"),
                bad("a scalar of blocks", "BadShape", gguf().tensor("a", 2, 18), "rows of 1 elements"),
                bad("rows of half a block", "BadShape", gguf().tensor("a", 2, 18, 16, 2), "rows of 16 elements"),
                bad("offset -1", CheckpointRule.INVALID_OFFSET, gguf().rawTensor("a", 1, 24, -1, 1, 1),
                        "begins at 18446744073709551615"),
                bad("a gap", CheckpointRule.INVALID_OFFSET,
                        gguf().tensor("a", 24, 1, 1).rawTensor("b", 1, 24, 64, 1, 1), "end at 32"),
                bad("an overlap", CheckpointRule.INVALID_OFFSET,
                        gguf().tensor("a", 24, 33, 33).rawTensor("b", 1, 24, 32, 1, 1), "end at 64"),
                bad("an alignment other than that of the offsets", CheckpointRule.INVALID_OFFSET,
                        gguf().tensor("a", 24, 1, 1).tensor("b", 24, 1, 1)
                                .key("general.alignment", UINT32, n.number(4, 64)),
                        "end at 64"),
                bad("sizes whose sum overflows", CheckpointRule.VALIDATION_OVERFLOW,
                        gguf().rawTensor("a", 1, 24, 0, 0, 0x7FFFFFFFFFFFFFC0L)
                                .rawTensor("b", 1, 24, 0x7FFFFFFFFFFFFFC0L, 0, 0x7FFFFFFFFFFFFFC0L),
                        "'b' does not fit"),
                bad("a size whose padding overflows", CheckpointRule.VALIDATION_OVERFLOW,
                        gguf().rawTensor("a", 1, 24, 0, 0, Long.MAX_VALUE), "'a' does not fit"));
    }

    @ParameterizedTest(name = "[{index}] {0}")
    @MethodSource("badFiles")
    void brokenRuleIsNamedInOneLine(String what, String rule, GgufBytes file, String message) {
        byte[] bytes;
        try {
            bytes = file.file();
        } catch (ArithmeticException | ArrayIndexOutOfBoundsException | NegativeArraySizeException impossible) {
            bytes = file.header();
        }
        Path path = write("model.gguf", bytes);
        CheckpointException e = failure(path);
        assertThat(e.rule().variant()).as(e.getMessage()).isEqualTo(rule);
        assertThat(e.getMessage()).as(what).contains(message, path.toString(), "at byte ");
    }

    @Test
    void namesHaveTheLimitOfAllFormats() {
        CheckpointException e = failure(write("model.gguf", gguf().tensor("n".repeat(4097), 24, 1, 1).file()));
        assertThat(e.rule()).isEqualTo(CheckpointRule.TENSOR_NAME);
        assertThat(e.getMessage()).contains("4097 characters, at most 4096 are allowed");
    }

    @Test
    void missingLastByteIsNamedWithItsTensor() {
        GgufBytes file = gguf().withoutFinalPadding().tensor("a", 24, 5, 5).tensor("b", 24, 7, 7);
        byte[] bytes = file.file();
        CheckpointException e = failure(write("m", Arrays.copyOf(bytes, bytes.length - 1)));
        assertThat(e.rule().variant()).isEqualTo("TruncatedData");
        assertThat(e.tensor()).contains("b");
    }

    @Test
    void fileCutAfterAnyByteOfItsMetadataIsRefused() throws IOException {
        GgufBytes n = gguf();
        GgufBytes file = gguf().key("a", "text").key("b", ARRAY, n.array(STRING, 2, n.text("x"), n.text("yz")))
                .key("c", ARRAY, n.array(INT16, 3, new byte[6])).key("d", BOOL, n.number(1, 1)).alignment(64)
                .tensor("t", 0, 24, 3, 2).tensor("u", 24, 1, 1);
        byte[] whole = file.file();
        for (int length = 0; length < file.dataOffset(); length++) {
            CheckpointException e = failure(write("cut.gguf", Arrays.copyOf(whole, length)));
            assertThat(e.rule().variant()).as("%d bytes: %s", length, e.getMessage()).isIn(
                    "BadMagic", "TruncatedHeader", "BadCount", "TruncatedData");
        }
    }

    @ParameterizedTest
    @CsvSource({"0, version 0", "1, version 1", "4, version 4", "-2, version 4294967294"})
    void otherVersionIsRefusedByName(int version, String message) {
        CheckpointException e = failure(write("m", gguf().version(version).file()));
        assertThat(e.rule()).isEqualTo(CheckpointRule.UNSUPPORTED_FORMAT);
        assertThat(e.getMessage()).contains(message);
    }

    @Test
    void bigEndianFileIsRefusedByName() {
        GgufBytes file = gguf().order(ByteOrder.BIG_ENDIAN).key("general.architecture", "llama").tensor("a", 0, 4, 1);
        CheckpointException e = failure(write("m", file.file()));
        assertThat(e.rule()).isEqualTo(CheckpointRule.UNSUPPORTED_FORMAT);
        assertThat(e.getMessage()).contains("big-endian");
        assertThat(failure(folder).getMessage()).contains("big-endian");
    }

    @Test
    void otherMagicIsRefusedEvenIfTheFormatIsGiven() {
        Path path = write("m", gguf().magic("GGML").file());
        assertThat(failure(path).rule()).isEqualTo(CheckpointRule.UNKNOWN_FORMAT);
        CheckpointException e =
                catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(path, new GgufFormat()));
        assertThat(e.rule().variant()).isEqualTo("BadMagic");
    }

    @Test
    void fileNamedSafetensorsIsReadAsGguf() {
        assertThat(Checkpoint.open(write("m.safetensors", gguf().tensor("a", 24, 1, 1).file())).format().id())
                .isEqualTo("gguf");
    }

    @Test
    void privateTypeOfAForkCanBeRegistered() {
        Path path = write("fork.gguf", gguf().tensor("a", 142, 68, 128, 2).file());
        assertThat(failure(path).getMessage()).contains("type 142", "withType");
        GgufFormat fork = new GgufFormat().withType(142, "PQ2_0", 128, 34);
        TensorInfo tensor = Checkpoint.open(path, fork).tensors().get("a");
        assertThat(tensor.dtype()).hasToString("PQ2_0");
        assertThat(tensor.length()).isEqualTo(68);
        for (int[] wrong : new int[][]{{2, 32, 18}, {142, 0, 18}, {142, 32, 0}}) {
            CuFileException e = catchThrowableOfType(
                    CuFileException.class, () -> fork.withType(wrong[0], "x", wrong[1], wrong[2]));
            assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
        }
    }

    @Test
    void metadataHasTheTypesOfTheFile() {
        GgufBytes n = gguf();
        Checkpoint checkpoint = open(gguf()
                .key("u8", UINT8, n.number(1, 255)).key("i8", INT8, n.number(1, -1))
                .key("u16", UINT16, n.number(2, 65_535)).key("i16", INT16, n.number(2, -2))
                .key("u32", UINT32, n.number(4, -1)).key("i32", INT32, n.number(4, -3))
                .key("u64", UINT64, n.number(8, -1)).key("i64", INT64, n.number(8, -4))
                .key("f32", FLOAT32, n.number(4, Float.floatToIntBits(1.5f)))
                .key("f64", FLOAT64, n.number(8, Double.doubleToLongBits(-2.25)))
                .key("yes", BOOL, n.number(1, 1)).key("no", BOOL, n.number(1, 0)).key("name", "ü")
                .key("floats", ARRAY, n.array(FLOAT32, 2, n.number(4, 0), n.number(4, Float.floatToIntBits(0.5f)))));
        Metadata metadata = checkpoint.typedMetadata();
        assertThat(metadata.keys().stream().map(key -> key + "=" + metadata.get(key).orElseThrow())).containsExactly(
                "u8=255", "i8=-1", "u16=65535", "i16=-2", "u32=4294967295", "i32=-3", "u64=18446744073709551615",
                "i64=-4",
                "f32=1.5", "f64=-2.25", "yes=true", "no=false", "name=ü", "floats=FLOAT32[2]");
        assertThat(metadata.get("missing")).isEmpty();
        assertThat(checkpoint.metadata()).containsOnlyKeys("name").containsEntry("name", "ü");
        assertThat(array(checkpoint, "floats").values(0, 2))
                .containsExactly(new MetadataValue.Real(0), new MetadataValue.Real(0.5));
    }

    /** Returns an array of bytes within arrays of one element. */
    private static byte[] nested(int levels) {
        GgufBytes n = gguf();
        byte[] array = n.array(UINT8, 1, new byte[]{7});
        for (int i = 1; i < levels; i++) {
            array = n.array(ARRAY, 1, array);
        }
        return array;
    }

    @Test
    void arraysHoldArrays() {
        GgufBytes n = gguf();
        byte[][] rows = new byte[5000][];
        Arrays.setAll(rows, i -> n.array(UINT16, i % 3, new byte[i % 3 * 2]));
        Checkpoint checkpoint = open(gguf().key("deep", ARRAY, nested(8)).key("rows", ARRAY, n.array(ARRAY, 5000, rows))
                .key("merges", ARRAY, n.array(ARRAY, 1, n.array(STRING, 2, n.text("a"), n.text("b")))));
        MetadataValue value = array(checkpoint, "deep");
        for (int i = 0; i < 8; i++) {
            value = ((MetadataValue.Array) value).values(0, 1).getFirst();
        }
        assertThat(value).isEqualTo(new MetadataValue.Whole(7, false));
        assertThat(array(checkpoint, "rows").elementType()).isEqualTo("ARRAY");
        assertThat(array(checkpoint, "rows").values(4095, 3)).extracting(MetadataValue::toString)
                .containsExactly("UINT16[0]", "UINT16[1]", "UINT16[2]");
        assertThat(((MetadataValue.Array) array(checkpoint, "merges").values(0, 1).getFirst()).values(1, 1))
                .containsExactly(new MetadataValue.Text("b"));
    }

    private static MetadataValue.Array array(Checkpoint checkpoint, String key) {
        return (MetadataValue.Array) checkpoint.typedMetadata().get(key).orElseThrow();
    }

    private static GgufBytes vocabulary(int tokens) {
        GgufBytes n = gguf();
        byte[][] texts = new byte[tokens][];
        Arrays.setAll(texts, i -> n.text("token " + i));
        return gguf().key("tokens", ARRAY, n.array(STRING, tokens, texts)).key("long", "x".repeat(5000) + "ü");
    }

    @Test
    void elementsOfAnArrayAreReadWhenAskedFor() {
        Checkpoint checkpoint = open(vocabulary(10_000));
        MetadataValue.Array tokens = array(checkpoint, "tokens");
        assertThat(tokens.elementType()).isEqualTo("STRING");
        assertThat(tokens.size()).isEqualTo(10_000);
        for (long first : new long[]{0, 4095, 4096, 8191, 9998}) {
            assertThat(tokens.values(first, 2)).extracting(MetadataValue::toString)
                    .containsExactly("token " + first, "token " + (first + 1));
        }
        assertThat(tokens.values(0, 10_000)).hasSize(10_000);
        assertThat(tokens.values(10_000, 0)).isEmpty();
        assertThat(checkpoint.metadata().get("long")).hasSize(5001).endsWith("xü");
        for (long[] range : new long[][]{{-1, 1}, {0, -1}, {9_999, 2}, {Long.MAX_VALUE, 1}}) {
            CuFileException e = catchThrowableOfType(
                    CuFileException.class, () -> tokens.values(range[0], (int) range[1]));
            assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE);
        }
    }

    @Test
    void valuesOfAFileThatChangedAreRefused() throws IOException {
        Checkpoint checkpoint = open(vocabulary(100));
        Path path = folder.resolve("model.gguf");
        byte[] bytes = Files.readAllBytes(path);
        Files.write(path, Arrays.copyOf(bytes, bytes.length - 1));
        CheckpointException e = catchThrowableOfType(
                CheckpointException.class, () -> array(checkpoint, "tokens").values(0, 1));
        assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED);
        Files.move(Files.write(folder.resolve("same-size"), bytes), path, StandardCopyOption.REPLACE_EXISTING);
        e = catchThrowableOfType(CheckpointException.class, () -> array(checkpoint, "tokens").values(0, 1));
        assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED);
        byte[] other = new byte[bytes.length];
        Arrays.fill(other, (byte) 0xfe);
        Files.write(path, other);
        assertThat(catchThrowableOfType(CheckpointException.class, () -> array(checkpoint, "tokens").values(0, 1)))
                .isNotNull();
    }

    private GgufBytes part(int number, int count, int tensors) {
        GgufBytes n = gguf();
        return gguf().key("split.no", UINT16, n.number(2, number)).key("split.count", UINT16, n.number(2, count))
                .key("split.tensors.count", INT32, n.number(4, tensors));
    }

    private Path set() {
        write("m-00002-of-00003.gguf", part(1, 3, 3).tensor("b", 24, 5, 5).tensor("c", 24, 5, 5).file());
        write("m-00003-of-00003.gguf", part(2, 3, 3).tensor("d", 24, 5, 5).file());
        return write("m-00001-of-00003.gguf", part(0, 3, 3).key("general.name", "m").file());
    }

    @Test
    void splitSetIsOneCheckpoint() {
        for (Path path : List.of(set(), folder)) {
            Checkpoint checkpoint = Checkpoint.open(path);
            assertThat(checkpoint.files()).hasSize(3);
            assertThat(checkpoint.tensors().keySet()).containsExactly("b", "c", "d");
            assertThat(checkpoint.metadata()).containsEntry("general.name", "m");
        }
    }

    @Test
    void partsAreFoundInEveryLanguage() {
        Path first = set();
        Locale before = Locale.getDefault();
        Locale.setDefault(Locale.forLanguageTag("ar-EG"));
        try {
            assertThat(Checkpoint.open(first).files()).hasSize(3);
        } finally {
            Locale.setDefault(before);
        }
    }

    @Test
    void missingPartIsNamed() throws IOException {
        Path first = set();
        Files.delete(folder.resolve("m-00002-of-00003.gguf"));
        CheckpointException e = failure(first);
        assertThat(e.rule()).isEqualTo(CheckpointRule.MISSING_SHARD);
        assertThat(e.getMessage()).contains("part 2 of 3", "m-00002-of-00003.gguf");
    }

    @Test
    void missingFirstPartIsNamed() throws IOException {
        Files.delete(set());
        CheckpointException e = failure(folder);
        assertThat(e.rule()).isEqualTo(CheckpointRule.MISSING_SHARD);
        assertThat(e.getMessage()).contains("part 1 of 3", "m-00001-of-00003.gguf");
    }

    @Test
    void laterPartPointsToTheFirst() {
        set();
        CheckpointException e = failure(folder.resolve("m-00002-of-00003.gguf"));
        assertThat(e.rule().variant()).isEqualTo("BadSplit");
        assertThat(e.getMessage()).contains("part 2 of 3", "m-00001-of-00003.gguf");
    }

    @ParameterizedTest
    @ValueSource(strings = {"renamed.gguf", "m-00001-of-00004.gguf"})
    void renamedPartIsRefused(String name) throws IOException {
        Path renamed = Files.move(set(), folder.resolve(name));
        assertThat(failure(renamed).rule().variant()).isEqualTo("BadSplit");
    }

    static Stream<Arguments> wrongParts() {
        GgufFormatTest test = new GgufFormatTest();
        return Stream.of(
                arguments("BadSplit", gguf().tensor("b", 24, 1, 1), "has no split.no"),
                arguments("BadSplit", test.part(2, 3, 3).tensor("b", 24, 1, 1), "is part 3 of 3"),
                arguments("BadSplit", test.part(1, 2, 3).tensor("b", 24, 1, 1), "is part 2 of 2"),
                arguments("BadSplit", test.part(1, 3, 3).tensor("b", 24, 1, 1), "3, but the parts have 2"),
                arguments("BadSplit",
                        gguf().key("split.no", "1").key("split.count", "3").tensor("b", 24, 1, 1), "must be a number"),
                arguments(CheckpointRule.TENSOR_IN_TWO_FILES.variant(),
                        test.part(1, 3, 3).tensor("d", 24, 1, 1).tensor("b", 24, 1, 1), "'d' is also in"));
    }

    @ParameterizedTest(name = "[{index}] {2}")
    @MethodSource("wrongParts")
    void partThatDoesNotFitIsRefused(String rule, GgufBytes part, String message) {
        Path first = set();
        write("m-00002-of-00003.gguf", part.file());
        CheckpointException e = failure(first);
        assertThat(e.rule().variant()).as(e.getMessage()).isEqualTo(rule);
        assertThat(e.getMessage()).contains(message);
    }

    @Test
    void mergedFileMayKeepTheNameOfAPart() {
        Path merged = write("m-00001-of-00003.gguf", part(0, 0, 1).tensor("b", 24, 1, 1).file());
        assertThat(Checkpoint.open(merged).files()).hasSize(1);
    }

    @Test
    void folderWithSeveralModelsAsksForOne() {
        byte[] model = gguf().tensor("a", 24, 1, 1).file();
        write("mmproj-m.gguf", model);
        write("m-Q4_K_M.gguf", model);
        assertThat(Checkpoint.open(folder).files()).singleElement()
                .satisfies(file -> assertThat(file.path()).hasFileName("m-Q4_K_M.gguf"));
        write("m-Q8_0.gguf", model);
        CheckpointException e = failure(folder);
        assertThat(e.rule()).isEqualTo(CheckpointRule.NO_CHECKPOINT);
        assertThat(e.getMessage()).contains("2 GGUF models", "'m-Q4_K_M.gguf', 'm-Q8_0.gguf'");
    }

    @Test
    void folderWithTwoFormatsNamesThem() {
        write("m.gguf", gguf().tensor("a", 24, 1, 1).file());
        Path other = write("m.safetensors", HeaderText.file("{}", 0));
        CheckpointException e = failure(folder);
        assertThat(e.rule()).isEqualTo(CheckpointRule.MIXED_FORMATS);
        assertThat(e.getMessage()).contains("safetensors and gguf", "name a file");
        assertThat(Checkpoint.open(folder, new GgufFormat()).tensors()).hasSize(1);
        assertThat(Checkpoint.open(other).tensors()).isEmpty();
    }

    @Test
    void indexDecidesBetweenTwoFormats() {
        write("m.gguf", gguf().tensor("a", 24, 1, 1).file());
        write("s.safetensors", HeaderText.file("{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1));
        write("model.safetensors.index.json",
                "{\"weight_map\":{\"b\":\"s.safetensors\"}}".getBytes(StandardCharsets.UTF_8));
        assertThat(Checkpoint.open(folder).tensors()).containsOnlyKeys("b");
        assertThat(Checkpoint.open(folder).warnings()).singleElement().asString().contains("not loaded: 'm.gguf'");
    }

    @Test
    void indexOfTwoFormatsIsRefused() {
        write("a.bin", gguf().tensor("a", 24, 1, 1).file());
        write("b.bin", HeaderText.file("{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1));
        Path index = write("x.index.json", "{\"weight_map\":{\"a\":\"a.bin\",\"b\":\"b.bin\"}}"
                .getBytes(StandardCharsets.UTF_8));
        CheckpointException e = failure(index);
        assertThat(e.rule()).isEqualTo(CheckpointRule.MIXED_FORMATS);
        assertThat(e.getMessage()).contains("gguf and safetensors");
    }
}
