package io.gds4j.ffi.posix;

import static io.gds4j.ffi.posix.PosixConstants.F_DUPFD_CLOEXEC;
import static io.gds4j.ffi.posix.PosixConstants.F_GETFD;
import static io.gds4j.ffi.posix.PosixConstants.F_GETFL;
import static io.gds4j.ffi.posix.PosixConstants.MADV_DONTNEED;
import static io.gds4j.ffi.posix.PosixConstants.MAP_ANONYMOUS;
import static io.gds4j.ffi.posix.PosixConstants.MAP_NORESERVE;
import static io.gds4j.ffi.posix.PosixConstants.MAP_PRIVATE;
import static io.gds4j.ffi.posix.PosixConstants.MAP_SHARED;
import static io.gds4j.ffi.posix.PosixConstants.O_ACCMODE;
import static io.gds4j.ffi.posix.PosixConstants.O_CREAT;
import static io.gds4j.ffi.posix.PosixConstants.O_EXCL;
import static io.gds4j.ffi.posix.PosixConstants.O_RDONLY;
import static io.gds4j.ffi.posix.PosixConstants.O_RDWR;
import static io.gds4j.ffi.posix.PosixConstants.O_WRONLY;
import static io.gds4j.ffi.posix.PosixConstants.POSIX_FADV_DONTNEED;
import static io.gds4j.ffi.posix.PosixConstants.POSIX_FADV_NORMAL;
import static io.gds4j.ffi.posix.PosixConstants.PROT_READ;
import static io.gds4j.ffi.posix.PosixConstants.PROT_WRITE;
import static io.gds4j.ffi.posix.PosixConstants.TMPFS_MAGIC;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.error.Errno;
import io.gds4j.ffi.CallState;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.BitSet;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Makes each system call on real files, once with success and once with failure. */
class FfmPosixTest {
    private static final byte[] TEXT = "bytes of a file".getBytes(StandardCharsets.UTF_8);

    private final Posix posix = FfmPosix.instance();

    @TempDir
    Path folder;

    private Path file() throws IOException {
        return Files.write(folder.resolve("file"), TEXT);
    }

    private int opened(Path path, int flags) {
        int fd = posix.open(path.toString(), flags, 0600);
        assertThat(fd).isPositive();
        return fd;
    }

    private static MemorySegment copied(Arena arena, byte[] bytes) {
        return arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
    }

    private static byte[] bytes(MemorySegment segment, long length) {
        return segment.asSlice(0, length).toArray(ValueLayout.JAVA_BYTE);
    }

    @Test
    void openCreatesAFileThatChildrenDoNotInherit() throws IOException {
        Path path = folder.resolve("made");
        int fd = opened(path, O_RDWR | O_CREAT | O_EXCL);
        assertThat(posix.statx(fd).mode() & 0777).isEqualTo(0600);
        assertThat(posix.fcntl(fd, F_GETFD, 0)).isEqualTo(1);
        assertThat(posix.fcntl(fd, F_GETFL, 0) & O_ACCMODE).isEqualTo(O_RDWR);
        assertThat(posix.close(fd)).isZero();
        assertThat(posix.close(fd)).isEqualTo(-Errno.EBADF);
    }

    @Test
    void openAnswersTheErrnoOfItsFailure() throws IOException {
        assertThat(posix.open(folder.resolve("none").toString(), O_RDONLY, 0)).isEqualTo(-Errno.ENOENT);
        assertThat(posix.open(file().toString(), O_RDWR | O_CREAT | O_EXCL, 0600)).isEqualTo(-Errno.EEXIST);
        assertThat(posix.open(folder.toString(), O_WRONLY, 0)).isEqualTo(-Errno.EISDIR);
        assertThat(posix.open(file() + "/below", O_RDONLY, 0)).isEqualTo(-Errno.ENOTDIR);
        assertThat(posix.open("/" + "x".repeat(5000), O_RDONLY, 0)).isEqualTo(-Errno.ENAMETOOLONG);
    }

    @Test
    void namesWithANulAreRefused() throws IOException {
        String cutShort = file() + "\0.safetensors";
        assertThat(posix.open(cutShort, O_RDONLY, 0)).isEqualTo(-Errno.EINVAL);
        assertThat(posix.statx(cutShort).error()).isEqualTo(-Errno.EINVAL);
        assertThat(posix.memfdCreate("a\0b", 0)).isEqualTo(-Errno.EINVAL);
        assertThat(posix.setenv("GDS4J_A\0B", "1", true)).isEqualTo(-Errno.EINVAL);
        assertThat(posix.setenv("GDS4J_A", "1\0002", true)).isEqualTo(-Errno.EINVAL);
    }

