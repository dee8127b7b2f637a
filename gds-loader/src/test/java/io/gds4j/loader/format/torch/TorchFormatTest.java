package io.gds4j.loader.format.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.tuple;

import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.FormatFuzz;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.DimensionOrder;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.format.ZipBytes;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Files of {@code torch.save}: valid ones, and one for each rule. */
class TorchFormatTest {
    private static final long[] NONE = {};

    @TempDir
    Path folder;

    private static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) i;
        }
        return bytes;
    }

    /** Returns a file with this pickle and storages "0", "1" … of these sizes. */
    private static byte[] file(byte[] pickle, int... storages) {
        ZipBytes zip = ZipBytes.asTorch();
        zip.add("archive/data.pkl", pickle);
        zip.add("archive/byteorder", "little".getBytes(StandardCharsets.US_ASCII));
        for (int i = 0; i < storages.length; i++) {
            zip.add("archive/data/" + i, bytes(storages[i]));
        }
        zip.add("archive/version", "3\n".getBytes(StandardCharsets.US_ASCII));
        return zip.finish();
    }

    private Path write(byte[] file) {
        try {
            return Files.write(folder.resolve("m.pt"), file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Checkpoint open(byte[] pickle, int... storages) {
        return Checkpoint.open(write(file(pickle, storages)));
    }

    private CheckpointException failure(byte[] file) {
        Path path = write(file);
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(path));
        assertThat(e).isNotNull();
        assertThat(e.getMessage()).doesNotContain("\n").contains("m.pt", e.rule().variant());
        return e;
    }

    @Test
    void tensorsAreExtentsOfTheirStorages() throws IOException {
        Checkpoint checkpoint = open(
                PickleBytes.dict()
                        .text("a").tensor("torch.FloatStorage", "0", 6, 0, new long[]{2, 3}, new long[]{3, 1})
                        .text("b").tensor("torch.BFloat16Storage", "1", 4, 1, new long[]{2}, new long[]{1})
                        .text("scalar").tensor("torch.LongStorage", "2", 1, 0, NONE, NONE)
                        .endDict(),
                24, 8, 8);
        assertThat(checkpoint.format().id()).isEqualTo("torch");
        assertThat(checkpoint.tensors().values())
                .extracting(TensorInfo::name, TensorInfo::dtype, TensorInfo::shape, TensorInfo::length)
                .containsExactly(
                        tuple("a", DType.F32, List.of(2L, 3L), 24L),
                        tuple("b", DType.BF16, List.of(2L), 4L),
                        tuple("scalar", DType.I64, List.of(), 8L));
        byte[] file = Files.readAllBytes(folder.resolve("m.pt"));
        TensorInfo a = checkpoint.tensors().get("a");
        assertThat(a.fileOffset() % 64).isZero();
        assertThat(Arrays.copyOfRange(file, (int) a.fileOffset(), (int) a.fileEnd())).isEqualTo(bytes(24));
        TensorInfo b = checkpoint.tensors().get("b");
        assertThat(Arrays.copyOfRange(file, (int) b.fileOffset(), (int) b.fileEnd())).containsExactly(2, 3, 4, 5);
    }

    @Test
    void nestedDictsAndListsGetNamesWithDots() {
        Checkpoint checkpoint = open(
                PickleBytes.dict()
                        .text("epoch").number(7)
                        .text("model").symbol("collections", "OrderedDict").op(')', 'R', '(')
                        .text("w").floats("0", 2).op('u').op('}').text("_metadata").op('N').op('s').op('b')
                        .text("opt").op('}', '(').number(0).op('}', '(').text("step").floats("1", 1).op('u', 'u')
                        .text("list").op(']', '(').floats("2", 1).floats("3", 1).op('e')
                        .text("p").symbol("torch._utils", "_rebuild_parameter").op('(').floats("4", 3).op(0x88)
                        .op('N', 't', 'R')
                        .endDict(),
                8, 4, 4, 4, 12);
        assertThat(checkpoint.tensors()).containsOnlyKeys("model.w", "opt.0.step", "list.0", "list.1", "p");
        assertThat(checkpoint.typedMetadata().get("epoch")).contains(new MetadataValue.Whole(7, false));
    }

    @Test
    void sharedStoragesAreOneExtentWithTwoNames() {
        Checkpoint checkpoint = open(
                PickleBytes.dict().text("embed").floats("0", 4).text("head").floats("0", 4)
                        .text("view").tensor("torch.FloatStorage", "0", 4, 1, new long[]{2}, new long[]{1}).endDict(),
                16);
        TensorInfo embed = checkpoint.tensors().get("embed");
        TensorInfo head = checkpoint.tensors().get("head");
        assertThat(head.fileOffset()).isEqualTo(embed.fileOffset());
        assertThat(head.length()).isEqualTo(embed.length());
        assertThat(checkpoint.tensors().get("view").fileOffset()).isEqualTo(embed.fileOffset() + 4);
    }

    @Test
    void typesWithoutStorageClassComeFromTheTensor() {
        PickleBytes pickle = PickleBytes.dict().text("f8").symbol("torch._utils", "_rebuild_tensor_v3").op('(')
                .storage("torch.storage.UntypedStorage", "0", 6).number(2).numbers(4).numbers(1).op(0x89, 'N')
                .symbol("torch", "float8_e4m3fn").op('t', 'R');
        assertThat(open(pickle.endDict(), 6).tensors().get("f8"))
                .extracting(TensorInfo::dtype, TensorInfo::length).containsExactly(DType.F8_E4M3, 4L);
    }

    @Test
    void unknownSymbolsWithoutTensorsAreIgnored() {
        Checkpoint checkpoint = open(
                PickleBytes.dict()
                        .text("args").symbol("os", "system").op('(').text("rm -rf /").op('t', 'R')
                        .text("namespace").symbol("argparse", "Namespace").op(')', 0x81, '}').text("lr")
                        .op('N', 's', 'b')
                        .text("w").floats("0", 1).endDict(),
                4);
        assertThat(checkpoint.tensors()).containsOnlyKeys("w");
        assertThat(checkpoint.warnings()).singleElement().asString().contains("m.pt: not read, because calls",
                "an object of 'os.system' at 'args' (1), an object of 'argparse.Namespace' at 'namespace' (1)");
    }

    @Test
    void tensorsOfOneElementDimensionsMayHaveAnyStride() {
        Checkpoint checkpoint = open(
                PickleBytes.dict().text("a")
                        .tensor("torch.FloatStorage", "0", 3, 0, new long[]{1, 3, 1}, new long[]{99, 1, 7})
                        .text("none").tensor("torch.FloatStorage", "1", 0, 0, new long[]{0, 4}, new long[]{1, 1})
                        .endDict(),
                12, 0);
        assertThat(checkpoint.tensors().get("a").length()).isEqualTo(12);
        assertThat(checkpoint.tensors().get("none").length()).isZero();
    }

    @Test
    void permutationsOfContiguousStridesAreOrders() {
        Checkpoint checkpoint = open(
                PickleBytes.dict().text("transposed")
                        .tensor("torch.FloatStorage", "0", 6, 0, new long[]{2, 3}, new long[]{1, 2})
                        .text("channels_last")
                        .tensor("torch.FloatStorage", "1", 24, 0, new long[]{2, 3, 2, 2}, new long[]{12, 1, 6, 3})
                        .endDict(),
                24, 96);
        assertThat(checkpoint.tensors().get("transposed").order()).isEqualTo(DimensionOrder.columnMajor(2));
        assertThat(checkpoint.tensors().get("channels_last").order().dimensions()).containsExactly(0, 2, 3, 1);
        assertThat(checkpoint.tensors().get("channels_last").strides()).containsExactly(12L, 1L, 6L, 3L);
    }

    @Test
    void randomPermutationsKeepTheirStrides() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (int round = 0; round < 200; round++) {
            List<Integer> order = new ArrayList<>(IntStream.range(0, 1 + random.nextInt(5)).boxed().toList());
            Collections.shuffle(order, random);
            long[] shape = random.longs(order.size(), 1, 5).toArray();
            long[] strides = new long[shape.length];
            long elements = 1;
            for (int i : order.reversed()) {
                strides[i] = shape[i] == 1 ? random.nextInt(99) : elements;
                elements *= shape[i];
            }

            TensorInfo tensor = open(PickleBytes.dict().text("w")
                    .tensor("torch.FloatStorage", "0", elements, 0, shape, strides).endDict(), (int) (4 * elements))
                    .tensors().get("w");

            for (int i = 0; i < shape.length; i++) {
                if (shape[i] > 1) {
                    assertThat(tensor.strides().get(i)).as("seed %s, round %s, dimension %s", seed, round, i)
                            .isEqualTo(strides[i]);
                }
            }
        }
    }

    @Test
    void storagesAboveFourGibibytesAreRead() throws IOException {
        // the data are a hole; the writer's records are placed around it
        long large = (5L << 30) + 3;
        byte[] pickle = PickleBytes.dict().text("big")
                .tensor("torch.ByteStorage", "0", large, large - 1, new long[]{1}, new long[]{1}).text("after")
                .tensor("torch.ByteStorage", "1", 2, 0, new long[]{2}, new long[]{1}).endDict();
        ZipBytes zip = ZipBytes.asTorch();
        zip.add("m/data.pkl", pickle);
        ZipBytes.Member big = zip.add("m/data/0", new byte[1]);
        int dataAt = zip.position() - 1 - 16;
        ZipBytes.Member after = zip.add("m/data/1", new byte[]{1, 2});
        int tail = zip.position();
        big.bytes = large;
        big.stored = large;
        byte[] head = Arrays.copyOf(zip.finish(), tail);
        after.headerOffset += large - 1;
        long directoryAt = tail + large - 1;
        byte[] whole = zip.finish(3, 0, 0);
        byte[] directory = lastDirectory(whole);
        Path path = folder.resolve("large.pt");
        try (RandomAccessFile out = new RandomAccessFile(path.toFile(), "rw")) {
            out.write(head, 0, dataAt);
            out.seek(dataAt + large);
            out.write(head, dataAt + 1, tail - dataAt - 1);
            out.write(directory);
            out.write(ZipBytes.end(directoryAt, directory.length, 3, directoryAt + directory.length, true));
        }
        Checkpoint checkpoint = Checkpoint.open(path);
        assertThat(checkpoint.tensors().get("big").fileOffset()).isEqualTo(dataAt + large - 1);
        assertThat(checkpoint.tensors().get("after").fileOffset()).isGreaterThan(large);
    }

    /** Returns the central directory at the end of a file that has ZIP64 end records. */
    private static byte[] lastDirectory(byte[] file) {
        ByteBuffer buffer = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
        int end = file.length - 22 - 20 - 56;
        int length = (int) buffer.getLong(end + 40);
        return Arrays.copyOfRange(file, end - length, end);
    }

    static Stream<Arguments> brokenPickles() {
        return Stream.of(
                pickle("strides with a gap", "TensorStrides", "leave gaps or overlap; save tensor.contiguous()",
                        p -> p.tensor("torch.FloatStorage", "0", 6, 0, new long[]{2, 2}, new long[]{3, 1})),
                pickle("strides of an expanded tensor", "TensorStrides", "leave gaps or overlap",
                        p -> p.tensor("torch.FloatStorage", "0", 6, 0, new long[]{2, 3}, new long[]{0, 1})),
                pickle("two equal strides", "TensorStrides", "leave gaps or overlap",
                        p -> p.tensor("torch.FloatStorage", "0", 6, 0, new long[]{2, 3}, new long[]{1, 1})),
                pickle("a conjugated tensor", "UnsupportedTensor", "conjugated", p -> marked(p, "conj")),
                pickle("a negated tensor", "UnsupportedTensor", "negated", p -> marked(p, "neg")),
                pickle("an unknown mark", "UnsupportedTensor", "'zero', which is not known", p -> marked(p, "zero")),
                pickle("a sparse tensor", "UnsupportedTensor", "_rebuild_sparse_tensor",
                        p -> p.symbol("torch._utils", "_rebuild_sparse_tensor").op(')', 'R')),
                pickle("a tensor inside an unknown object", "PickleUnknownSymbol", "inside an object of 'm.Net'",
                        p -> p.symbol("m", "Net").op(')', 0x81, '}').text("w").floats("0", 6).op('s', 'b')),
                pickle("a tensor made by an unknown call", "PickleUnknownSymbol", "inside an object of 'os.system'",
                        p -> p.symbol("os", "system").op('(').floats("0", 6).op('t', 'R')),
                pickle("a tensor of an unknown class", "PickleUnknownSymbol", "of class 'm.T'",
                        p -> p.symbol("torch._tensor", "_rebuild_from_type_v2").op('(')
                                .symbol("torch._utils", "_rebuild_tensor_v2").symbol("m", "T").op(')', '}', 't', 'R')),
                pickle("a tensor under a tuple as key", "PickleUnknownSymbol",
                        "inside a dict with a key that is a tuple",
                        p -> p.op('}').numbers(1, 2).floats("0", 6).op('s')),
                pickle("a tensor as key", "PickleUnknownSymbol", "inside a key of a dict",
                        p -> p.op('}').floats("0", 6).op('N', 's')),
                pickle("an offset behind the storage", "TensorInvalidInfo", "at element 1, needs 24 bytes",
                        p -> p.tensor("torch.FloatStorage", "0", 6, 1, new long[]{6}, new long[]{1})),
                pickle("an offset that wraps", "TensorInvalidInfo", "at element 4611686018427387904",
                        p -> p.tensor("torch.FloatStorage", "0", 6, 1L << 62, new long[]{1}, new long[]{1})),
                pickle("a negative offset", "TensorArguments", "offset",
                        p -> p.tensor("torch.FloatStorage", "0", 6, -1, new long[]{1}, new long[]{1})),
                pickle("a size that does not fit 64 bits", "ValidationOverflow", "does not fit 64 bits",
                        p -> p.tensor("torch.FloatStorage", "0", 6, 0, new long[]{1L << 61, 4}, new long[]{4, 1})),
                pickle("a negative dimension", "TensorArguments", "size",
                        p -> p.tensor("torch.FloatStorage", "0", 6, 0, new long[]{-1}, new long[]{1})),
                pickle("more strides than dimensions", "TensorArguments", "1 dimensions and 2 strides",
                        p -> p.tensor("torch.FloatStorage", "0", 6, 0, new long[]{1}, new long[]{1, 1})),
                pickle("65 dimensions", "TensorArguments", "at most 64",
                        p -> p.tensor("torch.FloatStorage", "0", 6, 0, new long[65], new long[65])),
                pickle("a storage of another size", "TorchStorage", "has 5 elements of F32, but member",
                        p -> p.floats("0", 5)),
                pickle("a missing storage", "TorchStorage", "'archive/data/9', which is missing",
                        p -> p.floats("9", 6)),
                pickle("an unknown storage class", "UnsupportedTensor", "torch.QInt8Storage",
                        p -> p.tensor("torch.QInt8Storage", "0", 24, 0, new long[]{1}, new long[]{1})),
                pickle("a storage with a path as key", "TorchStorage", "missing", p -> p.floats("../0", 6)),
                pickle("a tensor without arguments", "TensorArguments", "too few arguments",
                        p -> p.symbol("torch._utils", "_rebuild_tensor_v2").op(')', 'R')),
                pickle("an unknown dtype", "UnsupportedTensor", "torch.float2",
                        p -> p.symbol("torch._utils", "_rebuild_tensor_v3").op('(')
                                .storage("torch.UntypedStorage", "0", 24).number(0).numbers(4).numbers(1)
                                .op(0x89, 'N').symbol("torch", "float2").op('t', 'R')),
                pickle("an opcode of protocol 0", "PickleStructure", "opcode 0x69", p -> p.op('i')),
                pickle("an extension", "PickleStructure", "opcode 0x82", p -> p.op(0x82, 1)),
                pickle("a memo entry that is not set", "PickleStructure", "memo entry 5", p -> p.op('h', 5)),
                pickle("an empty stack", "PickleStructure", "needs 1 values", p -> p.op('t', 'R', 'R')),
                pickle("a text beyond the end", "PickleStructure", "bytes are announced",
                        p -> p.op(0x8d, 0, 0, 0, 0, 0, 0, 0, 0x10)),
                pickle("a text of -1 bytes", "PickleStructure", "18446744073709551615 bytes are announced",
                        p -> p.op(0x8d, 255, 255, 255, 255, 255, 255, 255, 255)),
                pickle("a long of 2^32-1 bytes", "PickleStructure", "bytes are announced",
                        p -> p.op(0x8b, 255, 255, 255, 255)),
                pickle("an entry for a number", "PickleStructure", "no dict", p -> p.op('N').text("k").op('N', 's')),
                pickle("state for a list", "PickleStructure", "no object", p -> p.op(']', 'N', 'b')),
                pickle("a text that is not UTF-8", "PickleStructure", "UTF-8", p -> p.op('X', 1, 0, 0, 0, 0xff)));
    }

    private static Arguments pickle(String what, String rule, String message, Consumer<PickleBytes> value) {
        PickleBytes pickle = PickleBytes.dict().text("a");
        value.accept(pickle);
        return Arguments.of(what, pickle.endDict(), rule, message);
    }

    private static void marked(PickleBytes p, String mark) {
        p.symbol("torch._utils", "_rebuild_tensor_v2").op('(').storage("torch.FloatStorage", "0", 6).number(0)
                .numbers(6)
                .numbers(1).op(0x89, 'N', '}').text(mark).op(0x88, 's', 't', 'R');
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("brokenPickles")
    void brokenPickleIsRefusedByRule(String what, byte[] pickle, String rule, String message) {
        CheckpointException e = failure(file(pickle, 24));
        assertThat(e.rule().variant()).isEqualTo(rule);
        assertThat(e.getMessage()).contains(message);
        assertThat(e.fileOffset()).isPresent();
    }

    @Test
    void referencesToSharedPartsAreBounded() {
        // dict k has two entries, both dict k-1: 2^40 names; a tuple takes all dicts from the stack
        PickleBytes bomb = new PickleBytes().op('(', '}').text("w").floats("0", 1).op('s', 'q', 0);
        for (int level = 1; level < 40; level++) {
            bomb.op('}', '(').text("a").op('h', level - 1).text("b").op('h', level - 1).op('u', 'q', level);
        }
        CheckpointException e = failure(file(bomb.op('t').end(), 4));
        assertThat(e.rule().variant()).isEqualTo("PickleLimit");
        // the limit of the heap comes later, after time in proportion to the heap
        assertThat(e).hasMessageContaining("refers to its own parts so often");
    }

    @Test
    void dictWithinItselfIsLeftOutThere() {
        PickleBytes pickle = new PickleBytes().op('}', 'q', 0, '(').text("w").floats("0", 1).text("k").op('h', 0, 'u');
        Checkpoint checkpoint = open(pickle.end(), 4);
        assertThat(checkpoint.tensors()).containsOnlyKeys("w");
        assertThat(checkpoint.warnings()).singleElement().asString().contains("'k' contains itself");
    }

    @Test
    void valuesWithoutTensorsCostNoNames() {
        // 2^40 places of one number, and 70,000 entries below a long key
        PickleBytes pickle = new PickleBytes().op('(', '}').text("n").number(1).op('s', 'q', 0);
        for (int level = 1; level < 40; level++) {
            pickle.op('}', '(').text("a").op('h', level - 1).text("b").op('h', level - 1).op('u', 'q', level);
        }
        pickle.op('}', '(').text("k".repeat(200)).op('}', '(');
        for (int i = 0; i < 70_000; i++) {
            pickle.number(1000 + i).op(0x88);
        }
        pickle.op('u').text("w").floats("0", 1).op('u', 't');
        Checkpoint checkpoint = open(pickle.end(), 4);
        assertThat(checkpoint.tensors()).containsOnlyKeys("40.w");
        assertThat(checkpoint.warnings()).singleElement().asString().contains("the metadata is too long");
    }

    @Test
    void objectsWhosePartsReferBackAreLeftOut() {
        // an object with a list of objects, each with the first one as its parent
        PickleBytes pickle = PickleBytes.dict().text("w").floats("0", 1)
                .text("o").symbol("m", "List").op(')', 0x81, 'q', 1, '}').text("content").op(']', '(');
        for (int i = 0; i < 3; i++) {
            pickle.symbol("m", "Node").op(')', 0x81, '}').text("parent").op('h', 1, 's', 'b');
        }
        Checkpoint checkpoint = open(pickle.op('e', 's', 'b').endDict(), 4);
        assertThat(checkpoint.tensors()).containsOnlyKeys("w");
        assertThat(checkpoint.warnings()).singleElement().asString().contains("'m.List' at 'o'")
                .doesNotContain("Node");
    }

    static Stream<Arguments> hiddenTensors() {
        return Stream.of(
                hidden("in an unknown object", "an object of 'm.Net' at 'x' (1)",
                        p -> p.symbol("m", "Net").op(')', 0x81, '}').text("w").floats("1", 1).op('s', 'b')),
                hidden("under the key 0.5", "a dict with a key that is a float at 'x' (1)",
                        p -> p.op('}', 'G', 0x3f, 0xe0, 0, 0, 0, 0, 0, 0).floats("1", 1).op('s')),
                hidden("under a class as key", "a dict with a key that is the class 'm.C' at 'x' (1)",
                        p -> p.op('}').symbol("m", "C").floats("1", 1).op('s')),
                hidden("under an unpaired surrogate", "a dict with a key that is no UTF-8 at 'x' (1)",
                        p -> p.op('}', 'X', 3, 0, 0, 0, 0xED, 0xA0, 0x80).floats("1", 1).op('s')),
                hidden("as key", "a key of a dict at 'x' (1)", p -> p.op('}').floats("1", 1).op('N', 's')),
                hidden("in the attributes of a tensor", "the attributes of a tensor at 'x' (1)",
                        p -> p.symbol("torch._tensor", "_rebuild_from_type_v2").op('(')
                                .symbol("torch._utils", "_rebuild_tensor_v2").symbol("torch", "Tensor").op('(')
                                .storage("torch.FloatStorage", "0", 1).number(0).numbers(1).numbers(1)
                                .op(0x89, '}', 't')
                                .op('}').text("scale").floats("1", 1).op('s', 't', 'R')),
                hidden("in the state of a parameter", "the attributes of a tensor at 'x' (1)",
                        p -> p.symbol("torch._utils", "_rebuild_parameter_with_state").op('(').floats("0", 1)
                                .op(0x88, '}', '}').text("scale").floats("1", 1).op('s', 't', 'R')),
                hidden("in the attributes of a dict", "the attributes of an object at 'x' (1)",
                        p -> p.symbol("collections", "OrderedDict").op(')', 'R', '}').text("ema").floats("1", 1)
                                .op('s', 'b')),
                hidden("of an unknown class", "a tensor of class 'm.T' at 'x' (1)",
                        p -> p.symbol("torch._tensor", "_rebuild_from_type_v2").op('(')
                                .symbol("torch._utils", "_rebuild_tensor_v2").symbol("m", "T").op(')', '}', 't', 'R')));
    }

    private static Arguments hidden(String what, String message, Consumer<PickleBytes> value) {
        PickleBytes pickle = PickleBytes.dict().text("w").floats("0", 1).text("x");
        value.accept(pickle);
        return Arguments.of(what, pickle.endDict(), message);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("hiddenTensors")
    void tensorWithoutANameIsAWarning(String what, byte[] pickle, String message) {
        Checkpoint checkpoint = open(pickle, 4, 4);
        assertThat(checkpoint.tensors().keySet()).isSubsetOf("w", "x").contains("w");
        assertThat(checkpoint.warnings().getFirst()).contains("1 tensor is not loaded", message);
    }

    @Test
    void tensorThatHasANameElsewhereIsNotMissing() {
        PickleBytes pickle = PickleBytes.dict().text("w").floats("0", 1).op('q', 7)
                .text("scheduler").symbol("m", "S").op(')', 0x81, '}').text("p").op('h', 7, 's', 'b');
        assertThat(open(pickle.endDict(), 4).warnings()).singleElement().asString().contains("'m.S' at 'scheduler'")
                .doesNotContain("tensor is");
    }

    @Test
    void numpyArraysAreNamed() {
        PickleBytes pickle = PickleBytes.dict().text("w").floats("0", 1)
                .text("mean").symbol("numpy._core.multiarray", "_reconstruct").op('(').symbol("numpy", "ndarray")
                .op('t', 'R').text("lr").symbol("numpy._core.multiarray", "scalar").op(')', 'R');
        assertThat(open(pickle.endDict(), 4).warnings()).singleElement().asString()
                .contains("a NumPy array at 'mean' (1), a NumPy scalar at 'lr' (1)");
    }

    @Test
    void namesThatCollideAreBothLoaded() {
        PickleBytes pickle = PickleBytes.dict().text("a").op('}').text("b").floats("0", 1).op('s')
                .text("a.b").floats("1", 2).number(1).floats("0", 1).text("1").floats("0", 1);
        Checkpoint checkpoint = open(pickle.endDict(), 4, 8);
        assertThat(checkpoint.tensors()).containsOnlyKeys("a.b", "a.b#2", "1");
        assertThat(checkpoint.tensors().get("a.b#2").length()).isEqualTo(8);
        assertThat(checkpoint.warnings()).singleElement().asString()
                .contains("two tensors would have the name 'a.b'").doesNotContain("broken");
    }

    @Test
    void opcodesOfValuesThatContainThemselvesAreRead() {
        // a tuple within itself, as Python's pickler writes it: the parts are dropped for the tuple of the memo
        PickleBytes pickle = PickleBytes.dict().text("w").floats("0", 1).text("t")
                .op(']', 'q', 1, 'h', 1, 0x85, 'q', 2, 'a', '0', 'h', 2)
                .text("mark").op('(', 'K', 1, 'K', 2, '1', 'N').text("twice").op('K', 1, '2', '0');
        assertThat(open(pickle.endDict(), 4).tensors()).containsOnlyKeys("w");
    }

    /** Picklers number entries from 0 on; others may not, and 0x94 counts the entries so far. */
    @Test
    void memoEntriesAreFoundInWhateverOrderTheyAreSet() {
        PickleBytes pickle = PickleBytes.dict().text("w").floats("0", 1)
                .text("a").text("seven").op('q', 7).text("b").text("zero").op('q', 0).text("c").text("two").op(0x94)
                .text("7").op('h', 7).text("0").op('h', 0).text("2").op('h', 2)
                .text("d").text("one").op('q', 1).text("e").text("four").op(0x94).text("4").op('h', 4)
                .text("f").text("other").op('q', 2).text("g").text("five").op(0x94).text("h").text("last").op('q', 0)
                .text("2 now").op('h', 2).text("5").op('h', 5).text("0 now").op('j', 0, 0, 0, 0).text("7 now")
                .op('h', 7);
        assertThat(open(pickle.endDict(), 4).metadata())
                .containsEntry("7", "seven").containsEntry("0", "zero").containsEntry("2", "two")
                .containsEntry("4", "four").containsEntry("2 now", "other").containsEntry("5", "five")
                .containsEntry("0 now", "last").containsEntry("7 now", "seven");
    }

    @Test
    void unpairedSurrogatesOfATextAreReplaced() {
        PickleBytes pickle = PickleBytes.dict().text("w").floats("0", 1).text("file")
                .op('X', 5, 0, 0, 0, 'a', 0xED, 0xB3, 0xBF, 'b');
        assertThat(open(pickle.endDict(), 4).metadata()).containsEntry("file", "a\uFFFDb");
    }

    @Test
    void longBytesOfAPickleAreNotRead() throws IOException {
        // 200 MB of zeros that protocol 4 writes in a row; the file has a hole there
        int hole = 200_000_000;
        byte[] head = PickleBytes.dict().text("w").floats("0", 1).text("mean")
                .op(0x8e).op(hole & 0xff, hole >> 8 & 0xff, hole >> 16 & 0xff, hole >> 24, 0, 0, 0, 0).bytes();
        byte[] tail = {'u', '.'};
        ZipBytes zip = ZipBytes.plain();
        zip.add("m/data/0", bytes(4));
        ZipBytes.Member pickle = zip.add("m/data.pkl", new byte[head.length]);
        int at = zip.position();
        pickle.stored = (long) head.length + hole + tail.length;
        pickle.bytes = pickle.stored;
        byte[] small = zip.finish();
        int directory = small.length - 22 - at;
        // the local header has the size, too
        ByteBuffer.wrap(small).order(ByteOrder.LITTLE_ENDIAN)
                .putInt((int) pickle.headerOffset + 18, (int) pickle.stored)
                .putInt((int) pickle.headerOffset + 22, (int) pickle.bytes);
        Path path = folder.resolve("m.pt");
        try (RandomAccessFile out = new RandomAccessFile(path.toFile(), "rw")) {
            out.write(small, 0, at - head.length);
            out.write(head);
            out.seek((long) at + hole);
            out.write(tail);
            out.write(small, at, directory);
            out.write(ZipBytes.end((long) at + hole + tail.length, directory, 2, 0, false));
        }
        assertThat(Checkpoint.open(path).tensors()).containsOnlyKeys("w");
    }

    @Test
    void fourBitFloatsAreCountedByElement() {
        PickleBytes pickle = PickleBytes.dict().text("f4").symbol("torch._utils", "_rebuild_tensor_v3").op('(')
                .storage("torch.storage.UntypedStorage", "0", 6).number(2).numbers(2, 2).numbers(2, 1).op(0x89, 'N')
                .symbol("torch", "float4_e2m1fn_x2").op('t', 'R');
        assertThat(open(pickle.endDict(), 6).tensors().get("f4"))
                .extracting(TensorInfo::dtype, TensorInfo::shape, TensorInfo::length)
                .containsExactly(DType.F4, List.of(2L, 4L), 4L);
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 3, 4, 5})
    void legacyFilesOfEveryProtocolAreNamed(int protocol) {
        byte[] magic = HexFormat.of().parseHex("8a0a6cfc9c46f9206aa850192e");
        byte[] frame = protocol < 4 ? new byte[0] : new byte[]{(byte) 0x95, 13, 0, 0, 0, 0, 0, 0, 0};
        byte[] file = ByteBuffer.allocate(64).put((byte) 0x80).put((byte) protocol).put(frame).put(magic).array();
        CheckpointException e = failure(file);
        assertThat(e.rule()).isEqualTo(CheckpointRule.UNSUPPORTED_FORMAT);
        assertThat(e.getMessage()).contains("before version 1.6");
    }

    @Test
    void depthOfPickleNeedsNoStack() {
        PickleBytes deep = new PickleBytes();
        int levels = 300_000;
        for (int i = 0; i < levels; i++) {
            deep.op(']');
        }
        for (int i = 1; i < levels; i++) {
            deep.op('a');
        }
        assertThat(open(deep.end()).tensors()).isEmpty();
        PickleBytes tuples = new PickleBytes().op(')');
        for (int i = 0; i < 1000; i++) {
            tuples.op(0x85);
        }
        assertThat(open(tuples.end()).tensors()).isEmpty();
    }

    @Test
    void everyCutOfTheFileIsRefused() {
        byte[] file = file(PickleBytes.dict().text("a").floats("0", 6).endDict(), 24);
        for (int length = 0; length < file.length; length++) {
            CheckpointException e = failure(Arrays.copyOf(file, length));
            assertThat(e.rule().variant()).as("cut after %d bytes", length)
                    .isEqualTo(length < 2 ? "UnknownFormat" : "ZipStructure");
        }
    }

    @Test
    void everyCutOfThePickleIsRefused() {
        byte[] pickle = PickleBytes.dict().text("a").floats("0", 6).endDict();
        for (int length = 0; length < pickle.length; length++) {
            CheckpointException e = failure(file(Arrays.copyOf(pickle, length), 24));
            assertThat(e.rule().variant()).as("cut after %d bytes", length).isEqualTo("PickleStructure");
        }
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource({
            "legacy, before version 1.6",
            "tar, a tar archive of PyTorch before version 0.1.10",
            "nemo, a tar archive, such as a .nemo file",
            "export, torch.export",
            "preview, PYTORCH1",
            "script, TorchScript",
            "package, an archive of torch.package",
            "big, byte order of the tensors is 'big'",
            "compressed, is compressed (method 8)",
            "encrypted, is encrypted"
    })
    void knownButUnsupportedFilesAreRefusedByName(String kind, String message) {
        CheckpointException e = failure(unsupported(kind));
        assertThat(e.rule()).isEqualTo(CheckpointRule.UNSUPPORTED_FORMAT);
        assertThat(e.getMessage()).contains(message);
    }

    /** Each file has the slices of a rank, under the names that all have: Meta, DeepSpeed, Megatron. */
    @ParameterizedTest
    @CsvSource({"consolidated.00.pth, consolidated.01.pth, consolidated.00.pth",
            "mp_rank_00_model_states.pt, mp_rank_01_model_states.pt, mp_rank_01_model_states.pt",
            "layer_01-model_00-model_states.pt, layer_01-model_01-model_states.pt, layer_01-model_00-model_states.pt",
            "mp_rank_00/model.pt, mp_rank_01/model.pt, mp_rank_00",
            "mp_rank_00_000/model.pt, mp_rank_00_001/model.pt, mp_rank_00_000",
            "mp_rank_00_000/model.pt, mp_rank_00_001/model.pt, mp_rank_00_001/model.pt",
            "mp_rank_00/model.pt, mp_rank_01/model.pt, mp_rank_00/model.pt",
            "zero_pp_rank_3_mp_rank_00.pt, zero_pp_rank_0_mp_rank_00.pt, zero_pp_rank_3_mp_rank_00.pt"})
    void slicesOfRanksAreNoCheckpoint(String one, String other, String named) throws IOException {
        for (String name : List.of(one, other)) {
            Path file = folder.resolve("ranks").resolve(name);
            Files.createDirectories(file.getParent());
            ZipBytes zip = ZipBytes.asTorch();
            zip.add("m/data.pkl", PickleBytes.dict().text("a").floats("0", 1).endDict());
            zip.add("m/data/0", bytes(4));
            Files.write(file, zip.finish());
        }
        Path ranks = folder.resolve("ranks");
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(ranks));
        assertThat(e.getMessage()).contains("convert them into one checkpoint")
                .contains(one.contains("/") ? "'mp_rank_00" : "each file has the slices of a rank")
                .doesNotContain("name one of the files");
        assertThat(Checkpoint.open(ranks.resolve(named)).warnings()).singleElement().asString()
                .contains("only what one rank has is loaded");
        Path gone = ranks.resolve(one.startsWith(named) ? other : one);
        Files.delete(gone);
        if (one.contains("/")) {
            Files.delete(gone.getParent());
        }
        // a number above 0 says that there was a rank 0
        boolean later = named.startsWith("mp_rank_01") || named.startsWith("mp_rank_00_001");
        assertThat(Checkpoint.open(ranks.resolve(named)).warnings()).hasSize(later ? 1 : 0);
    }

    @Test
    void unsupportedFileOfAFolderIsNamed() throws IOException {
        Files.writeString(folder.resolve("config.json"), "{}");
        write(unsupported("legacy"));
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(folder));
        assertThat(e.rule()).isEqualTo(CheckpointRule.UNSUPPORTED_FORMAT);
        assertThat(e.getMessage()).contains("m.pt", "before version 1.6");
    }

    private static byte[] unsupported(String kind) {
        byte[] pickle = PickleBytes.dict().text("a").floats("0", 1).endDict();
        ZipBytes zip = ZipBytes.asTorch();
        switch (kind) {
            case "legacy" -> {
                return new byte[]{
                        (byte) 0x80, 2, (byte) 0x8a, 10, 0x6c, (byte) 0xfc, (byte) 0x9c, 0x46, (byte) 0xf9, 0x20, 0x6a,
                        (byte) 0xa8, 0x50, 0x19, '.', (byte) 0x80, 2};
            }
            case "export" -> {
                zip.add("m/archive_format", bytes(3));
                zip.add("m/.data/version", bytes(1));
            }
            case "tar", "nemo" -> {
                byte[] tar = new byte[1024];
                byte[] member = (kind.equals("tar") ? "sys_info" : "model.yaml").getBytes(StandardCharsets.US_ASCII);
                System.arraycopy(member, 0, tar, 0, member.length);
                System.arraycopy("ustar".getBytes(StandardCharsets.US_ASCII), 0, tar, 257, 5);
                return tar;
            }
            case "preview" -> {
                return "PYTORCH1 and more".getBytes(StandardCharsets.US_ASCII);
            }
            case "package" -> {
                zip.add("m/.data/extern_modules", bytes(3));
                zip.add("m/.data/version", bytes(1));
                zip.add("m/model/model.pkl", pickle);
            }
            case "script" -> {
                zip.add("m/data/0", bytes(4));
                zip.add("m/data.pkl", pickle);
                zip.add("m/constants.pkl", pickle);
            }
            case "big" -> {
                zip.add("m/data.pkl", pickle);
                zip.add("m/byteorder", "big".getBytes(StandardCharsets.US_ASCII));
            }
            case "compressed" -> {
                zip.add("m/data.pkl", pickle);
                zip.add("m/data/0", bytes(3), 8, 4);
            }
            default -> {
                zip.add("m/data.pkl", pickle);
                zip.add("m/data/0", bytes(4)).flags |= 1;
            }
        }
        return zip.finish();
    }

    @Test
    void indexNamesTheShards() throws IOException {
        for (String key : List.of("a", "b")) {
            Files.write(folder.resolve(key + ".bin"), file(PickleBytes.dict().text(key).floats("0", 1).endDict(), 4));
        }
        Files.writeString(
                folder.resolve("pytorch_model.bin.index.json"),
                "{\"metadata\":{\"total_size\":8},\"weight_map\":{\"a\":\"a.bin\",\"b\":\"b.bin\"}}");
        Files.write(folder.resolve("training_args.bin"),
                file(PickleBytes.dict().text("a").floats("0", 1).endDict(), 4));
        Checkpoint checkpoint = Checkpoint.open(folder);
        assertThat(checkpoint.format().id()).isEqualTo("torch");
        assertThat(checkpoint.tensors()).containsOnlyKeys("a", "b");
        assertThat(checkpoint.warnings()).singleElement().asString().contains("not loaded: 'training_args.bin'");
    }

    @ParameterizedTest
    @CsvSource({"empty, the file is empty", "garbage, the end record", "legacy, before version 1.6"})
    void brokenFileOfAFolderIsNotLeftOut(String kind, String message) throws IOException {
        byte[] part = switch (kind) {
            case "empty" -> new byte[0];
            case "garbage" -> "garbage".getBytes(StandardCharsets.US_ASCII);
            default -> unsupported(kind);
        };
        byte[] good = file(PickleBytes.dict().text("a").floats("0", 1).endDict(), 4);
        for (String name : List.of("m-%05d-of-00002.bin", "m%d.pt", "m-%d-of-2.weights")) {
            Path first = Files.write(folder.resolve(name.formatted(1)), good);
            Path second = Files.write(folder.resolve(name.formatted(2)), part);
            CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(folder));
            assertThat(e).as(name).isNotNull();
            assertThat(e.path()).contains(second);
            assertThat(e.getMessage()).contains(message);
            Files.delete(first);
            Files.delete(second);
        }
    }

    @Test
    void safetensorsBesideTorchFilesAreTheCheckpoint() throws IOException {
        Files.write(folder.resolve("training_args.bin"),
                file(PickleBytes.dict().text("a").floats("0", 1).endDict(), 4));
        Files.writeString(
                folder.resolve("pytorch_model.bin.index.json"), "{\"weight_map\":{\"a\":\"removed.bin\"}}");
        byte[] json =
                "{\"s\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}".getBytes(StandardCharsets.UTF_8);
        byte[] file = new byte[8 + json.length + 1];
        file[0] = (byte) json.length;
        System.arraycopy(json, 0, file, 8, json.length);
        Files.write(folder.resolve("model.safetensors"), file);
        assertThat(Checkpoint.open(folder).tensors()).containsOnlyKeys("s");
    }

    @Test
    void timeIsLinearInTheNumberOfTensors() {
        PickleBytes pickle = PickleBytes.dict();
        for (int i = 0; i < 20_000; i++) {
            pickle.text("layer." + i).tensor("torch.FloatStorage", "0", 20_000, i, new long[]{1}, new long[]{1});
        }
        long start = System.nanoTime();
        assertThat(open(pickle.endDict(), 80_000).tensors()).hasSize(20_000);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
    }

    @Test
    void mutatedFilesOpenOrFailWithOneLine() throws Exception {
        byte[] nested = PickleBytes.dict()
                .text("epoch").number(7)
                .text("m").op('}').text("w").floats("0", 6).op('s')
                .text("l").op(']', '(').floats("1", 2).op('e').endDict();
        FormatFuzz.run(
                new TorchFormat(),
                folder,
                List.of(
                        file(PickleBytes.dict().text("a").floats("0", 6).text("b").floats("0", 6).endDict(), 24),
                        file(nested, 24, 8)));
    }
}
