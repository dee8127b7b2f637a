package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link SafetensorsWriter}, and the bytes of {@link TensorPattern}. */
class SafetensorsWriterTest {
    @TempDir
    Path folder;

    private SafetensorsWriter writer() {
        return new SafetensorsWriter(folder.resolve("w.safetensors")).durable(false);
    }

    private Checkpoint written() {
        return Checkpoint.open(folder.resolve("w.safetensors"));
    }

    private List<String> files() throws IOException {
        try (Stream<Path> list = Files.list(folder)) {
            return list.map(file -> String.valueOf(file.getFileName())).toList();
        }
    }

    @ParameterizedTest
    @CsvSource({"PAGE, 4096, 0", "EIGHT, 8, 0", "ODD, 2, 1"})
    void paddingDecidesWhereDataBegins(SafetensorsWriter.Padding padding, long modulus, long residue) {
        for (String name : List.of("a", "ab", "abc", "abcd", "é")) {
            writer().padding(padding).tensor(name, DType.U8, 3).write(new TensorPattern(1));
            assertThat(written().files().getFirst().dataOffset() % modulus).as(name).isEqualTo(residue);
        }
    }

    @Test
    void whatCheckpointsRefuseIsNotWritten() throws IOException {
        Path file = Files.writeString(folder.resolve("a.safetensors"), "old");
        SafetensorsWriter writer = new SafetensorsWriter(file).tensor("n".repeat(4097), DType.U8, 4);
        assertThatThrownBy(() -> writer.write(new TensorPattern(1))).isInstanceOf(CuFileException.class)
                .hasMessageContaining("4097 characters");
        assertThat(file).hasContent("old");
        assertThat(folder.toFile().list()).containsExactly("a.safetensors");
    }

    @ParameterizedTest
    @ValueSource(strings = {"link", "hard link", "file"})
    void whatTakesTheNameOfTheNewFileKeepsItsPermissions(String kind) throws IOException {
        Path old = Files.writeString(folder.resolve("old"), "old");
        Files.setPosixFilePermissions(old, PosixFilePermissions.fromString("rw-rw-rw-"));
        Set<PosixFilePermission> none = PosixFilePermissions.fromString("rw-------");
        Path secret = Files.writeString(folder.resolve("secret"), kind.equals("hard link") ? "" : "secret");
        Files.setPosixFilePermissions(secret, none);
        Path created = kind.equals("file") ? secret : folder.resolve("created");
        if (kind.equals("link")) {
            Files.createSymbolicLink(created, secret);
        } else if (kind.equals("hard link")) {
            Files.createLink(created, secret);
        }
        assertThatThrownBy(() -> SafetensorsWriter.keepPermissions(old, created)).isInstanceOf(IOException.class);
        assertThat(Files.getPosixFilePermissions(secret)).isEqualTo(none);
    }

    @Test
    void headerWithoutPaddingEndsWithItsBrace() throws IOException {
        writer().padding(SafetensorsWriter.Padding.NONE)
                .metadata("format", "pt")
                .tensor("a\"", DType.F32, 1, 2)
                .tensor("s", DType.I64)
                .write((name, offset, to) -> to.fill((byte) 1));
        String json = "{\"__metadata__\":{\"format\":\"pt\"},"
                + "\"s\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
                + "\"a\\\"\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[8,16]}}";
        byte[] file = Files.readAllBytes(folder.resolve("w.safetensors"));
        assertThat(new String(file, 8, file.length - 24, StandardCharsets.UTF_8)).isEqualTo(json);
        assertThat(file).startsWith((byte) json.length(), (byte) 0).endsWith(1, 1, 1, 1, 1, 1, 1, 1);
    }

    @Test
    void unusualNamesAreReadBack() {
        List<String> names = List.of("", " ", "a\"b\\c", "\0\n\t\u001f\u007f", "é😀\u2028", "__meta__", "{}[],:");
        SafetensorsWriter writer = writer();
        names.forEach(name -> writer.tensor(name, DType.U8, 1).metadata(name, name));
        writer.write(new TensorPattern(1));
        assertThat(written().tensors().keySet()).containsExactlyInAnyOrderElementsOf(names);
        assertThat(written().metadata()).hasSize(7).allSatisfy((key, value) -> assertThat(key).isEqualTo(value));
    }

    @Test
    void tensorsAreSortedAsByTheReferenceWriter() {
        writer().tensor("b", DType.U8, 1)
                .tensor("layers.2", DType.BF16, 1)
                .tensor("layers.10", DType.BF16, 1)
                .tensor("a", DType.F32, 1)
                .tensor("flag", DType.BOOL, 1)
                .tensor("z", DType.U64, 1)
                .write(new TensorPattern(1));
        assertThat(written().tensors().keySet()).containsExactly("z", "a", "layers.10", "layers.2", "b", "flag");
    }

    @Test
    void unsortedTensorsKeepTheirOrder() {
        writer().sorted(false).tensor("b", DType.U8, 1).tensor("a", DType.F32, 1).write(new TensorPattern(1));
        assertThat(written().tensors().keySet()).containsExactly("b", "a");
    }

    @Test
    void patternHasKnownFirstBytes() {
        TensorPattern pattern = new TensorPattern(0);
        assertThat(first(pattern, "z.flags")).isEqualTo("fbb6b12a2bdb07ef");
        assertThat(first(pattern, "blk.39.w")).isEqualTo("0e2085a6d9ff9ac5");
        assertThat(first(pattern, "unicode.é😀")).isEqualTo("374d6b9162116a08");
    }

    private static String first(TensorPattern pattern, String name) {
        byte[] bytes = new byte[8];
        pattern.fill(name, 0, MemorySegment.ofArray(bytes));
        return HexFormat.of().formatHex(bytes);
    }