    @Test
    void namesBeyondAsciiMeanTheSameFileAsInJava() throws IOException {
        assumeTrue(System.getProperty("sun.jnu.encoding").equals("UTF-8"), "file names are not UTF-8 here");
        Path path = Files.write(folder.resolve("Gewichte-ü-重み"), TEXT);
        assertThat(posix.statx(path.toString()).size()).isEqualTo(TEXT.length);
    }

    @Test
    void preadFillsARawAddressAndAnswersZeroAtTheEnd() throws IOException {
        int fd = opened(file(), O_RDONLY);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(64);
            assertThat(posix.pread(fd, memory.address(), 64, 6)).isEqualTo(TEXT.length - 6);
            assertThat(bytes(memory, 9)).isEqualTo("of a file".getBytes(StandardCharsets.UTF_8));
            assertThat(posix.pread(fd, memory.address(), 64, TEXT.length)).isZero();
            assertThat(posix.pread(fd, memory.address(), 64, -1)).isEqualTo(-Errno.EINVAL);
            assertThat(posix.pread(fd, 8, 64, 0)).isEqualTo(-Errno.EFAULT);
            assertThat(posix.pread(-1, memory.address(), 64, 0)).isEqualTo(-Errno.EBADF);
        }
        posix.close(fd);
    }

    @Test
    void preadFillsAPartOfASegmentAndNothingElse() throws IOException {
        int fd = opened(file(), O_RDONLY);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(8);
            assertThat(posix.pread(fd, memory, 2, 3, 0)).isEqualTo(3);
            assertThat(bytes(memory, 8)).isEqualTo(new byte[]{0, 0, 'b', 'y', 't', 0, 0, 0});
            assertThat(posix.pread(fd, memory, 0, 8, 0)).isEqualTo(8);
        }
        posix.close(fd);
    }

    @Test
    void unsuitableSegmentsNeverReachTheKernel() throws IOException {
        int fd = opened(file(), O_RDONLY);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(8);
            assertThatThrownBy(() -> posix.pread(fd, memory, 6, 3, 0)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> posix.pread(fd, memory, 0, 9, 0)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> posix.pread(fd, memory, -1, 1, 0)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> posix.pwrite(fd, memory, 6, 3, 0)).isInstanceOf(IndexOutOfBoundsException.class);
            assertThatThrownBy(() -> posix.pread(fd, memory.asReadOnly(), 0, 8, 0))
                    .isInstanceOf(UnsupportedOperationException.class);
            assertThatThrownBy(() -> posix.pread(fd, MemorySegment.ofArray(new byte[8]), 0, 8, 0))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThat(bytes(memory, 8)).containsOnly(0);
        }
        posix.close(fd);
    }

    @Test
    void closedArenaThrows() throws IOException {
        int fd = opened(file(), O_RDONLY);
        Arena arena = Arena.ofShared();
        MemorySegment memory = arena.allocate(8);
        arena.close();
        assertThatThrownBy(() -> posix.pread(fd, memory, 0, 8, 0)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> posix.pwrite(fd, memory, 0, 8, 0)).isInstanceOf(IllegalStateException.class);
        posix.close(fd);
    }

    @Test
    void pwriteWritesFromRawAddressesAndFromReadOnlySegments() throws IOException {
        Path path = folder.resolve("written");
        int fd = opened(path, O_RDWR | O_CREAT);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = copied(arena, TEXT);
            assertThat(posix.pwrite(fd, memory.address(), 5, 3)).isEqualTo(5);
            assertThat(posix.pwrite(fd, memory.asReadOnly(), 6, 2, 8)).isEqualTo(2);
            assertThat(Files.readAllBytes(path)).isEqualTo("\0\0\0bytesof".getBytes(StandardCharsets.UTF_8));
            assertThat(posix.pwrite(fd, memory.address(), 5, -1)).isEqualTo(-Errno.EINVAL);
        }
        posix.close(fd);
        int readOnly = opened(path, O_RDONLY);
        try (Arena arena = Arena.ofConfined()) {
            assertThat(posix.pwrite(readOnly, arena.allocate(8).address(), 8, 0)).isEqualTo(-Errno.EBADF);
        }
        posix.close(readOnly);
    }

    @Test
    void preadv2ReadsWithFlags() throws IOException {
        int fd = opened(file(), O_RDONLY);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(64);
            assertThat(posix.preadv2(fd, memory.address(), 64, 6, 0)).isEqualTo(9);
            assertThat(bytes(memory, 4)).isEqualTo("of a".getBytes(StandardCharsets.UTF_8));
            assertThat(posix.preadv2(fd, memory.address(), 64, 0, 0x40000000)).isEqualTo(-Errno.EOPNOTSUPP);
        }
        posix.close(fd);
    }

    @Test
    void writtenPagesAreCachedUntilTheyAreDropped() throws IOException {
        Path path = folder.resolve("cached");
        byte[] content = new byte[10 * 4096 + 1];
        int fd = opened(path, O_RDWR | O_CREAT);
        long[] cached = new long[2];
        // The machine may take pages back at any moment.
        for (int round = 0; round < 1000 && cached[1] != 2; round++) {
            Files.write(path, content);
            cached[0] = posix.cachedPages(fd, 0, 11 * 4096);
            cached[1] = cached[0] == 11 ? posix.cachedPages(fd, 4096, 2 * 4096) : 0;
            assumeTrue(cached[0] != -Errno.ENOSYS, "cachestat(2) is there from Linux 6.5 on");
        }
        assertThat(cached).containsExactly(11, 2);
        assertThat(posix.fdatasync(fd)).isZero();
        assertThat(posix.fadvise(fd, 0, 0, PosixConstants.POSIX_FADV_DONTNEED)).isZero();
        assertThat(posix.cachedPages(fd, 0, 11 * 4096)).isLessThan(11);
        posix.close(fd);
        assertThat(posix.cachedPages(fd, 0, 4096)).isEqualTo(-Errno.EBADF);
    }

    @Test
    void countsAndOffsetsAboveFourGibibytesArePassed() throws IOException {
        long count = 1L << 32; // 0 to a callee that took 32 bits of it
        long far = (5L << 30) + 17;
        Path path = folder.resolve("sparse");
        int fd = opened(path, O_RDWR | O_CREAT);
        assertThat(posix.ftruncate(fd, far + 10)).isZero();
        long memory = posix.mmap(0, count, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assertThat(memory).isPositive();
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment text = copied(arena, TEXT);
            assertThat(posix.pwrite(fd, text.address(), 10, far)).isEqualTo(10);
            assertThat(Files.size(path)).isEqualTo(far + 10);
        }
        assertThat(posix.munmap(memory, count)).isZero();
        memory = posix.mmap(0, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assertThat(memory).isPositive();
        MemorySegment view = MemorySegment.ofAddress(memory).reinterpret(count);
        assertThat(posix.pread(fd, memory, count, far)).isEqualTo(10);
        assertThat(posix.pread(fd, view, 0, count, far + 5)).isEqualTo(5);
        assertThat(posix.preadv2(fd, memory, count, far + 6, 0)).isEqualTo(4);
        assertThat(posix.munmap(memory, count)).isZero();
        posix.close(fd);
    }

    @Test
    void statxAgreesWithTheJdk() throws IOException {
        Path path = file();
        Instant modified = Instant.parse("2001-02-03T04:05:06.789012345Z");
        Files.setLastModifiedTime(path, FileTime.from(modified));
        int fd = opened(path, O_RDONLY);
        Map<String, Object> unix = Files.readAttributes(path, "unix:*");
        for (StatxResult result : new StatxResult[]{posix.statx(fd), posix.statx(path.toString())}) {
            assertThat(result.error()).isZero();
            assertThat(result.isRegularFile()).isTrue();
            assertThat(result.size()).isEqualTo(TEXT.length);
            assertThat(result.mode()).isEqualTo(unix.get("mode"));
            assertThat(result.inode()).isEqualTo(unix.get("ino"));
            assertThat(device(result.deviceMajor(), result.deviceMinor())).isEqualTo(unix.get("dev"));
            assertThat(result.mtimeSeconds()).isEqualTo(modified.getEpochSecond());
            assertThat(result.mtimeNanos()).isEqualTo(modified.getNano());
            assertThat(result.blockSize()).isGreaterThanOrEqualTo(512);
        }
        posix.close(fd);
    }

    /** {@code makedev(3)}: how st_dev holds the two numbers. */
    private static long device(long major, long minor) {
        return (minor & 0xff) | (major & 0xfff) << 8 | (minor & ~0xffL) << 12 | (major & ~0xfffL) << 32;
    }

    /** Checks the last fields, behind stx_dev: both are 0 or powers of two. */
    @Test
    void statxTellsTheAlignmentOfDirectIo() throws IOException {
        int fd = opened(file(), O_RDONLY);
        StatxResult result = posix.statx(fd);
        assumeTrue(
                (result.mask() & StatxResult.MASK_DIRECT_ALIGNMENT) != 0 && result.directOffsetAlignment() > 0,
                "this file system does not tell");
        assertThat(Integer.bitCount(result.directOffsetAlignment())).isEqualTo(1);
        assertThat(Integer.bitCount(result.directMemoryAlignment())).isEqualTo(1);
        assertThat(result.directOffsetAlignment()).isBetween(512, 1 << 20);
        assertThat(result.directMemoryAlignment()).isBetween(1, 1 << 20);
        assertThat(result.directReadOffsetAlignment()).isBetween(0, result.directOffsetAlignment());
        posix.close(fd);
    }

    /** The kernel writes the whole structure, whose spare fields are zero, and not a byte more. */
    @Test
    void structureOfStatxHasTheSizeOfTheKernels() {
        MemorySegment scratch = CallState.current().scratch().fill((byte) 0xEE);
        assertThat(posix.statx("/dev/zero").error()).isZero();
        long written = StatxBuffer.LAYOUT.byteSize();
        assertThat(scratch.get(ValueLayout.JAVA_BYTE, written - 1)).isZero();
        assertThat(scratch.asSlice(written).toArray(ValueLayout.JAVA_BYTE)).containsOnly(0xEE);
    }

    @Test
    void statxTellsDevicesAndDirectoriesApart() {
        StatxResult zero = posix.statx("/dev/zero");
        assertThat(zero.rdevMajor()).isEqualTo(1);
        assertThat(zero.rdevMinor()).isEqualTo(5);
        assertThat(zero.isRegularFile()).isFalse();
        assertThat(zero.isBlockDevice()).isFalse();
        assertThat(posix.statx(folder.toString()).isDirectory()).isTrue();
    }

    @Test
    void statxOfAMissingFileReturnsItsErrno() {
        assertThat(posix.statx(-1)).isEqualTo(StatxResult.failed(-Errno.EBADF));
        assertThat(posix.statx(folder.resolve("none").toString())).isEqualTo(StatxResult.failed(-Errno.ENOENT));
    }

    @Test
    void magicNumberTellsTheFileSystem() throws IOException {
        int fd = posix.memfdCreate("gds4j-test", 0);
        assertThat(posix.fileSystemMagic(fd)).isEqualTo(TMPFS_MAGIC);
        posix.close(fd);
        assertThat(posix.fileSystemMagic(fd)).isEqualTo(-Errno.EBADF);
        int proc = opened(Path.of("/proc/self/status"), O_RDONLY);
        assertThat(posix.fileSystemMagic(proc)).isEqualTo(0x9fa0);
        posix.close(proc);
    }

    @Test
    void fcntlDuplicatesWithAnArgument() throws IOException {
        int fd = opened(file(), O_RDONLY);
        int copy = posix.fcntl(fd, F_DUPFD_CLOEXEC, 200);
        assertThat(copy).isGreaterThanOrEqualTo(200);
        assertThat(posix.statx(copy)).isEqualTo(posix.statx(fd));
        posix.close(copy);
        posix.close(fd);
        assertThat(posix.fcntl(fd, F_GETFD, 0)).isEqualTo(-Errno.EBADF);
    }

    @Test
    void fadviseReturnsANegativeErrno() throws IOException {
        int fd = opened(file(), O_RDONLY);
        assertThat(posix.fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)).isZero();
        assertThat(posix.fadvise(fd, 0, 0, 77)).isEqualTo(-Errno.EINVAL);
        posix.close(fd);
        assertThat(posix.fadvise(fd, 0, 0, POSIX_FADV_NORMAL)).isEqualTo(-Errno.EBADF);
    }

    @Test
    void mappedFilesShowTheirBytes() throws IOException {
        int fd = opened(file(), O_RDONLY);
        long page = posix.pageSize();
        long address = posix.mmap(0, page, PROT_READ, MAP_SHARED, fd, 0);
        assertThat(address % page).isZero();
        assertThat(bytes(MemorySegment.ofAddress(address).reinterpret(page), TEXT.length)).isEqualTo(TEXT);
        assertThat(posix.madvise(address, page, MADV_DONTNEED)).isZero();
        assertThat(posix.madvise(address, page, 9999)).isEqualTo(-Errno.EINVAL);
        assertThat(posix.munmap(address, page)).isZero();
        assertThat(posix.madvise(address, page, MADV_DONTNEED)).isEqualTo(-Errno.ENOMEM);
        assertThat(posix.munmap(1, page)).isEqualTo(-Errno.EINVAL);
        assertThat(posix.mmap(0, page, PROT_READ, MAP_SHARED, fd, 17)).isEqualTo(-Errno.EINVAL);
        posix.close(fd);
    }

    @Test
    void sizesAreSetByTruncatingAndAllocating() throws IOException {
        int fd = posix.memfdCreate("gds4j-test", 0);
        assertThat(posix.fcntl(fd, F_GETFD, 0)).isEqualTo(1);
        assertThat(posix.ftruncate(fd, 5L << 30)).isZero();
        assertThat(posix.statx(fd).size()).isEqualTo(5L << 30);
        assertThat(posix.fallocate(fd, 0, 5L << 30, 4096)).isZero();
        assertThat(posix.statx(fd).size()).isEqualTo((5L << 30) + 4096);
        assertThat(posix.ftruncate(fd, -1)).isEqualTo(-Errno.EINVAL);
        assertThat(posix.fallocate(fd, 0, 0, -1)).isEqualTo(-Errno.EINVAL);
        posix.close(fd);
    }

    @Test
    void syncingAnswersZeroOrItsErrno() throws IOException {
        int fd = opened(file(), O_RDWR);
        assertThat(posix.fsync(fd)).isZero();
        assertThat(posix.fdatasync(fd)).isZero();
        posix.close(fd);
        assertThat(posix.fsync(fd)).isEqualTo(-Errno.EBADF);
        assertThat(posix.fdatasync(fd)).isEqualTo(-Errno.EBADF);
    }

    @Test
    void onlyBlockDevicesHaveABlockDeviceSize() throws IOException {
        int fd = opened(file(), O_RDONLY);
        assertThat(posix.blockDeviceSize(fd)).isEqualTo(-Errno.ENOTTY);
        posix.close(fd);
    }

    @Test
    void sizeOfABlockDeviceIsThatOfSysfs() throws IOException {
        for (Path device : blockDevices()) {
            int fd = posix.open(Path.of("/dev").resolve(device.getFileName()).toString(), O_RDONLY, 0);
            if (fd >= 0) {
                long sectors = Long.parseLong(Files.readString(device.resolve("size")).trim());
                assertThat(posix.blockDeviceSize(fd)).isEqualTo(sectors * 512);
                assertThat(posix.statx(fd).isBlockDevice()).isTrue();
                posix.close(fd);
                return;
            }
        }
        assumeTrue(false, "no block device that this user may open");
    }

    private static Iterable<Path> blockDevices() throws IOException {
        Path all = Path.of("/sys/block");
        if (!Files.isDirectory(all)) {
            return java.util.List.of();
        }
        try (var devices = Files.list(all)) {
            return devices.sorted().toList();
        }
    }

    @Test
    void namesOfFilesChange() throws IOException {
        String made = folder.resolve("made").toString();
        assertThat(posix.mkdir(made, 0700)).isZero();
        assertThat(posix.mkdir(made, 0700)).isEqualTo(-Errno.EEXIST);
        String file = file().toString();
        String linked = made + "/linked";
        assertThat(posix.link(file, linked)).isZero();
        assertThat(posix.statx(linked).inode()).isEqualTo(posix.statx(file).inode());
        assertThat(posix.link(file, linked)).isEqualTo(-Errno.EEXIST);
        assertThat(posix.chmod(linked, 0640)).isZero();
        assertThat(posix.statx(file).mode() & 0777).isEqualTo(0640);
        assertThat(posix.rename(linked, made + "/renamed")).isZero();
        assertThat(posix.rename(linked, made + "/renamed")).isEqualTo(-Errno.ENOENT);
        assertThat(posix.unlink(made + "/renamed")).isZero();
        assertThat(posix.unlink(made)).isEqualTo(-Errno.EISDIR);
        assertThat(posix.rmdir(made)).isZero();
        assertThat(posix.chmod(made + "/none", 0600)).isEqualTo(-Errno.ENOENT);
        assertThat(posix.rename("a\0b", file)).isEqualTo(-Errno.EINVAL);
        assertThat(posix.unlink("a\0b")).isEqualTo(-Errno.EINVAL);
        assertThat(posix.mkdir("a\0b", 0)).isEqualTo(-Errno.EINVAL);
    }

    @Test
    void setenvKeepsAnExistingValueUnlessItOverwrites() {
        assertThat(posix.setenv("GDS4J_POSIX_TEST", "one", true)).isZero();
        assertThat(environment("GDS4J_POSIX_TEST")).isEqualTo("one");
        assertThat(posix.setenv("GDS4J_POSIX_TEST", "two", false)).isZero();
        assertThat(environment("GDS4J_POSIX_TEST")).isEqualTo("one");
        assertThat(posix.setenv("GDS4J_POSIX_TEST", "two", true)).isZero();
        assertThat(environment("GDS4J_POSIX_TEST")).isEqualTo("two");
        assertThat(posix.setenv("", "x", true)).isEqualTo(-Errno.EINVAL);
        assertThat(posix.setenv("A=B", "x", true)).isEqualTo(-Errno.EINVAL);
    }

    /** Reads the C environment, of which System.getenv() has a copy from the start of the JVM. */
    private static String environment(String name) {
        var linker = java.lang.foreign.Linker.nativeLinker();
        try (Arena arena = Arena.ofConfined()) {
            var getenv = linker.downcallHandle(
                    linker.defaultLookup().findOrThrow("getenv"),
                    java.lang.foreign.FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.ADDRESS));
            long value = (long) getenv.invokeExact(arena.allocateFrom(name));
            return MemorySegment.ofAddress(value).reinterpret(64).getString(0);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    @Test
    void eachThreadHasItsOwnTimerSlack() throws InterruptedException {
        int before = posix.timerSlack();
        assertThat(before).isPositive();
        int[] seen = new int[2];
        Thread other = Thread.ofPlatform().start(() -> {
            seen[0] = posix.setTimerSlack(1);
            seen[1] = posix.timerSlack();
        });
        other.join();
        assertThat(seen).containsExactly(0, 1);
        assertThat(posix.timerSlack()).isEqualTo(before);
    }

    @Test
    void eachThreadRunsOnItsOwnProcessors() throws InterruptedException {
        BitSet mine = new BitSet();
        assertThat(posix.affinity(mine)).isZero();
        assertThat(mine.cardinality()).isPositive();
        BitSet last = new BitSet();
        last.set(mine.length() - 1);
        BitSet seen = new BitSet();
        int[] results = new int[2];
        Thread other = Thread.ofPlatform().start(() -> {
            results[0] = posix.setAffinity(last);
            results[1] = posix.affinity(seen);
        });
        other.join();
        assertThat(results).containsExactly(0, 0);
        assertThat(seen).isEqualTo(last);
        BitSet after = new BitSet();
        posix.affinity(after);
        assertThat(after).isEqualTo(mine);
        assertThat(posix.setAffinity(new BitSet())).isEqualTo(-Errno.EINVAL);
        last.set(1 << 20);
        assertThat(posix.setAffinity(last)).isEqualTo(-Errno.EINVAL);
    }

    @Test
    void fileIsNoTerminalAndAPseudoTerminalIs() throws IOException {
        int fd = opened(file(), O_RDONLY);
        assertThat(posix.isatty(fd)).isFalse();
        posix.close(fd);
        assertThat(posix.isatty(fd)).isFalse();
        int terminal = posix.open("/dev/ptmx", O_RDWR, 0);
        assumeTrue(terminal >= 0, "no pseudo-terminals here");
        assertThat(posix.isatty(terminal)).isTrue();
        posix.close(terminal);
    }

    @Test
    void pageSizeIsAPowerOfTwoFrom4KiB() {
        assertThat(posix.pageSize()).isGreaterThanOrEqualTo(4096);
        assertThat(Long.bitCount(posix.pageSize())).isEqualTo(1);
    }
}
