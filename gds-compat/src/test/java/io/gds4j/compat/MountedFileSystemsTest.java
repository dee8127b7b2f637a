package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.memory.MemoryKind;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.random.Campaign;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Random operations and edge cases on file systems that the test mounts. */
@Tag("slow")
@Tag("mounts")
class MountedFileSystemsTest {
    private static final int PAGE = Rig.PAGE;
    private static final int XFS_MB = 320;
    private static final int BTRFS_MB = 256;
    private static final int SMALL_MB = 8;
    private static final OpenOption[] READ_WRITE = {StandardOpenOption.READ, StandardOpenOption.WRITE};
    private static final OpenOption[] READ_WRITE_DIRECT = {
            StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT
    };

    private static void runRandomly(String name, Path directory) {
        try (FakeGpu gpu = new FakeGpu()) {
            Campaign.Outcome outcome = new Campaign(name, gpu::backend, List.of(directory), FakeGpu.KINDS)
                    .gpu(gpu.program())
                    .run(PropertyTime.share());
            assertThat(outcome.operations()).isGreaterThan(100);
        }
    }

    @Test
    void bytesOnXfsEqualAnIndependentCopy() {
        try (Mount xfs = Mount.loop("xfs", XFS_MB)) {
            runRandomly("xfs", xfs.point());
        }
    }

    @Test
    void bytesOnBtrfsEqualAnIndependentCopy() {
        try (Mount btrfs = Mount.loop("btrfs", BTRFS_MB)) {
            runRandomly("btrfs", btrfs.point());
        }
    }

    @Test
    void bytesOnAnOverlayEqualAnIndependentCopy() {
        try (Mount overlay = Mount.overlay()) {
            runRandomly("overlay", overlay.point());
        }
    }

    @Test
    void fileOfAnOverlaysLowerLayerIsReadAndCopiedUpWhenWritten() throws IOException {
        try (Mount overlay = Mount.overlay();
                Rig rig = Rig.onHost()) {
            GuardedFile below = GuardedFile.create(overlay.lower().resolve("file"), 300_000, 1);
            Path path = overlay.point().resolve("file");
            byte[] content = below.expected(0, 300_000);
            GuardedMemory memory = rig.host(300_000);
            try (CuFileHandle handle = rig.driver().openFile(path, READ_WRITE_DIRECT)) {
                assertThat(handle.read(memory.range(), 0)).isEqualTo(300_000);
                memory.expect(0, content);
                memory.verify();
                handle.write(memory.range(), 100_000, 5_000, 0);
            }
            System.arraycopy(memory.expected(0, 100_000), 0, content, 5_000, 100_000);
            assertThat(Files.readAllBytes(path)).isEqualTo(content);
            below.verify();
        }
    }

