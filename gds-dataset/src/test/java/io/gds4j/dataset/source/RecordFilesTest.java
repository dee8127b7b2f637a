package io.gds4j.dataset.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.error.Errno;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitOption;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RecordFilesTest {
    private static final int MEGATRON_HEADER = 34;

    @TempDir
    Path folder;

    private Path write(String name, byte[] bytes) throws IOException {
        return Files.write(folder.resolve(name), bytes);
    }

    private static ByteBuffer little(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }

    private Path npy(String name, String header, int data) throws IOException {
        ByteBuffer bytes = little(10 + header.length() + data);
        bytes.put(new byte[]{(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0}).putShort((short) header.length());
        bytes.put(header.getBytes(StandardCharsets.ISO_8859_1));
        return write(name, bytes.array());
    }

    private static String header(String descr, String shape) {
        return "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n".formatted(descr, shape);
    }

    private void assertMalformed(Path path, String message) {
        assertThatThrownBy(() -> RecordFiles.open(List.of(path))).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining(message)
                .hasMessageContaining(path.getFileName().toString())
                .message().doesNotContain("\n");
    }

    @Test
    void fixedRecordsLieBehindTheHeader() throws IOException {
        Path first = write("a", new byte[10 + 3 * 8]);
        Path second = write("b", new byte[10 + 2 * 8]);
        RecordSource source = RecordFiles.afterHeader(List.of(first, write("empty", new byte[10]), second), 10, 8);
        assertThat(source.records()).isEqualTo(5);
        assertThat(source.isFixedLength()).isTrue();
        assertThat(source.file(2)).isZero();
        assertThat(source.fileOffset(2)).isEqualTo(26);
        assertThat(source.file(3)).isEqualTo(2);
        assertThat(source.fileOffset(4)).isEqualTo(18);
    }

    @Test
    void oneFileIsADataSet() throws IOException {
        RecordSource records = RecordFiles.fixed(write("a.bin", new byte[24]), 8);
        RecordSource rows = RecordFiles.open(npy("a.npy", header("<f4", "(5, 2)"), 40));
        assertThat(records.records()).isEqualTo(3);
        assertThat(records.files()).containsExactly(folder.resolve("a.bin"));
        assertThat(rows.records()).isEqualTo(5);
        assertThat(rows.maxLength()).isEqualTo(8);
    }

    /** Several are opened at a time. */
    @Test
    void manyFilesKeepTheirOrderAndTheFirstWithAFailureIsNamed() throws IOException {
        List<Path> files = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            files.add(npy(i + ".npy", header("<f4", "(%s, 2)".formatted(i)), i * 8));
        }
        RecordSource all = RecordFiles.open(files);
        assertThat(all.files()).isEqualTo(files);
        assertThat(all.records()).isEqualTo(50 * 49 / 2);
        for (int i = 1; i < 50; i++) {
            assertThat(all.file(i * (i - 1) / 2)).isEqualTo(i);
        }
        npy("47.npy", header("<f4", "(47, 2)"), 1);
        npy("20.npy", header("<f4", "(20, 2)"), 1);
        assertThatThrownBy(() -> RecordFiles.open(files)).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining("20.npy").hasMessageNotContaining("47.npy");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void interruptedThreadOpensNothingAndStaysInterrupted(int number) throws IOException {
        npy("a.npy", header("<f4", "(5, 2)"), 40);
        List<Path> files = Collections.nCopies(number, folder.resolve("a.npy"));
        Thread.currentThread().interrupt();
        try {
            assertThatThrownBy(() -> RecordFiles.open(files)).isInstanceOf(CuFileInterruptedException.class)
                    .hasMessageContaining("interrupted while a header was read");
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
        assertThat(RecordFiles.open(files).records()).isEqualTo(5L * number);
    }

    @Test
    @Timeout(20)
    void pipesAndLoopsOfLinksAreRefusedAtOnce() throws Exception {
        Path pipe = folder.resolve("a.npy");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
        assertMalformed(pipe, "is a pipe, socket or device, allowed: a regular file");
        assertThatThrownBy(() -> RecordFiles.fixed(List.of(pipe), 8)).hasMessageContaining("is a pipe");
        Path loop = Files.createSymbolicLink(folder.resolve("b.npy"), Path.of("b.npy"));
        assertMalformed(loop, "a loop of links");
        assertThatThrownBy(() -> RecordFiles.open(List.of(loop))).isInstanceOfSatisfying(CuFileException.class,
                e -> assertThat(e.errno()).hasValue(Errno.ELOOP));
    }

    @Test
    void nameThatIsTooLongHasItsErrno() {
        Path path = folder.resolve("n".repeat(256) + ".npy");
        assertThatThrownBy(() -> RecordFiles.open(List.of(path))).isInstanceOfSatisfying(CuFileException.class,
                e -> assertThat(e.errno()).hasValue(Errno.ENAMETOOLONG)).hasMessageContaining("file name too long");
    }

    @Test
    void indexIsNoLinkToAnywhere(@TempDir Path outside) throws IOException {
        Path bin = megatron(index -> {
        });
        long records = RecordFiles.open(List.of(bin)).records();
        Path index = Files.move(folder.resolve("t.idx"), outside.resolve("t.idx"));
        Path link = Files.createSymbolicLink(folder.resolve("t.idx"), index);
        assertThatThrownBy(() -> RecordFiles.open(List.of(bin)))
                .isInstanceOf(RecordFormatException.class)
                .hasMessageContaining("t.idx")
                .hasMessageContaining("link not followed: it leads out of the folder, to '" + index.toRealPath());
        assertThat(RecordFiles.open(bin, FileVisitOption.FOLLOW_LINKS).records()).isEqualTo(records);
        assertThat(RecordFiles.megatron(bin, link).records()).as("the user names both").isEqualTo(records);
        Path moved = Files.createSymbolicLink(outside.resolve("t.bin"), bin);
        assertThat(RecordFiles.open(List.of(moved)).records()).as("the index beside the name").isEqualTo(records);
        Files.delete(moved);
        Files.delete(link);
        Files.createSymbolicLink(link, Files.move(index, folder.resolve("inside")));
        assertThat(RecordFiles.open(List.of(bin)).records()).isEqualTo(records);
    }

    @Test
    void strideLeavesGapsOut() throws IOException {
        RecordSource source = RecordFiles.afterHeader(List.of(write("a", new byte[4 + 16 + 16 + 10])), 4, 10, 16);
        assertThat(source.records()).isEqualTo(3);
        assertThat(source.fileOffset(2)).isEqualTo(36);
        assertThat(source.length(2)).isEqualTo(10);
    }

    @Test
    void restBehindTheLastRecordIsRefused() throws IOException {
        Path path = write("a", new byte[21]);
        assertThatThrownBy(() -> RecordFiles.afterHeader(List.of(path), 4, 8)).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining(
                        "1 bytes follow the last record, allowed: a header of 4 bytes and whole records of 8")
                .hasMessageContaining("offset=20");
        assertThatThrownBy(() -> RecordFiles.afterHeader(List.of(path), 22, 8))
                .hasMessageContaining("the file has 21 bytes, allowed: 22 (the header) or more");
        assertThatThrownBy(() -> RecordFiles.fixed(List.of(path), 0)).isInstanceOf(CuFileException.class);
        assertThatThrownBy(() -> RecordFiles.fixed(List.of(), 1)).hasMessageContaining("there are no files");
        assertThatThrownBy(() -> RecordFiles.fixed(List.of(folder.resolve("x")), 1))
                .hasMessageContaining("no such file");
        assertThatThrownBy(() -> RecordFiles.fixed(List.of(folder), 1)).hasMessageContaining("is a folder");
    }

    @Test
    void npyRowsAreRecords() throws IOException {
        RecordSource source = RecordFiles.open(List.of(
                npy("a.npy", header("<f4", "(5, 3, 2)"), 5 * 24), npy("b.npy", header("<f4", "(1, 3, 2)"), 24)));
        assertThat(source.records()).isEqualTo(6);
        assertThat(source.maxLength()).isEqualTo(24);
        assertThat(source.fileOffset(1)).isEqualTo(10 + header("<f4", "(5, 3, 2)").length() + 24);
        assertThat(RecordFiles.open(List.of(npy("c.npy", header("|u1", "(7,)"), 7))).maxLength()).isEqualTo(1);
    }

    @ParameterizedTest
    @CsvSource({"<f2, <f2", "=f4, <f4", ">i2, >i2", "|u1, |u1", "<M8[ms], <M8[ms]"})
    void npyTellsTypeAndShapeOfARecord(String descr, String type) throws IOException {
        int bytes = Character.digit(descr.charAt(2), 10);
        RecordSource source = RecordFiles.open(List.of(npy("a.npy", header(descr, "(5, 3, 2)"), 30 * bytes)));
        assertThat(source.elementType()).contains(type);
        assertThat(source.shape()).contains(List.of(3L, 2L));
        RecordSource scalars = RecordFiles.open(List.of(npy("b.npy", header(descr, "(5,)"), 5 * bytes)));
        assertThat(scalars.shape()).contains(List.of());
        RecordSource joined = RecordFiles.join(List.of(source, scalars));
        assertThat(joined.elementType()).contains(type);
        assertThat(joined.shape()).as("shapes that differ").isEmpty();
    }

    @Test
    void shapesThatDifferInOneDataSetAreNone() throws IOException {
        RecordSource source = RecordFiles.npy(List.of(
                npy("a.npy", header("<f4", "(5, 3, 2)"), 120), npy("b.npy", header("<f4", "(1, 6)"), 24)));
        assertThat(source.elementType()).contains("<f4");
        assertThat(source.shape()).isEmpty();
    }

    @Test
    void bytesHaveNoTypeAndNoShape() throws IOException {
        RecordSource source = RecordFiles.fixed(List.of(write("a", new byte[20])), 10);
        assertThat(source.elementType()).isEmpty();
        assertThat(source.shape()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', value = {
            "|O; (5, 3); Python objects",
            "<f4; (); shape is ()",
            "<f4; (5, 0); a row has 0 bytes",
            "<f4; (5, 4); the file has 60 bytes of data, the header says 80",
            "<f4; (9999999999, 9999999999); 2^63 bytes or more",
            "<f4; (99999999999999999999, 1); allowed: numbers below 2^63",
            "nonsense; (5, 3); has no descr"})
    void malformedNpyIsRefused(String descr, String shape, String message) throws IOException {
        assertMalformed(npy("a.npy", header(descr, shape), 60), message);
    }

    /** The loader of checkpoints reads the same headers. */
    @Test
    void npyHeaderIsAnyPythonDict() throws IOException {
        Path path = npy("a.npy", "{\"shape\": (5L, 3), 'fortran_order': False, 'descr': u'<f4'}\n", 60);
        assertThat(RecordFiles.open(List.of(path)).records()).isEqualTo(5);
        byte[] bytes = Files.readAllBytes(path);
        bytes[7] = 1;
        assertMalformed(Files.write(path, bytes), ".npy version 1.1, allowed: 1 to 3");
        assertMalformed(npy("b.npy", header("<f4", "(5, 3)") + "x", 60), "more text follows");
    }

    @Test
    void npyOfAnotherOrderOrVersionIsRefused() throws IOException {
        assertMalformed(npy("a.npy", header("<f4", "(5, 3)").replace("False", "True"), 60), "fortran_order is True");
        Path path = npy("b.npy", header("<f4", "(5, 3)"), 60);
        byte[] bytes = Files.readAllBytes(path);
        bytes[6] = 4;
        assertMalformed(Files.write(path, bytes), ".npy version 4, allowed: 1 to 3");
        bytes[0] = 'x';
        assertMalformed(Files.write(path, bytes), "is no .npy file");
        assertMalformed(write("c.npy", new byte[5]), "ends inside the .npy header");
    }

    @Test
    void filesOfOneDataSetHaveOneShape() throws IOException {
        Path one = npy("a.npy", header("<f4", "(5, 3)"), 60);
        Path two = npy("b.npy", header("<f4", "(5, 4)"), 80);
        assertThatThrownBy(() -> RecordFiles.npy(List.of(one, two))).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining("has records of 16 <f4 bytes, allowed: 12 <f4 bytes as in");
    }

    @Test
    void vectorsHaveTheirDimensionInFront() throws IOException {
        ByteBuffer bytes = little(3 * 12);
        for (int i = 0; i < 3; i++) {
            bytes.putInt(2).putFloat(i).putFloat(i);
        }
        Path path = write("a.fvecs", bytes.array());
        RecordSource source = RecordFiles.open(List.of(path));
        assertThat(source.records()).isEqualTo(3);
        assertThat(source.length(0)).isEqualTo(8);
        assertThat(source.fileOffset(1)).isEqualTo(16);
        assertThat(source.elementType()).contains("<f4");
        assertThat(source.shape()).contains(List.of(2L));
        bytes.putInt(24, 3);
        assertMalformed(Files.write(path, bytes.array()), "the last vector has dimension 3, the first has 2");
        bytes.putInt(0, -1);
        assertMalformed(Files.write(path, bytes.array()), "a vector has dimension -1, allowed: 1 or more");
        bytes.putInt(0, 4);
        assertMalformed(Files.write(path, bytes.array()), "allowed: a multiple of 20 (vectors of dimension 4)");
    }

    @Test
    void binFilesOfVectorsHaveOneHeader() throws IOException {
        RecordSource source = RecordFiles.open(List.of(
                write("a.u8bin", little(8 + 6).putInt(2).putInt(3).array()),
                write("b.u8bin", little(8 + 3).putInt(1).putInt(3).array())));
        assertThat(source.records()).isEqualTo(3);
        assertThat(source.fileOffset(1)).isEqualTo(11);
        assertMalformed(
                write("c.fbin", little(8 + 6).putInt(2).putInt(3).array()),
                "the file has 6 bytes of data, the header says 2 vectors of 12 bytes");
        assertMalformed(write("d.fbin", new byte[8]), "the dimension is 0");
        assertMalformed(write("e.fbin", new byte[7]), "ends inside the header of 8 bytes");
    }

    private Path megatron(Consumer<ByteBuffer> change) throws IOException {
        int[] lengths = {3, 0, 5};
        ByteBuffer index = little(MEGATRON_HEADER + 3 * 12 + 2 * 8);
        index.put("MMIDIDX\0\0".getBytes(StandardCharsets.ISO_8859_1)).putLong(1).put((byte) 8).putLong(3).putLong(2);
        for (int length : lengths) {
            index.putInt(length);
        }
        index.putLong(0).putLong(6).putLong(6).putLong(0).putLong(3);
        change.accept(index);
        write("t.idx", index.array());
        return write("t.bin", new byte[16]);
    }

    @Test
    void fileWithoutAnIndexNeedsASize() throws IOException {
        Path path = write("plain.bin", new byte[8]);
        assertThatThrownBy(() -> RecordFiles.open(List.of(path))).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining("no index plain.idx of Megatron; records of one size need their size");
    }

    @Test
    void sequencesOfMegatronAreRecords() throws IOException {
        RecordSource source = RecordFiles.open(List.of(megatron(index -> {
        })));
        assertThat(source.records()).isEqualTo(3);
        assertThat(source.isFixedLength()).isFalse();
        assertThat(source.maxLength()).isEqualTo(10);
        assertThat(source.length(1)).isZero();
        assertThat(source.fileOffset(2)).isEqualTo(6);
        assertThat(source.elementType()).contains("<u2");
        assertThat(source.shape()).as("lengths differ").isEmpty();
    }

    @Test
    void filesWithTokensOfAnotherTypeAreRefused() throws IOException {
        Path first = megatron(index -> {
        });
        Path second = folder.resolve("other.bin");
        Files.copy(first, second);
        byte[] index = Files.readAllBytes(folder.resolve("t.idx"));
        write("other.idx", index);
        assertThat(RecordFiles.open(List.of(first, second)).records()).isEqualTo(6);
        // i16 tokens have as many bytes as u16 ones
        index[17] = 3;
        write("other.idx", index);
        assertThatThrownBy(() -> RecordFiles.open(List.of(first, second))).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining("other.bin")
                .hasMessageContaining("has records of <i2 tokens, allowed: <u2 tokens as in")
                .hasMessageContaining("t.bin");
    }

    @Test
    void malformedIndexIsRefused() throws IOException {
        assertIndexRefused(index -> index.put(0, (byte) 'X'), "is no index");
        assertIndexRefused(index -> index.putLong(9, 2), "version 2, allowed: 1");
        assertIndexRefused(index -> index.put(17, (byte) 9), "type of tokens 9, allowed: 1 to 8");
        assertIndexRefused(index -> index.putLong(18, Long.MIN_VALUE),
                "9223372036854775808 sequences, allowed in this file");
        assertIndexRefused(index -> index.putLong(18, 5), "5 sequences, allowed in this file: 0 to 4");
        assertIndexRefused(index -> index.putLong(26, 3), "3 entries of documents, allowed in this file: 1 to 2");
        assertIndexRefused(index -> index.putInt(38, -1), "sequence 1 has -1 tokens, allowed: 0 or more");
        assertIndexRefused(index -> index.putLong(54, 7), "sequence 1 begins at 7, allowed: 6");
        Path bin = megatron(index -> {
        });
        Files.write(bin, new byte[15]);
        assertThatThrownBy(() -> RecordFiles.open(List.of(bin)))
                .hasMessageContaining("the file has 15 bytes, the index");
    }

    private void assertIndexRefused(Consumer<ByteBuffer> change, String message) throws IOException {
        Path bin = megatron(change);
        assertThatThrownBy(() -> RecordFiles.open(List.of(bin))).isInstanceOf(RecordFormatException.class)
                .hasMessageContaining(message)
                .hasMessageContaining("t.idx");
    }

    @Test
    void joinedSourcesAreOneDataSet() throws IOException {
        RecordSource fixed = RecordFiles.fixed(List.of(write("a", new byte[20])), 10);
        RecordSource joined = RecordFiles.join(List.of(fixed, RecordFiles.open(List.of(megatron(index -> {
        })))));
        assertThat(joined.records()).isEqualTo(5);
        assertThat(joined.maxLength()).isEqualTo(10);
        assertThat(joined.isFixedLength()).isFalse();
        assertThat(joined.file(4)).isEqualTo(1);
        assertThat(joined.fileOffset(4)).isEqualTo(6);
        assertThat(joined.fileOffset(1)).isEqualTo(10);
    }

    @Test
    void mutatedFilesFailInOneLineOrAreRead() throws IOException {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        Random random = new Random(seed);
        Path bin = megatron(index -> {
        });
        byte[] index = Files.readAllBytes(folder.resolve("t.idx"));
        byte[] npy = Files.readAllBytes(npy("m.npy", header("<f4", "(5, 3)"), 60));
        for (int i = 0; i < 150; i++) {
            Files.write(folder.resolve("t.idx"), mutated(index, random));
            Path mutant = write("m.npy", mutated(npy, random));
            for (Path path : List.of(bin, mutant)) {
                try {
                    assertThat(RecordFiles.open(List.of(path)).records()).isNotNegative();
                } catch (RecordFormatException e) {
                    assertThat(e.getMessage()).as("seed %d", seed).doesNotContain("\n");
                }
            }
        }
    }

    private static byte[] mutated(byte[] bytes, Random random) {
        byte[] copy = bytes.clone();
        for (int i = random.nextInt(3); i >= 0; i--) {
            copy[random.nextInt(copy.length)] = (byte) random.nextInt();
        }
        return copy;
    }

    @Test
    void unknownNameIsRefused() throws IOException {
        assertMalformed(write("a.dat", new byte[1]), "the name does not tell the format");
    }
}
