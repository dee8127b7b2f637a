package io.gds4j.loader.format.numpy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.FormatFuzz;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.MetadataValue;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.loader.format.ZipBytes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Files of {@code numpy.save} and {@code numpy.savez}: valid ones, and one for each rule. */
class NumpyFormatTest {
    @TempDir
    Path folder;

    /** Returns a file as numpy.save writes it: the data begin at a multiple of 64. */
    private static byte[] npy(int major, String header, int data) {
        byte[] text = header.getBytes(major == 3 ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1);
        int fixed = major == 1 ? 10 : 12;
        int padded = (fixed + text.length + 1 + 63) / 64 * 64 - fixed;
        return npy(major, text, padded, data);
    }

    private static byte[] npy(int major, byte[] text, long announced, int data) {
        int fixed = major == 1 ? 10 : 12;
        int room = (int) Math.min(announced, 4096);
        ByteBuffer file = ByteBuffer.allocate(fixed + room + data).order(ByteOrder.LITTLE_ENDIAN);
        file.put((byte) 0x93).put("NUMPY".getBytes(StandardCharsets.US_ASCII)).put((byte) major).put((byte) 0);
        if (major == 1) {
            file.putShort((short) announced);
        } else {
            file.putInt((int) announced);
        }
        file.put(text);
        while (file.position() < fixed + room - 1) {
            file.put((byte) ' ');
        }
        file.put((byte) '\n');
        for (int i = 0; i < data; i++) {
            file.put((byte) i);
        }
        return file.array();
    }

    private static String header(String descr, boolean fortran, String shape) {
        return "{'descr': %s, 'fortran_order': %s, 'shape': %s, }".formatted(descr, fortran ? "True" : "False", shape);
    }

