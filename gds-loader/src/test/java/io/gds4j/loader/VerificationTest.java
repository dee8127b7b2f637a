package io.gds4j.loader;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.error.CuFileInterruptedException;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryKind;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Digests of tensors in memory and their comparison with the file. */
class VerificationTest {
    @TempDir
    Path folder;

    private final FileChannelBackend backend = new FileChannelBackend();
    private final CuFileDriver driver = CuFileDriver.open(backend);
    private Path file;

    @BeforeEach
    void write() {
        file = folder.resolve("m.safetensors");
        new SafetensorsWriter(file)
                .padding(SafetensorsWriter.Padding.ODD)
                .tensor("big", DType.BF16, 3, 1_500_001)
                .tensor("other", DType.BF16, 1_000_003)
                .tensor("flags", DType.U8, 13)
                .tensor("empty", DType.U8, 0)
                .write(new TensorPattern(9));
    }

    @AfterEach
    void close() {
        driver.close();
        assertThat(backend.allocator().open()).isZero();
    }

    private LoadedTensors load(MemoryKind kind) {
        return Checkpoint.open(file).plan().to(kind).load(driver);
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"HOST", "CUDA_DEVICE"})
    void digestEqualsTheDigestOfTheFile(MemoryKind kind) throws Exception {
        byte[] bytes = Files.readAllBytes(file);
        try (LoadedTensors tensors = load(kind)) {
            Map<String, String> digests = TensorDigest.sha256(tensors);
            assertThat(digests.keySet()).containsExactlyElementsOf(tensors.names());
            for (LoadedTensor tensor : tensors.tensors()) {
                TensorInfo info = tensor.info();
                byte[] part = Arrays.copyOfRange(bytes, (int) info.fileOffset(), (int) info.fileEnd());
                String expected = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(part));
                assertThat(digests).containsEntry(info.name(), expected);
                assertThat(TensorDigest.sha256(tensors, info.name())).isEqualTo(expected);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"HOST", "CUDA_DEVICE"})
    void loadedTensorsAreVerified(MemoryKind kind) {
        List<Long> progress = new CopyOnWriteArrayList<>();
        try (LoadedTensors tensors = load(kind)) {
            VerificationReport report = CheckpointVerifier.verify(tensors, progress::add);
            assertThat(report.verified()).isTrue();
            assertThat(report.tensors()).isEqualTo(4);
            assertThat(report.bytes()).isEqualTo(tensors.report().bytes());
            assertThat(progress).isSorted().last().isEqualTo(report.bytes());
        }
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"HOST", "CUDA_DEVICE"})
    void firstDifferenceOfEachTensorIsFound(MemoryKind kind) {
        try (LoadedTensors tensors = load(kind)) {
            MemorySegment big = TrackingAllocator.raw(tensors.range("big"));
            MemorySegment flags = TrackingAllocator.raw(tensors.range("flags"));
            for (long at : List.of(8_999_999L, 5_000_000L, 4_999_999L)) {
                big.set(ValueLayout.JAVA_BYTE, at, (byte) ~big.get(ValueLayout.JAVA_BYTE, at));
            }
            int was = flags.get(ValueLayout.JAVA_BYTE, 12) & 0xff;
            flags.set(ValueLayout.JAVA_BYTE, 12, (byte) (was ^ 1));
            VerificationReport report = CheckpointVerifier.verify(tensors);
            assertThat(report.verified()).isFalse();
            assertThat(report.mismatches()).extracting(TensorMismatch::offset).containsExactly(4_999_999L, 12L);
            TensorMismatch last = report.mismatches().getLast();
            assertThat(last).isEqualTo(new TensorMismatch(tensors.get("flags").info(), 12, was, was ^ 1));
            assertThat(last).hasToString("tensor 'flags' differs at byte 12: 0x%02x in the file, 0x%02x in memory"
                    .formatted(was, was ^ 1));
        }
    }

    @Test
    void truncatedFileDiffers() throws IOException {
        try (LoadedTensors tensors = load(MemoryKind.HOST)) {
            TensorInfo flags = tensors.get("flags").info();
            try (RandomAccessFile shorter = new RandomAccessFile(file.toFile(), "rw")) {
                shorter.setLength(flags.fileOffset() + 5);
            }
            TensorMismatch found = CheckpointVerifier.verify(tensors).mismatches().getFirst();
            assertThat(found.tensor()).isEqualTo(flags);
            assertThat(found.offset()).isEqualTo(5);
            assertThat(found.expected()).isEqualTo(-1);
            assertThat(found).hasToString("tensor 'flags': the file ends before byte 5 of it");
        }
    }

    /** The format's own checksum tells what the disk has changed. */
    @Test
    void arrayWithAnotherChecksumIsRefused() throws IOException {
        byte[] bytes = Files.readAllBytes(Path.of("src/test/resources/io/gds4j/loader/libraries/arrays.npz"));
        file = Files.write(folder.resolve("a.npz"), bytes);
        Checkpoint checkpoint = Checkpoint.open(file);
        TensorInfo damaged = checkpoint.tensors().values().stream().filter(tensor -> tensor.length() > 0).findFirst()
                .orElseThrow();
        try (LoadedTensors tensors = checkpoint.plan().load(driver)) {
            assertThat(CheckpointVerifier.verify(tensors).verified()).isTrue();
        }
        bytes[(int) damaged.fileEnd() - 1] ^= 1;
        Files.write(file, bytes);
        try (LoadedTensors tensors = Checkpoint.open(file).plan().load(driver)) {
            assertThatThrownBy(() -> CheckpointVerifier.verify(tensors)).isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("CRC-32").hasMessageContaining("'" + damaged.name());
        }
        try (LoadedTensors others = Checkpoint.open(file).plan()
                .select(tensor -> !tensor.name().equals(damaged.name())).load(driver)) {
            assertThat(CheckpointVerifier.verify(others).verified()).isTrue();
        }
    }

    @Test
    void deletedFileIsNamed() throws IOException {
        try (LoadedTensors tensors = load(MemoryKind.HOST)) {
            Files.delete(file);
            assertThatThrownBy(() -> CheckpointVerifier.verify(tensors))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("m.safetensors: no such file or folder");
        }
    }

    @Test
    void interruptEndsDigestAndVerification() {
        try (LoadedTensors tensors = load(MemoryKind.HOST)) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> CheckpointVerifier.verify(tensors)).isInstanceOf(CuFileInterruptedException.class);
            assertThatThrownBy(() -> TensorDigest.sha256(tensors)).isInstanceOf(CuFileInterruptedException.class);
            assertThatThrownBy(() -> TensorDigest.sha256(tensors, "big"))
                    .isInstanceOf(CuFileInterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();
        }
    }
}