    @Test
    void patternDoesNotDependOnPieces() {
        TensorPattern pattern = new TensorPattern(5);
        byte[] whole = new byte[300_000];
        pattern.fill("t", 0, MemorySegment.ofArray(whole));
        byte[] pieces = new byte[whole.length];
        for (int at = 0; at < pieces.length; at += 777) {
            pattern.fill("t", at, MemorySegment.ofArray(pieces).asSlice(at, Math.min(777, pieces.length - at)));
        }
        assertThat(pieces).isEqualTo(whole);
        assertThat(pattern.mismatch("t", 0, MemorySegment.ofArray(whole))).isEqualTo(-1);
        whole[299_999] ^= 1;
        assertThat(pattern.mismatch("t", 0, MemorySegment.ofArray(whole))).isEqualTo(299_999);
        assertThat(pattern.mismatch("t", 1000, MemorySegment.ofArray(whole).asSlice(1000))).isEqualTo(298_999);
        assertThat(pattern.mismatch("u", 0, MemorySegment.ofArray(whole))).isZero();
        assertThat(new TensorPattern(6).mismatch("t", 0, MemorySegment.ofArray(whole))).isZero();
    }

    @Test
    void everyByteIsWrittenForAllSizes() throws IOException {
        SafetensorsWriter writer = writer().sorted(false).padding(SafetensorsWriter.Padding.ODD);
        List<Long> sizes = List.of(0L, 1L, (4L << 20) - 1, 0L, 1L, 0L, (4L << 20) + 5, 100_000L, 12L << 20, 0L, 3L);
        for (int i = 0; i < sizes.size(); i++) {
            writer.tensor("t" + i, DType.U8, sizes.get(i));
        }
        TensorPattern pattern = new TensorPattern(3);
        writer.write(pattern);
        assertThat(writer.bytes()).isEqualTo(sizes.stream().mapToLong(Long::longValue).sum());
        MemorySegment file = MemorySegment.ofArray(Files.readAllBytes(folder.resolve("w.safetensors")));
        for (TensorInfo tensor : written().tensors().values()) {
            MemorySegment bytes = file.asSlice(tensor.fileOffset(), tensor.length());
            assertThat(pattern.mismatch(tensor.name(), 0, bytes)).as(tensor.name()).isEqualTo(-1);
        }
    }

    @Test
    void existingFileIsReplaced() throws IOException {
        Files.writeString(folder.resolve("w.safetensors"), "old");
        new SafetensorsWriter(folder.resolve("w.safetensors")).tensor("a", DType.U8, 1).write(new TensorPattern(1));
        assertThat(files()).containsExactly("w.safetensors");
        assertThat(written().tensors()).containsOnlyKeys("a");
    }

    @Test
    void failureLeavesNoFile() throws IOException {
        SafetensorsWriter writer = writer().tensor("a", DType.U8, 40 << 20);
        assertThatThrownBy(() -> writer.write((name, offset, to) -> {
            if (offset > 0) {
                throw new IllegalStateException("no more");
            }
        }))
                .isInstanceOf(IllegalStateException.class);
        assertThat(files()).isEmpty();
    }

    @Test
    void interruptLeavesNoFile() throws IOException {
        SafetensorsWriter writer = writer().tensor("a", DType.U8, 40 << 20);
        Thread caller = Thread.currentThread();
        try {
            assertThatThrownBy(() -> writer.write((name, offset, to) -> caller.interrupt()))
                    .isInstanceOf(CuFileInterruptedException.class);
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
        assertThat(files()).isEmpty();
    }

    @Test
    void missingFolderIsNamed() {
        SafetensorsWriter writer = new SafetensorsWriter(folder.resolve("no/w.safetensors")).tensor("a", DType.U8, 1);
        assertThatThrownBy(writer::writeSparse)
                .isInstanceOfSatisfying(CuFileException.class, e -> {
                    assertThat(e.path()).contains(folder.resolve("no/w.safetensors"));
                    assertThat(e.error()).isEqualTo(CuFileError.IO_ERROR);
                });
    }

    @Test
    void sparseFileTakesNoSpace() throws IOException {
        writer().tensor("a", DType.F32, 1L << 40).writeSparse();
        assertThat(written().bytes()).isEqualTo(4L << 40);
    }

    @Test
    void invalidTensorsAreRefused() {
        SafetensorsWriter writer = writer().tensor("a", DType.U8, 1);
        List<Runnable> refused = new ArrayList<>();
        refused.add(() -> writer.tensor("a", DType.U8, 1));
        refused.add(() -> writer.tensor("__metadata__", DType.U8, 1));
        refused.add(() -> writer.tensor("\ud800", DType.U8, 1));
        refused.add(() -> writer.metadata("k", "\udc00"));
        refused.add(() -> writer.tensor("b", DType.U8, -1));
        refused.add(() -> writer.tensor("b", DType.F4, 3));
        refused.add(() -> writer.tensor("b", DType.U64, Long.MAX_VALUE));
        refused.add(() -> writer.tensor("b", DType.U8, Long.MAX_VALUE, 2));
        assertThat(refused).allSatisfy(call -> assertThatThrownBy(call::run)
                .isInstanceOfSatisfying(
                        CuFileException.class,
                        e -> assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE)));
    }

    @Test
    void interruptedThreadWritesNothingAndKeepsItsFlag() throws IOException {
        Thread.currentThread().interrupt();
        try {
            assertThatThrownBy(() -> writer().tensor("a", DType.U8, 3).write(new TensorPattern(1)))
                    .isInstanceOf(CuFileInterruptedException.class);
            assertThatThrownBy(() -> writer().writeSparse()).isInstanceOf(CuFileInterruptedException.class);
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
        assertThat(files()).isEmpty();
    }
}
