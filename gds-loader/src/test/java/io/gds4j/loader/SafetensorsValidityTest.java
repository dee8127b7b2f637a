package io.gds4j.loader;

import static io.gds4j.loader.format.CheckpointRule.DUPLICATE_METADATA_KEY;
import static io.gds4j.loader.format.CheckpointRule.DUPLICATE_TENSOR;
import static io.gds4j.loader.format.CheckpointRule.HEADER_TOO_LARGE;
import static io.gds4j.loader.format.CheckpointRule.HEADER_TOO_SMALL;
import static io.gds4j.loader.format.CheckpointRule.INVALID_HEADER;
import static io.gds4j.loader.format.CheckpointRule.INVALID_HEADER_DESERIALIZATION;
import static io.gds4j.loader.format.CheckpointRule.INVALID_HEADER_LENGTH;
import static io.gds4j.loader.format.CheckpointRule.INVALID_OFFSET;
import static io.gds4j.loader.format.CheckpointRule.METADATA_INCOMPLETE_BUFFER;
import static io.gds4j.loader.format.CheckpointRule.MISALIGNED_SLICE;
import static io.gds4j.loader.format.CheckpointRule.TENSOR_INVALID_INFO;
import static io.gds4j.loader.format.CheckpointRule.TENSOR_NOT_AN_OBJECT;
import static io.gds4j.loader.format.CheckpointRule.VALIDATION_OVERFLOW;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Valid and broken safetensors files, with the rule and message for each broken one. */
class SafetensorsValidityTest {
    @TempDir
    Path folder;

    private Path file(byte[] bytes) {
        return HeaderText.write(folder.resolve("m.safetensors"), bytes);
    }

    private static String tensor(String name, String dtype, String shape, String begin, String end) {
        return "\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%s,%s]}".formatted(name, dtype, shape, begin,
                end);
    }

    private static String object(String... entries) {
        return "{" + String.join(",", entries) + "}";
    }

    /** The header of one tensor, 'a'. */
    private static String only(String dtype, String shape, String begin, String end) {
        return object(tensor("a", dtype, shape, begin, end));
    }

