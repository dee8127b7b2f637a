package io.gds4j.loader.save;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.loader.Checkpoint;
import io.gds4j.loader.MemoryFolder;
import io.gds4j.loader.SafetensorsWriter;
import io.gds4j.loader.TensorPattern;
import io.gds4j.loader.format.CheckpointException;
import io.gds4j.loader.format.CheckpointRule;
import io.gds4j.loader.format.DType;
import io.gds4j.loader.format.TensorInfo;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.ForwardingBackend;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.ReferenceBackend;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.SplittableRandom;
import java.util.zip.CRC32C;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Checksums in headers, and their verification. */
@Timeout(60)
class ChecksumTest {
    private static final SaveOptions CHECKED = SaveOptions.DEFAULTS.withChecksums(true);

    @TempDir
    Path folder;

    private final CuFileDriver driver = CuFileDriver.open(CuFileConfig.defaults(), "compat");

    @AfterEach
    void close() {
        driver.close();
    }

    /** One thread writes the heads of all files, or several do. */
    @ParameterizedTest
    @CsvSource({"8, 4", "4096, 4", "8, 1"})
    void savedTensorsAreVerified(long align, int inFlight) {
        try (Tensors tensors = Tensors.small(driver, 1).add("large", DType.U8, 20_000_003)) {
            tensors.plan().options(CHECKED.withAlign(align).withMaxShardBytes(15_000_000).withWritesInFlight(inFlight))
                    .toFolder(folder)
                    .save(driver);
            tensors.check(folder);
        }
        long begin = System.nanoTime();
        ChecksumReport report = ChecksumVerifier.verify(folder);
        assertThat(report.seconds()).isPositive().isLessThanOrEqualTo((System.nanoTime() - begin) / 1e9);
        assertThat(report.verified()).as("%s", report).isTrue();
        assertThat(report.tensors()).isEqualTo(5);
        assertThat(report.bytes()).isEqualTo(Checkpoint.open(folder).bytes());
    }

    @Test
    void verificationReadsPastThePageCache() throws IOException {
        Posix posix = FfmPosix.instance();
        Path file = folder.resolve("model.safetensors");
        try (Tensors tensors = Tensors.small(driver, 1).add("large", DType.U8, 20_000_003)) {
            tensors.plan().options(CHECKED.withDirect(false)).toFolder(folder).save(driver);
        }
        Files.readAllBytes(file);
        int fd = posix.open(file.toString(), PosixConstants.O_RDONLY, 0);
        long size = posix.statx(fd).size();
        assumeTrue(posix.cachedPages(fd, 0, size) * 4096 >= size, "the kernel does not tell what it caches");
        ChecksumReport report = ChecksumVerifier.verify(folder);
        long cached = posix.cachedPages(fd, 0, size);
        boolean inMemory = posix.fileSystemMagic(fd) == PosixConstants.TMPFS_MAGIC;
        posix.close(fd);
        assertThat(report.verified()).as("%s", report).isTrue();
        assertThat(report.ioPaths()).as("%s", report).doesNotContainKey(IoPath.COMPAT_CACHED);
        assumeTrue(!inMemory && report.ioPaths().containsKey(IoPath.COMPAT_DIRECT), "no direct I/O here");
        // opening reads the header, and the last bytes fill no page
        assertThat(cached * 4096).as("bytes that the page cache holds afterwards").isLessThan(size / 20);
        assertThat(report.ioPaths().get(IoPath.COMPAT_DIRECT)).isGreaterThan(size - 8192);
    }

    /** A file in memory has one path with native access, and another one without. */
    @Test
    void filesAreVerifiedByADriverWithNativeAccess(@TempDir(factory = MemoryFolder.class) Path memory)
            throws IOException {
        assumeTrue(Files.getFileStore(memory).type().equals("tmpfs"), "no file system in memory");
        try (Tensors tensors = Tensors.small(driver, 1)) {
            tensors.plan().options(CHECKED).toFolder(memory).save(driver);
        }
        assertThat(ChecksumVerifier.verify(memory).ioPaths()).isNotEmpty().doesNotContainKey(IoPath.COMPAT_BUFFERED);
    }

    /** Verifies, and does something before each read. */
    private ChecksumReport verify(Runnable beforeRead) {
        try (CuFileDriver watched = CuFileDriver.open(new ForwardingBackend(new ReferenceBackend()) {
            @Override
            public long transfer(BatchRequest request) {
                beforeRead.run();
                return super.transfer(request);
            }
        })) {
            return ChecksumVerifier.verify(watched, folder);
        }
    }

    @Test
    void readThatFailsEndsTheVerification() {
        try (Tensors tensors = Tensors.small(driver, 1)) {
            tensors.plan().options(CHECKED).toFolder(folder).save(driver);
        }
        assertThat(verify(() -> {
        }).verified()).isTrue();
        assertThatThrownBy(() -> verify(() -> {
            throw WatchedCalls.refusal(Errno.EIO);
        })).isInstanceOfSatisfying(CuFileException.class, e -> assertThat(e.errno()).hasValue(Errno.EIO));
    }