    /** Writes a request that does not fit the disk, in one piece and in many, on every path. */
    @ParameterizedTest
    @CsvSource({
            "HOST, true, 0", "HOST, true, 77", "HOST, false, 0", "HOST, false, 77", "CUDA_DEVICE, true, 0",
            "CUDA_DEVICE, true, 77", "CUDA_DEVICE, false, 5000"
    })
    void fullDiskIsEnospcAndTheCountIsHonest(MemoryKind kind, boolean direct, int offset) throws IOException {
        int size = 2 * SMALL_MB << 20;
        for (boolean workers : new boolean[]{false, true}) {
            try (Mount ext4 = Mount.loop("ext4", SMALL_MB);
                    Rig rig = workers ? Rig.onGpuWithWorkers() : Rig.onGpu()) {
                GuardedFile neighbour = GuardedFile.create(ext4.point().resolve("neighbour"), 100_000, 5);
                GuardedFile file = GuardedFile.create(ext4.point().resolve("file"), 50_000, 6);
                GuardedMemory memory = rig.memory(kind, size);
                try (CuFileHandle handle =
                        rig.driver().openFile(file.path(), direct ? READ_WRITE_DIRECT : READ_WRITE)) {
                    CuFileException failure = Failures.expect(
                            CuFileError.IO_ERROR,
                            Errno.ENOSPC,
                            () -> handle.write(memory.range(), size, offset, 0));
                    int count = (int) failure.bytesTransferred();
                    // Later pieces that run in parallel may take the last block before an earlier one.
                    assertThat(count).isBetween(workers ? 0 : 1 << 20, SMALL_MB << 20);
                    file.expectWrite(offset, memory.expected(0, count));
                    file.accept(offset + count, size - count);
                    file.verify();
                    neighbour.verify();
                    memory.verify();
                    assertThat(failure.fileOffset()).hasValue(offset);
                    assertThat(failure.size()).hasValue(size);

                    handle.truncate(1000);
                    file.expectSize(1000);
                    assertThat(handle.write(memory.range(), 100_000, 500, 0)).isEqualTo(100_000);
                    file.expectWrite(500, memory.expected(0, 100_000));
                    file.verify();
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void offsetBeyondTheLargestFileIsEfbig(boolean direct) {
        try (Mount ext4 = Mount.loop("ext4", SMALL_MB);
                Rig rig = Rig.onHost()) {
            GuardedFile file = GuardedFile.create(ext4.point().resolve("file"), 100, 6);
            GuardedMemory memory = rig.host(2 * PAGE);
            try (CuFileHandle handle = rig.driver().openFile(file.path(), direct ? READ_WRITE_DIRECT : READ_WRITE)) {
                for (long offset : new long[]{1L << 50, (1L << 50) + 1, Long.MAX_VALUE - 2 * PAGE}) {
                    CuFileException failure = Failures.expect(
                            CuFileError.IO_ERROR, Errno.EFBIG, () -> handle.write(memory.range(), offset));
                    assertThat(failure.bytesTransferred()).isZero();
                    assertThat(handle.read(memory.range(), offset)).isZero();
                }
            }
            file.verify();
        }
    }

    @Test
    void readOnlyMountIsErofsAtOpeningAndServesReads() {
        try (Mount ext4 = Mount.loop("ext4", SMALL_MB);
                Rig rig = Rig.onHost()) {
            GuardedFile file = GuardedFile.create(ext4.point().resolve("file"), 100_000, 6);
            ext4.tool(List.of("mount", "-o", "remount,ro", ext4.point().toString()));
            Failures.expect(
                    CuFileError.PERMISSION_DENIED,
                    Errno.EROFS,
                    () -> rig.driver().openFile(file.path(), READ_WRITE));
            GuardedMemory memory = rig.host(200_000);
            try (CuFileHandle handle = rig.driver().openFile(file.path(), CuFileOpenOption.DIRECT)) {
                assertThat(handle.read(memory.range(), 0)).isEqualTo(100_000);
            }
            memory.expect(0, file.expected(0, 100_000));
            memory.verify();
        }
    }

    @Test
    void directRequestsOfABlockDeviceGoPastThePageCache() throws IOException {
        int size = 1 << 20;
        try (Mount block = Mount.blockDevice(1); Rig rig = Rig.onHost()) {
            GuardedFile device = GuardedFile.create(block.device(), size, 9);
            GuardedMemory memory = rig.host(size);
            try (CuFileHandle handle = rig.driver().openFile(block.device(), READ_WRITE_DIRECT)) {
                assertThat(handle.ioPath().path()).isEqualTo(IoPath.COMPAT_DIRECT);
                assertThat(handle.read(memory.range(), 0)).isEqualTo(size);
                memory.expect(0, device.expected(0, size));
                memory.verify();
                handle.write(memory.range(), size, 0, 0);
            }
            assertThat(rig.driver().bytesByPath()).containsOnlyKeys(IoPath.COMPAT_DIRECT);
        }
    }

    @Test
    void fileSystemIsUnmountedOnceItsHandlesAreClosed() {
        try (Mount ext4 = Mount.loop("ext4", SMALL_MB); Rig rig = Rig.onHost()) {
            GuardedFile file = GuardedFile.create(ext4.point().resolve("file"), 100_000, 6);
            rig.open(file).close();
            assertThatCode(() -> ext4.tool(List.of("umount", ext4.point().toString()))).doesNotThrowAnyException();
            assertThat(ext4.point()).isEmptyDirectory();
        }
    }

    @Test
    void spaceOfADeletedFileIsFreeOnceItsHandleIsClosed() throws IOException {
        int size = 4 << 20;
        try (Mount ext4 = Mount.loop("ext4", SMALL_MB); Rig rig = Rig.onHost()) {
            GuardedMemory memory = rig.host(size);
            for (int i = 0; i < 5; i++) {
                Path path = ext4.point().resolve("checkpoint" + i);
                try (CuFileHandle handle = rig.driver().openFile(
                        path, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW, CuFileOpenOption.DIRECT)) {
                    assertThat(handle.write(memory.range(), size, 0, 0)).isEqualTo(size);
                }
                Files.delete(path);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void blockDeviceIsReadAndWrittenAndDoesNotGrow(boolean direct) {
        int size = 4 << 20;
        try (Mount block = Mount.blockDevice(4);
                Rig rig = Rig.onHost()) {
            GuardedFile device = GuardedFile.create(block.device(), size, 9);
            GuardedMemory memory = rig.host(size + 2 * PAGE);
            try (CuFileHandle handle = rig.driver().openFile(block.device(), direct ? READ_WRITE_DIRECT : READ_WRITE)) {
                assertThat(handle.size()).isEqualTo(size);
                assertThat(handle.read(memory.range(), 0)).isEqualTo(size);
                memory.expect(0, device.expected(0, size));
                memory.verify();
                assertThat(handle.read(memory.range(), 100, size - 10, 0)).isEqualTo(10);
                memory.expect(0, device.expected(size - 10, 10));
                assertThat(handle.read(memory.range(), 100, size, 0)).isZero();
                assertThat(handle.read(memory.range(), 100, size + 5L, 0)).isZero();
                memory.verify();

                assertThat(handle.write(memory.range(), 100_000, 12_345, 57)).isEqualTo(100_000);
                device.expectWrite(12_345, memory.expected(57, 100_000));
                device.verify();

                CuFileException failure = Failures.expect(
                        CuFileError.IO_ERROR,
                        Errno.ENOSPC,
                        () -> handle.write(memory.range(), 3 * PAGE, size - 2 * PAGE, 0));
                assertThat(failure.bytesTransferred()).isEqualTo(2 * PAGE);
                device.expectWrite(size - 2 * PAGE, memory.expected(0, 2 * PAGE));
                Failures.expect(
                        CuFileError.IO_ERROR, Errno.ENOSPC, () -> handle.write(memory.range(), PAGE, size, 0));
                device.verify();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"btrfs", "xfs", "overlay"})
    void fileLockSurvivesHundredsOfOtherFilesWhateverTheDeviceNumber(String type) throws IOException {
        try (Mount mount = type.equals("overlay")
                ? Mount.overlay()
                : Mount.loop(type, type.equals("xfs") ? XFS_MB : BTRFS_MB);
                Rig rig = Rig.onHost()) {
            Path locked = Files.write(mount.point().resolve("locked"), new byte[100]);
            try (FileChannel channel = FileChannel.open(locked, StandardOpenOption.WRITE);
                    FileLock lock = channel.lock()) {
                rig.driver().openFile(locked, READ_WRITE).close();
                for (int i = 0; i < 600; i++) {
                    Path other = Files.write(mount.point().resolve("other" + i), new byte[1]);
                    rig.driver().openFile(other, READ_WRITE).close();
                }
                assertThat(lock.isValid()).isTrue();
                assertThat(PosixLocks.isLocked(locked)).isTrue();
            }
        }
    }
}