    private Path write(String name, byte[] file) {
        try {
            return Files.write(folder.resolve(name), file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Checkpoint open(int major, String descr, String shape, int data) {
        return Checkpoint.open(write("x.npy", npy(major, header(descr, false, shape), data)));
    }

    private CheckpointException failure(byte[] file) {
        Path path = write("x.npy", file);
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(path));
        assertThat(e).isNotNull();
        assertThat(e.getMessage()).doesNotContain("\n").contains("x.npy", e.rule().variant());
        return e;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void arrayIsOneTensorNamedAfterItsFile(int version) throws IOException {
        Checkpoint checkpoint = open(version, "'<f4'", "(2, 3)", 24);
        assertThat(checkpoint.format().id()).isEqualTo("npy");
        TensorInfo x = checkpoint.tensors().get("x");
        assertThat(x.dtype()).isEqualTo(DType.F32);
        assertThat(x.shape()).containsExactly(2L, 3L);
        assertThat(x.fileOffset() % 64).isZero();
        assertThat(x.fileEnd()).isEqualTo(Files.size(x.file()));
        assertThat(checkpoint.typedMetadata().keys()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', quoteCharacter = '`', value = {
            "'|b1'; BOOL; 1", "'|i1'; I8; 1", "'|u1'; U8; 1", "'<i2'; I16; 2", "'<u2'; U16; 2", "'<i4'; I32; 4",
            "'<u4'; U32; 4", "'<i8'; I64; 8", "'<u8'; U64; 8", "'<f2'; F16; 2", "'<f4'; F32; 4", "'<f8'; F64; 8",
            "'<c8'; C64; 8", "'<c16'; C128; 16", "'<f16'; f16; 16", "'|V2'; V2; 2", "'|S5'; S5; 5", "'<U10'; U10; 40",
            "'float32'; F32; 4", "'bool'; BOOL; 1", "'int'; I64; 8", "'?'; BOOL; 1", "'<f'; F32; 4", "'=d'; F64; 8",
            "'half'; F16; 2", "'uint8'; U8; 1", "'complex64'; C64; 8", "'longdouble'; f16; 16", "'c'; S1; 1",
            "'i4,f4'; V8; 8", "'2i4, (2,3)f8,'; V56; 56", "[('a', '2f4')]; V8; 8", "'<n'; I64; 8", "'M'; M8; 8",
            "'<datetime64[ns]'; M8[ns]; 8", "'M8[D],U3'; V20; 20",
            "'datetime64[ns]'; M8[ns]; 8", "'timedelta64'; m8; 8", "[('a', 'float64'), ('b', 'B')]; V9; 9",
            "'<M8[ns]'; M8[ns]; 8", "'<m8'; m8; 8", "'>i1'; I8; 1", "'|V0'; V0; 0", "\"<f4\"; F32; 4",
            "[('a', '<f4'), ('b', '|u1')]; V5; 5", "[('a', '<f4', (2, 3)), (('title', 'b'), '<i2', 2)]; V28; 28",
            "[('x', [('y', '<f8'), ('', '|V3')], (2,))]; V22; 22"
    })
    void everyTypeHasItsSize(String descr, String id, int bytes) {
        TensorInfo tensor = open(1, descr, "(3,)", 3 * bytes).tensors().get("x");
        assertThat(tensor.dtype().id()).isEqualTo(id);
        assertThat(tensor.length()).isEqualTo(3L * bytes);
    }

    @Test
    void scalarsAndEmptyArraysAreRead() {
        assertThat(open(1, "'<f8'", "()", 8).tensors().get("x").shape()).isEmpty();
        assertThat(open(1, "'<f8'", "(0, 9)", 0).tensors().get("x").length()).isZero();
        assertThat(open(1, "'<f8'", "(1L, 2L)", 16).tensors().get("x").shape()).containsExactly(1L, 2L);
    }

    @Test
    void fortranOrderIsReported() {
        Checkpoint checkpoint = Checkpoint.open(write("f.npy", npy(1, header("'<f4'", true, "(2, 3)"), 24)));
        assertThat(checkpoint.typedMetadata().get("f.fortran_order")).contains(new MetadataValue.Truth(true));
        assertThat(checkpoint.tensors().get("f").shape()).containsExactly(2L, 3L);
        assertThat(checkpoint.tensors().get("f").order().isColumnMajor()).isTrue();
        Checkpoint vector = Checkpoint.open(write("v.npy", npy(1, header("'<f4'", true, "(6,)"), 24)));
        assertThat(vector.typedMetadata().keys()).isEmpty();
        assertThat(vector.tensors().get("v").order().isRowMajor()).isTrue();
    }

    @Test
    void bytesAfterTheArrayAreIgnoredAsByNumpy() {
        assertThat(open(1, "'<f4'", "(2,)", 100).tensors().get("x").length()).isEqualTo(8);
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(delimiter = ';', quoteCharacter = '`', value = {
            "objects; {'descr': '|O', 'fortran_order': False, 'shape': (1,)}; NpyDescr; Python objects",
            "objects in a structure; {'descr': [('a', '|O')], 'fortran_order': False, 'shape': (1,)}; NpyDescr; Python objects",
            "big-endian; {'descr': '>f4', 'fortran_order': False, 'shape': (1,)}; NpyDescr; big-endian",
            "big-endian texts; {'descr': '>U4', 'fortran_order': False, 'shape': (1,)}; NpyDescr; big-endian",
            "objects by name; {'descr': 'object', 'fortran_order': False, 'shape': (1,)}; NpyDescr; Python objects",
            "a name with an order; {'descr': '<float32', 'fortran_order': False, 'shape': (1,)}; NpyDescr; unknown type '<float32'",
            "a list with a hole; {'descr': 'i4,,f4', 'fortran_order': False, 'shape': (1,)}; NpyDescr; unknown type 'i4,,f4'",
            "an array alone; {'descr': '(2,)f4', 'fortran_order': False, 'shape': (1,)}; NpyDescr; unknown type '(2,)f4'",
            "an empty type; {'descr': '', 'fortran_order': False, 'shape': (1,)}; NpyDescr; unknown type ''",
            "an unknown type; {'descr': '<x4', 'fortran_order': False, 'shape': (1,)}; NpyDescr; unknown type '<x4'",
            "an element of 2^60 bytes; {'descr': '|V1152921504606846976', 'fortran_order': False, 'shape': (1,)}; NpyDescr; more than",
            "a number as type; {'descr': 4, 'fortran_order': False, 'shape': (1,)}; NpyDescr; neither a text nor",
            "an array of 2^60 in a field; {'descr': [('a', '<f4', (1152921504606846976, 1152921504606846976))], 'fortran_order': False, 'shape': (1,)}; NpyDescr; more than",
            "a size beyond 64 bits; {'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}; ValidationOverflow; does not fit",
            "a shape beyond 64 bits; {'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}; NpyHeader; does not fit 64 bits",
            "more data than there is; {'descr': '<f4', 'fortran_order': False, 'shape': (9,)}; NpyData; needs 36 bytes of data, but 8",
            "a negative dimension; {'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}; NpyHeader; numbers from 0 on",
            "a list as shape; {'descr': '<f4', 'fortran_order': False, 'shape': [1]}; NpyHeader; no tuple",
            "a number as shape; {'descr': '<f4', 'fortran_order': False, 'shape': (1)}; NpyHeader; no tuple",
            "an order that is no truth value; {'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}; NpyHeader; neither True nor False",
            "a missing key; {'descr': '<f4', 'shape': (1,)}; NpyHeader; no dict of descr",
            "an unknown key; {'descr': '<f4', 'fortran_order': False, 'size': (1,)}; NpyHeader; unknown key 'size'",
            "a key twice; {'descr': '<f4', 'fortran_order': False, 'descr': '<f4'}; NpyHeader; lacks descr or shape",
            "a call; __import__('os').system('x'); NpyHeader; a value expected",
            "text after the dict; {'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x; NpyHeader; more text",
            "an open text; {'descr; NpyHeader; ends with its line"
    })
    void brokenHeaderIsRefusedByRule(String what, String header, String rule, String message) {
        CheckpointException e = failure(npy(1, header, 8));
        assertThat(e.rule().variant()).isEqualTo(rule);
        assertThat(e.getMessage()).contains(message);
        assertThat(e.tensor()).contains("x");
        assertThat(e.fileOffset()).isPresent();
    }

    @Test
    void headerLengthsAreChecked() {
        assertThat(failure(npy(2, new byte[0], 0xFFFFFFFFL, 0)).getMessage()).contains("a header of 4294967295 bytes");
        assertThat(failure(npy(1, new byte[0], 5000, 0)).getMessage()).contains("a header of 5000 bytes, but 4096");
        assertThat(failure(npy(9, header("'<f4'", false, "(2,)"), 8)).getMessage()).contains("version 9.0");
        String deep = "[".repeat(70);
        assertThat(failure(npy(1, deep, 8)).getMessage()).contains("deeper than 64");
    }

    @Test
    void everyCutOfTheFileIsRefused() {
        byte[] file = npy(1, header("'<f4'", false, "(2,)"), 8);
        for (int length = 0; length < file.length; length++) {
            CheckpointException e = failure(Arrays.copyOf(file, length));
            assertThat(e.rule().variant()).as("cut after %d bytes", length).isIn("NpyHeader", "NpyData");
        }
    }

    private static byte[] npz() {
        ZipBytes zip = ZipBytes.plain();
        zip.add("a.npy", npy(1, header("'<f4'", false, "(2,)"), 8));
        zip.add("nested/b.npy", npy(1, header("'<i8'", true, "(2, 2)"), 32));
        return zip.finish();
    }

    @Test
    void membersOfArchivesAreTensors() {
        Checkpoint checkpoint = Checkpoint.open(write("x.npz", npz()));
        assertThat(checkpoint.format().id()).isEqualTo("npz");
        assertThat(checkpoint.tensors()).containsOnlyKeys("a", "nested/b");
        assertThat(checkpoint.typedMetadata().get("nested/b.fortran_order")).contains(new MetadataValue.Truth(true));
    }

    @Test
    void membersThatAreNoArraysAreNamed() {
        ZipBytes zip = ZipBytes.plain();
        zip.add("sub/", new byte[0]);
        zip.add("sub/a.npy", npy(1, header("'<f4'", false, "(2,)"), 8));
        zip.add("b", npy(1, header("'<f4'", false, "(2,)"), 8));
        zip.add("README.txt", "hello".getBytes(StandardCharsets.US_ASCII));
        zip.add("packed.txt", new byte[3], 8, 100);
        Checkpoint checkpoint = Checkpoint.open(write("x.npz", zip.finish()));
        assertThat(checkpoint.tensors()).containsOnlyKeys("sub/a", "b");
        assertThat(checkpoint.warnings()).singleElement().asString()
                .contains("x.npz: not loaded, because they are no arrays: 'README.txt', 'packed.txt'");
    }

    @Test
    void compressedAndBrokenArchivesAreRefused() {
        ZipBytes zip = ZipBytes.plain();
        zip.add("a.npy", new byte[40], 8, 136);
        CheckpointException compressed = failure(zip.finish());
        assertThat(compressed.rule()).isEqualTo(CheckpointRule.UNSUPPORTED_FORMAT);
        assertThat(compressed.getMessage()).contains("compressed (method 8)", "numpy.savez");
        byte[] whole = npz();
        for (int length = 0; length < whole.length; length++) {
            assertThat(failure(Arrays.copyOf(whole, length)).rule().variant()).as("cut after %d bytes", length)
                    .isIn("ZipStructure", "NpyHeader", "UnknownFormat");
        }
        ZipBytes broken = ZipBytes.plain();
        broken.add("a.npy", npy(1, header("'<f4'", false, "(3,)"), 8));
        assertThat(failure(broken.finish()).rule().variant()).isEqualTo("NpyData");
    }

    @Test
    void foldersOfArraysAreOneCheckpoint() {
        write("a.npy", npy(1, header("'<f4'", false, "(2,)"), 8));
        write("b.npy", npy(1, header("'<f4'", false, "(2,)"), 8));
        assertThat(Checkpoint.open(folder).tensors()).containsOnlyKeys("a", "b");
        write("c.npy", new byte[0]);
        CheckpointException e = catchThrowableOfType(CheckpointException.class, () -> Checkpoint.open(folder));
        assertThat(e.path()).contains(folder.resolve("c.npy"));
    }

    @Test
    void mutatedFilesOpenOrFailWithOneLine() throws Exception {
        FormatFuzz.run(new NpyFormat(), folder, List.of(
                npy(1, header("'<f4'", false, "(2, 3)"), 24),
                npy(3, header("[('a', '<f4', (2, 3)), (('t', 'b'), '<i2', 2)]", true, "(2, 1)"), 56)));
        FormatFuzz.run(new NpzFormat(), folder, List.of(npz()));
    }
}