    @Test
    void fileThatChangesWhileItIsVerifiedIsReported() {
        try (Tensors tensors = Tensors.small(driver, 1)) {
            tensors.plan().options(CHECKED).toFolder(folder).save(driver);
        }
        assertThatThrownBy(() -> verify(() -> {
            try {
                Files.write(folder.resolve("model.safetensors"), new byte[1], StandardOpenOption.APPEND);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        })).isInstanceOfSatisfying(
                CheckpointException.class, e -> assertThat(e.rule()).isEqualTo(CheckpointRule.FILE_CHANGED));
    }

    @Test
    void changedByteIsFoundInItsTensor() throws IOException {
        try (Tensors tensors = Tensors.small(driver, 1)) {
            tensors.plan().options(CHECKED).toFolder(folder).save(driver);
        }
        TensorInfo tensor = Checkpoint.open(folder).tensors().get("norm");
        try (FileChannel channel = FileChannel.open(tensor.file(), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer one = ByteBuffer.allocate(1);
            channel.read(one, tensor.fileEnd() - 1);
            channel.write(ByteBuffer.wrap(new byte[]{(byte) (one.get(0) ^ 1)}), tensor.fileEnd() - 1);
        }
        ChecksumReport report = ChecksumVerifier.verify(driver, folder);
        assertThat(report.different()).containsExactly("norm");
        assertThat(report.verified()).isFalse();
    }

    /** A file may have tensors of other checkpoints, too. */
    @Test
    void tensorsThatAnIndexNamesAreVerified() throws IOException {
        try (Tensors tensors = Tensors.small(driver, 1).add("other", DType.U8, 100)) {
            tensors.plan().options(CHECKED).toFolder(folder).save(driver);
        }
        Path index = folder.resolve("model.safetensors.index.json");
        Files.writeString(index, """
                {"weight_map": {"norm": "model.safetensors", "other": "model.safetensors"}}""");
        TensorInfo tensor = Checkpoint.open(folder).tensors().get("norm");
        ChecksumReport report = ChecksumVerifier.verify(driver, folder);
        assertThat(report.verified()).as("%s", report).isTrue();
        assertThat(report.tensors()).isEqualTo(2);
        try (FileChannel channel = FileChannel.open(tensor.file(), StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(new byte[]{1, 2, 3, 4}), tensor.fileOffset());
        }
        assertThat(ChecksumVerifier.verify(driver, folder).different()).containsExactly("norm");
    }

    @Test
    void fileWithoutChecksumsIsNotVerified() {
        Path file = folder.resolve("a.safetensors");
        new SafetensorsWriter(file).tensor("a", DType.U8, 10).tensor("none", DType.U8, 0).write(new TensorPattern(1));
        ChecksumReport report = ChecksumVerifier.verify(driver, file);
        assertThat(report.unchecked()).containsExactly("a");
        assertThat(report.verified()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0123456", "0123456789", "0123456x"})
    void malformedChecksumsAreRefused(String digits) {
        Path file = folder.resolve("a.safetensors");
        new SafetensorsWriter(file).metadata("gds4j.crc32c", digits).tensor("a", DType.U8, 10)
                .write(new TensorPattern(1));
        assertThatThrownBy(() -> ChecksumVerifier.verify(driver, file))
                .isNotInstanceOf(CheckpointException.class)
                .hasMessageContaining("8 hexadecimal digits for each of 1 tensors");
    }

    @Test
    void joinedChecksumsAreThoseOfTheWhole() {
        long seed = System.nanoTime();
        SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < 200; i++) {
            byte[] bytes = new byte[random.nextInt(1, 100_000)];
            random.nextBytes(bytes);
            int cut = random.nextInt(bytes.length + 1);
            int joined = Crc32c.combine(
                    crc(bytes, 0, cut), crc(bytes, cut, bytes.length - cut), bytes.length - cut);
            assertThat(joined).as("seed %d", seed).isEqualTo(crc(bytes, 0, bytes.length));
        }
    }

    private static int crc(byte[] bytes, int from, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, from, length);
        return (int) crc.getValue();
    }

    @Test
    void checksumNeedsAPageOfMemoryAndAValidRange() throws IOException {
        Path file = Files.write(folder.resolve("bytes"), new byte[10_000]);
        try (CuFileHandle handle = driver.openFile(file);
                MemoryAllocation small = driver.allocator().allocate(MemoryKind.HOST, 4095);
                MemoryAllocation page = driver.allocator().allocate(MemoryKind.HOST, 4096)) {
            assertInvalid(() -> TensorChecksums.of(handle, 0, 10_000, small));
            assertInvalid(() -> TensorChecksums.of(handle, -1, 10, page));
            assertInvalid(() -> TensorChecksums.of(handle, 10, -1, page));
            assertInvalid(() -> TensorChecksums.of(handle, 10, Long.MAX_VALUE, page));
            CRC32C expected = new CRC32C();
            assertThat(TensorChecksums.of(handle, 0, 0, page)).isZero();
            expected.update(new byte[10_000]);
            assertThat(TensorChecksums.of(handle, 0, 10_000, page)).isEqualTo((int) expected.getValue());
            expected.reset();
            expected.update(new byte[9_999]);
            assertThat(TensorChecksums.of(handle, 1, 9_999, page)).isEqualTo((int) expected.getValue());
        }
    }

    private static void assertInvalid(ThrowingCallable call) {
        assertThatThrownBy(call).isInstanceOfSatisfying(
                CuFileException.class, e -> assertThat(e.error()).isEqualTo(CuFileError.INVALID_VALUE));
    }
}