    private static String nested(int depth) {
        // the header itself and the tensor are two levels
        return "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":" + "[".repeat(depth - 2)
                + "]".repeat(depth - 2) + "}}";
    }

    private static Arguments broken(String what, byte[] file, CheckpointRule rule, String... message) {
        return arguments(what, file, rule, List.of(message));
    }

    private static Arguments header(String what, String json, int data, CheckpointRule rule, String... message) {
        return broken(what, HeaderText.file(json, data), rule, message);
    }

    private static Arguments json(String what, String json, String... message) {
        String[] all = Arrays.copyOf(message, message.length + 1);
        all[message.length] = "InvalidHeaderDeserialization at byte ";
        return header(what, json, 1, INVALID_HEADER_DESERIALIZATION, all);
    }

    /** A tensor 'a' with this shape. */
    private static Arguments shape(String what, String shape, String... message) {
        return json(what, only("U8", shape, "0", "1"), message);
    }

    private static Arguments offset(String what, String begin, String... message) {
        return json(what, only("U8", "[1]", begin, "1"), message);
    }

    static Stream<Arguments> brokenFiles() {
        byte[] one = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}".getBytes(StandardCharsets.UTF_8);
        byte[] notUtf8 = one.clone();
        notUtf8[2] = (byte) 0xff;
        byte[] overlong = new String(one, StandardCharsets.UTF_8)
                .replace("\"a\"", "\"xx\"")
                .getBytes(StandardCharsets.UTF_8);
        overlong[2] = (byte) 0xc0;
        overlong[3] = (byte) 0x80;
        byte[] surrogate = new String(one, StandardCharsets.UTF_8)
                .replace("\"a\"", "\"xxx\"")
                .getBytes(StandardCharsets.UTF_8);
        surrogate[2] = (byte) 0xed;
        surrogate[3] = (byte) 0xa0;
        surrogate[4] = (byte) 0x80;
        byte[] utf16 = new String(one, StandardCharsets.UTF_8).getBytes(StandardCharsets.UTF_16LE);
        String fine = tensor("a", "U8", "[1]", "0", "1");
        return Stream.of(
                broken("an empty file", new byte[0], HEADER_TOO_SMALL, "the file is empty"),
                broken("seven bytes", new byte[7], HEADER_TOO_SMALL, "7 bytes", "8-byte header length"),
                broken("a header of 2^60 bytes", HeaderText.claiming(1L << 60, 100), HEADER_TOO_LARGE,
                        "1152921504606846976", "100000000"),
                broken("a header of 2^64-1 bytes", HeaderText.claiming(-1, 100), HEADER_TOO_LARGE,
                        "18446744073709551615"),
                broken("one byte above the limit, checked before the file's length",
                        HeaderText.claiming(100_000_001, 0), HEADER_TOO_LARGE, "100000001"),
                broken("a zip file", "PK\3\4\24\0\0\0 and more".getBytes(StandardCharsets.US_ASCII), HEADER_TOO_LARGE,
                        "PyTorch"),
                broken("a header of the limit in a short file", HeaderText.claiming(100_000_000, 10),
                        INVALID_HEADER_LENGTH, "100000000", "10 bytes follow"),
                broken("a header one byte longer than the file", HeaderText.claiming(3, 2), INVALID_HEADER_LENGTH,
                        "only 2 bytes"),
                broken("bytes that are not UTF-8", HeaderText.file(notUtf8, 1), INVALID_HEADER, "byte 10"),
                broken("an overlong form", HeaderText.file(overlong, 1), INVALID_HEADER, "byte 10"),
                broken("an encoded surrogate", HeaderText.file(surrogate, 1), INVALID_HEADER, "UTF-8"),
                broken("UTF-16", HeaderText.file(utf16, 1), INVALID_HEADER_DESERIALIZATION,
                        "InvalidHeaderDeserialization"),
                json("a header of no bytes", ""),
                json("white space alone", "   "),
                json("a byte-order mark", "\ufeff{" + fine + "}", "byte-order mark"),
                json("an array", "[]", "one JSON object"),
                json("a number", "1", "one JSON object"),
                json("null", "null", "one JSON object"),
                json("no end", "{" + fine),
                json("a trailing comma", "{" + fine + ",}"),
                json("a second object", "{" + fine + "}{}", "more text follows"),
                json("a trailing word", "{" + fine + "} x"),
                json("a trailing NUL", "{" + fine + "}\0"),
                json("a comment", "/* */{" + fine + "}"),
                json("a line comment", "{" + fine + "}//"),
                json("single quotes", "{'a':{}}"),
                json("a bare name", "{a:{}}"),
                json("a form feed", "\f{" + fine + "}"),
                json("a control character in a name", object(tensor("a\1b", "U8", "[1]", "0", "1"))),
                json("an unknown escape", object(tensor("\\x41", "U8", "[1]", "0", "1"))),
                json("half a surrogate pair", object(tensor("\\ud800", "U8", "[1]", "0", "1")), "surrogate"),
                json("the wrong half first", object(tensor("\\udc00\\ud800", "U8", "[1]", "0", "1")), "surrogate"),
                json("no colon", "{\"a\" {}}"),
                json("depth 128", nested(128), "127 levels"),
                json("a deep header", "{\"a\":{\"x\":" + "[".repeat(100_000), "127 levels"),
                json("a tensor that is a number", "{\"a\":1}", "'a'", "must be an object", "found 1"),
                json("a tensor that is null", "{\"a\":null}", "found null"),
                json("a tensor that is a string", "{\"a\":\"U8\"}", "found the string 'U8'"),
                json("no dtype", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", "'dtype' is missing"),
                json("no shape", "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", "'shape' is missing"),
                json("no offsets", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", "'data_offsets' is missing"),
                json("an empty tensor object", "{\"a\":{}}", "is missing"),
                json("an unknown dtype", only("F7", "[1]", "0", "1"), "'F7'", "BF16"),
                json("a dtype in lower case", only("u8", "[1]", "0", "1"), "'u8'"),
                json("a dtype that is a number", "{\"a\":{\"dtype\":8,\"shape\":[1],\"data_offsets\":[0,1]}}",
                        "must be a string"),
                json("dtype twice", "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
                        "'dtype' occurs twice"),
                json("shape twice", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,1]}}",
                        "'shape' occurs twice"),
                json("offsets twice",
                        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"data_offsets\":[0,1]}}",
                        "'data_offsets' occurs twice"),
                shape("a shape that is null", "null"),
                shape("a shape that is a number", "1", "array of numbers"),
                shape("a shape that is an object", "{}"),
                shape("a dimension as a string", "[\"1\"]", "whole number", "found the string '1'"),
                shape("a dimension as a float", "[1.0]", "found 1.0"),
                shape("a dimension with an exponent", "[1e0]", "found 1e0"),
                shape("a negative dimension", "[-1]", "found -1"),
                shape("minus zero", "[-0]", "found -0"),
                shape("a leading zero", "[01]"),
                shape("a plus sign", "[+1]"),
                shape("a hexadecimal", "[0x1]"),
                shape("a dimension above 64 bits", "[18446744073709551616]", "2^64-1"),
                shape("a dimension that is true", "[true]", "found true"),
                shape("a dimension that is null", "[null]", "found null"),
                shape("a nested dimension", "[[1]]", "found an array"),
                shape("NaN", "[NaN]"),
                shape("Infinity", "[Infinity]"),
                shape("a trailing comma in a shape", "[1,]"),
                offset("an offset as a string", "\"0\"", "found the string '0'"),
                offset("a negative offset", "-1", "found -1"),
                offset("an offset as a float", "0.0", "found 0.0"),
                json("one offset", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}",
                        "two numbers, found 1"),
                json("three offsets", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}",
                        "two numbers, found more"),
                json("a number out of range in an unknown field",
                        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1e999}}", "out of range"),
                json("metadata that is a string", "{\"__metadata__\":\"x\"," + fine + "}", "__metadata__"),
                json("metadata that is an array", "{\"__metadata__\":[]," + fine + "}", "found an array"),
                json("a metadata value that is a number", "{\"__metadata__\":{\"k\":1}," + fine + "}", "string"),
                json("a metadata value that is null", "{\"__metadata__\":{\"k\":null}," + fine + "}", "found null"),
                json("metadata twice", "{\"__metadata__\":{}," + fine + ",\"__metadata__\":{}}", "occurs twice"),
                header("a metadata key twice", "{\"__metadata__\":{\"k\":\"1\",\"k\":\"1\"}," + fine + "}", 1,
                        DUPLICATE_METADATA_KEY, "'k'"),
                header("a tensor twice", object(fine, tensor("a", "U8", "[1]", "1", "2")), 2, DUPLICATE_TENSOR, "'a'",
                        "twice"),
                header("a tensor as an array", "{\"a\":[\"U8\",[1],[0,1]]}", 1, TENSOR_NOT_AN_OBJECT, "'a'", "array"),
                header("a first tensor that does not begin at 0", only("U8", "[1]", "1", "2"), 2, INVALID_OFFSET,
                        "'a' begins at 1", "end at 0"),
                header("a hole", object(fine, tensor("b", "U8", "[1]", "2", "3")), 3, INVALID_OFFSET,
                        "'b' begins at 2"),
                header("an overlap", object(tensor("a", "U8", "[2]", "0", "2"), tensor("b", "U8", "[2]", "1", "3")), 3,
                        INVALID_OFFSET, "'b' begins at 1", "end at 2"),
                header("two names for the same bytes", object(fine, tensor("b", "U8", "[1]", "0", "1")), 1,
                        INVALID_OFFSET, "'b'"),
                header("an end before the begin",
                        object(tensor("a", "U8", "[0]", "0", "0"), tensor("b", "U8", "[1]", "0", "1"),
                                tensor("c", "U8", "[1]", "1", "0")),
                        1, INVALID_OFFSET, "'c' ends at 0"),
                header("offsets of 2^64-1", only("U8", "[1]", "18446744073709551615", "18446744073709551615"), 1,
                        INVALID_OFFSET, "18446744073709551615"),
                header("a shape whose product exceeds 64 bits", only("U8", "[4294967296,4294967296]", "0", "1"), 1,
                        VALIDATION_OVERFLOW, "64 bits", "[4294967296, 4294967296]"),
                header("a product that overflows before a zero", only("U8", "[9223372036854775808,2,0]", "0", "0"), 0,
                        VALIDATION_OVERFLOW, "9223372036854775808"),
                header("elements that fit 64 bits in a size that does not",
                        only("U64", "[576460752303423488]", "0", "1"), 1, VALIDATION_OVERFLOW, "U64"),
                header("three 4-bit elements", only("F4", "[3]", "0", "1"), 1, MISALIGNED_SLICE, "F4 of shape [3]"),
                header("two 6-bit elements", only("F6_E2M3", "[2]", "0", "1"), 1, MISALIGNED_SLICE, "F6_E2M3"),
                header("too few bytes", only("F32", "[2]", "0", "7"), 7, TENSOR_INVALID_INFO, "needs 8 bytes",
                        "span 7"),
                header("too many bytes", only("F32", "[2]", "0", "9"), 9, TENSOR_INVALID_INFO, "span 9"),
                header("a scalar without bytes", only("F32", "[]", "0", "0"), 0, TENSOR_INVALID_INFO, "needs 4 bytes"),
                header("an end of 2^64-1", only("U8", "[1]", "0", "18446744073709551615"), 1, TENSOR_INVALID_INFO,
                        "18446744073709551615"),
                header("a truncated file", only("U8", "[10]", "0", "10"), 9, METADATA_INCOMPLETE_BUFFER,
                        "10 bytes of data", "9 follow"),
                header("a byte after the last tensor", object(fine), 2, METADATA_INCOMPLETE_BUFFER, "1 bytes of data",
                        "2 follow"),
                header("data without tensors", "{}", 1, METADATA_INCOMPLETE_BUFFER, "0 bytes of data"));
    }

    @ParameterizedTest(name = "[{index}] {0}")
    @MethodSource("brokenFiles")
    void brokenRuleIsNamedInOneLine(String what, byte[] bytes, CheckpointRule rule, List<String> message) {
        Path file = file(bytes);
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(file));
        assertThat(e).as(what).isNotNull();
        assertThat(e.rule()).as(e.getMessage()).isEqualTo(rule);
        assertThat(e.getMessage())
                .startsWith(file + ": " + rule.text() + ": ")
                .contains(" (" + rule.variant())
                .endsWith(")")
                .doesNotContain("\n")
                .contains(message);
        assertThat(e.path()).contains(file);
        assertThat(e.error()).isEqualTo(rule.error());
    }

    @Test
    void failureNamesTheTensorAndItsOffset() {
        String json =
                "{\"é\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}," + tensor("b", "U8", "[2]", "0", "1")
                        + "}";
        Path file = file(HeaderText.file(json, 1));
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(file));
        byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
        int at = new String(bytes, StandardCharsets.ISO_8859_1).indexOf("\"b\"");
        assertThat(e.tensor()).contains("b");
        assertThat(e.fileOffset()).hasValue(8L + at);
    }

    @Test
    void hostileNameIsEscapedAndCut() {
        String name = "x\\n\\u001b[31m\\u2028" + "y".repeat(1_000_000);
        Path file = file(HeaderText.file(object(tensor(name, "U8", "[2]", "0", "1")), 1));
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(file));
        assertThat(e.getMessage()).hasSizeLessThan(1000 + file.toString().length())
                .contains("x\\n\\u001b[31m\\u2028y");
        assertThat(e.getMessage().chars().noneMatch(Character::isISOControl)).isTrue();
    }

    private static Arguments good(String what, String json, int data, String... names) {
        return arguments(what, json, data, List.of(names));
    }

    static Stream<Arguments> goodFiles() {
        String fine = tensor("a", "U8", "[1]", "0", "1");
        return Stream.of(
                good("no tensors", "{}", 0),
                good("metadata alone", "{\"__metadata__\":{\"format\":\"pt\"}}", 0),
                good("empty metadata", "{\"__metadata__\":{}," + fine + "}", 1, "a"),
                good("metadata that is null", "{\"__metadata__\":null," + fine + "}", 1, "a"),
                good("metadata at the end", "{" + fine + ",\"__metadata__\":{\"k\":\"v\"}}", 1, "a"),
                good("white space before", " \t\r\n{" + fine + "}", 1, "a"),
                good("white space after", "{" + fine + "} \t\r\n", 1, "a"),
                good("fields in another order", "{\"a\":{\"data_offsets\":[0,1],\"dtype\":\"U8\",\"shape\":[1]}}", 1,
                        "a"),
                good("unknown fields",
                        "{\"a\":{\"dtype\":\"U8\",\"x\":{\"y\":[1.5,null,\"z\",true]},\"x\":-1,\"shape\":[1],"
                                + "\"data_offsets\":[0,1]}}",
                        1, "a"),
                good("depth 127", nested(127), 1, "a"),
                good("an empty name", object(tensor("", "U8", "[1]", "0", "1")), 1, ""),
                good("an escaped name", object(tensor("\\u0061\\n\\\"", "U8", "[1]", "0", "1")), 1, "a\n\""),
                good("a name beyond the basic plane", object(tensor("\\ud83d\\ude00", "U8", "[1]", "0", "1")), 1, "😀"),
                good("an unescaped name", object(tensor("é😀\u007f", "U8", "[1]", "0", "1")), 1, "é😀\u007f"),
                good("a scalar", only("F64", "[]", "0", "8"), 8, "a"),
                good("many dimensions", only("U8", "[1,1,1,1,1,1,1,1,1,1,1,1]", "0", "1"), 1, "a"),
                good("an empty tensor", only("F32", "[0,7]", "0", "0"), 0, "a"),
                good("zero before a huge dimension", only("U8", "[0,18446744073709551615]", "0", "0"), 0, "a"),
                good("an empty tensor between two others",
                        object(fine, tensor("e", "U8", "[0]", "1", "1"), tensor("b", "U8", "[1]", "1", "2")), 2, "a",
                        "e", "b"),
                good("a header not in the order of the data", object(tensor("b", "U8", "[1]", "1", "2"), fine), 2, "a",
                        "b"),
                good("two 4-bit elements", only("F4", "[2]", "0", "1"), 1, "a"),
                good("four 6-bit elements", only("F6_E3M2", "[4]", "0", "3"), 3, "a"));
    }

    @ParameterizedTest(name = "[{index}] {0}")
    @MethodSource("goodFiles")
    void validFileIsAccepted(String what, String json, int data, List<String> names) {
        Checkpoint checkpoint = Checkpoint.open(file(HeaderText.file(json, data)));
        assertThat(checkpoint.tensors().keySet()).as(what).containsExactlyElementsOf(names);
        assertThat(checkpoint.bytes()).isEqualTo(data);
        assertThat(checkpoint.format().id()).isEqualTo("safetensors");
    }

    static List<DType> dtypes() {
        return DType.ofSafetensors();
    }

    @ParameterizedTest
    @MethodSource("dtypes")
    void everyDtypeIsRead(DType dtype) {
        int bytes = dtype.bits() * 8 / 8;
        Checkpoint checkpoint = Checkpoint.open(
                file(HeaderText.file(object(tensor("t", dtype.id(), "[2,4]", "0", "" + bytes)), bytes)));
        TensorInfo tensor = checkpoint.tensors().get("t");
        assertThat(tensor.dtype()).isEqualTo(dtype);
        assertThat(tensor.shape()).containsExactly(2L, 4L);
        assertThat(tensor.length()).isEqualTo(bytes);
    }

    @Test
    void dtypesAreThoseOfTheFormat() {
        assertThat(DType.ofSafetensors().stream().map(d -> d + ":" + d.bits()))
                .containsExactly(
                        "BOOL:8", "F4:4", "F6_E2M3:6", "F6_E3M2:6", "U8:8", "I8:8", "F8_E5M2:8", "F8_E4M3:8",
                        "F8_E8M0:8", "F8_E4M3FNUZ:8", "F8_E5M2FNUZ:8", "I16:16", "U16:16", "F16:16", "BF16:16",
                        "I32:32", "U32:32", "F32:32", "C64:64", "F64:64", "I64:64", "U64:64");
    }

    @Test
    void tensorsAndMetadataAreDescribed() {
        String json =
                "{\"__metadata__\":{\"format\":\"pt\",\"b\":\"ü\"}," + tensor("b", "F32", "[2,3]", "4", "28") + ","
                        + tensor("a", "I16", "[2]", "0", "4") + "}   ";
        Path path = file(HeaderText.file(json, 28));
        Checkpoint checkpoint = Checkpoint.open(path);
        long data = 8 + json.getBytes(StandardCharsets.UTF_8).length;
        assertThat(checkpoint.tensors().values())
                .containsExactly(
                        new TensorInfo("a", DType.I16, List.of(2L), path, data, 4),
                        new TensorInfo("b", DType.F32, List.of(2L, 3L), path, data + 4, 24));
        assertThat(checkpoint.metadata()).containsEntry("format", "pt").containsEntry("b", "ü");
        assertThat(checkpoint.files()).hasSize(1);
        assertThat(checkpoint.files().getFirst().dataOffset()).isEqualTo(data);
        assertThat(checkpoint.files().getFirst().size()).isEqualTo(data + 28);
    }

    @Test
    void headerOfTwoMegabytesIsRead() {
        List<String> entries = new ArrayList<>();
        for (int i = 0; i < 18_000; i++) {
            entries.add(
                    tensor("model.language_model.layers.%d.mlp.experts.%d.gate_proj.weight".formatted(i / 384, i % 384),
                            "BF16", "[1,2]", "" + i * 4L, "" + (i * 4L + 4)));
        }
        String json = entries.stream().collect(Collectors.joining(",", "{", "}"));
        assertThat(json.length()).isGreaterThan(2 << 20);
        Checkpoint checkpoint = Checkpoint.open(file(HeaderText.file(json, 72_000)));
        assertThat(checkpoint.tensors()).hasSize(18_000);
    }

    private static byte[] typical() {
        return HeaderText.file(
                "{\"__metadata__\":{\"format\":\"pt\"}," + tensor("é", "F32", "[2,3]", "4", "28") + ","
                        + tensor("a", "I16", "[2]", "0", "4") + "}  ",
                28);
    }

    @Test
    void truncatedFileIsRefused() {
        byte[] whole = typical();
        for (int length = 0; length < whole.length; length++) {
            Path file = file(Arrays.copyOf(whole, length));
            assertThatThrownBy(() -> Checkpoint.open(file))
                    .as("cut to " + length + " bytes")
                    .isInstanceOf(CheckpointException.class);
        }
    }

    @Test
    void damagedFileIsRefusedOrConsistent() {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        RandomGenerator random =
                RandomGeneratorFactory.of("Xoshiro256PlusPlus").create(seed);
        int refused = 0;
        for (int round = 0; round < 1500; round++) {
            byte[] damaged = typical();
            for (int i = random.nextInt(1, 4); i > 0; i--) {
                damaged[random.nextInt(damaged.length - 28)] = (byte) random.nextInt(256);
            }
            Path file = file(damaged);
            String what = "-Dgds4j.property.seed=" + seed + ", round " + round;
            try {
                Checkpoint checkpoint = Checkpoint.open(file);
                long end = checkpoint.files().getFirst().dataOffset();
                for (TensorInfo tensor : checkpoint.tensors().values()) {
                    assertThat(tensor.fileOffset()).as(what).isEqualTo(end);
                    end = tensor.fileEnd();
                }
                assertThat(end).as(what).isEqualTo(damaged.length);
            } catch (CheckpointException e) {
                assertThat(e.getMessage()).as(what).doesNotContain("\n");
                refused++;
            } catch (RuntimeException e) {
                throw new AssertionError(what, e);
            }
        }
        assertThat(refused).isBetween(500, 1499);
    }
}
