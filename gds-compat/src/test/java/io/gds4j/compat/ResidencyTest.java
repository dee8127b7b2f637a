package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixFault;
import io.gds4j.ffi.posix.PosixRequest;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.nio.file.OpenOption;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What of a file is in the page cache is read from there, also by a handle open for direct I/O, and the rest from the disk. */
class ResidencyTest {
    private static final int SIZE = 64 * Rig.PIECE;

    private static Rig rig() {
        return Rig.onHost(builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, false));
    }

    /** Writes a range back and drops it from the page cache; the whole file for length 0. */
    private static void evict(GuardedFile file, long offset, long length) {
        Posix posix = FfmPosix.instance();
        int fd = posix.open(file.path().toString(), PosixConstants.O_RDWR, 0);
        try {
            assertThat(posix.fsync(fd)).isZero();
            assertThat(posix.fadvise(fd, offset, length, PosixConstants.POSIX_FADV_DONTNEED)).isZero();
            long cached = posix.cachedPages(fd, offset, length == 0 ? file.size() : length);
            assumeTrue(cached == 0, "pages stay in the cache here, or nobody tells: " + cached);
        } finally {
            posix.close(fd);
        }
    }

    private static void readWhole(Rig rig, GuardedFile file) {
        GuardedMemory memory = rig.host(SIZE);
        try (CuFileHandle handle = rig.open(file)) {
            assertThat(handle.read(memory.range(), 0)).isEqualTo(SIZE);
        }
        memory.expect(0, file.expected(0, SIZE));
        memory.verify();
    }

    private static long bytes(Rig rig, boolean direct) {
        return rig.reads(direct).stream().mapToLong(PosixRequest::count).sum();
    }

    @Test
    void whatHasJustBeenWrittenIsReadFromTheCache() {
        try (Rig rig = rig()) {
            readWhole(rig, rig.file(SIZE));
            assertThat(bytes(rig, true)).isZero();
            assertThat(rig.driver().bytesByPath()).containsEntry(IoPath.COMPAT_CACHED, (long) SIZE);
        }
    }

    @Test
    void aLongRequestAsksOnceForAllOfIt() {
        try (Rig rig = rig()) {
            readWhole(rig, rig.file(SIZE));
            assertThat(rig.posix().calls(PosixCall.CACHED_PAGES)).isEqualTo(1);
        }
    }

    @Test
    void whatIsNotThereIsReadFromTheDiskAndStaysOut() {
        try (Rig rig = rig()) {
            GuardedFile file = rig.file(SIZE);
            evict(file, 0, 0);
            readWhole(rig, file);
            assertThat(bytes(rig, false)).isZero();
            assertThat(rig.driver().bytesByPath()).containsEntry(IoPath.COMPAT_DIRECT, (long) SIZE);
            rig.posix().forgetIo();
            readWhole(rig, file);
            assertThat(bytes(rig, true)).as("direct again: reading has not filled the cache").isEqualTo(SIZE);
        }
    }

    @Test
    void halfAFileInTheCacheIsHalfReadFromThere() {
        try (Rig rig = rig()) {
            GuardedFile file = rig.file(SIZE);
            evict(file, SIZE / 2, SIZE / 2);
            readWhole(rig, file);
            assertThat(bytes(rig, true)).isEqualTo(SIZE / 2);
            assertThat(bytes(rig, false)).isEqualTo(SIZE / 2);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EPERM, Errno.ENOSYS, Errno.EOPNOTSUPP})
    void whereTheKernelDoesNotTellItIsAskedOnceAndReadsThatMustNotWaitFindOut(int errno) {
        try (Rig rig = rig()) {
            GuardedFile file = rig.file(SIZE);
            PosixFault refused = rig.posix().on(PosixCall.CACHED_PAGES).always().fails(errno);
            readWhole(rig, file);
            readWhole(rig, file);
            assertThat(refused.hits()).isEqualTo(1);
            assertThat(bytes(rig, true)).isZero();
            assertThat(rig.driver().bytesByPath()).containsEntry(IoPath.COMPAT_CACHED, 2L * SIZE);
        }
    }

    /** Neither owner nor allowed to write: the kernel tells such a user nothing, and the bytes come from memory all the same. */
    @Test
    void anotherUsersHotFileIsReadFromTheCache() throws Exception {
        try (Rig rig = rig()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.host(SIZE);
            try (CuFileHandle handle = rig.driver().openFile(
                    file.path(), StandardOpenOption.READ, CuFileOpenOption.DIRECT)) {
                // The descriptors are open before the thread loses its rights.
                assertThat(handle.read(memory.range(), Rig.PAGE, 0, 0)).isEqualTo(Rig.PAGE);
                AtomicLong moved = new AtomicLong();
                AsAnotherUser.run(() -> moved.set(handle.read(memory.range(), 0)));
                assertThat(moved).hasValue(SIZE);
            }
            memory.expect(0, file.expected(0, SIZE));
            memory.verify();
            assertThat(rig.driver().bytesByPath()).containsOnlyKeys(IoPath.COMPAT_CACHED);
            assertThat(rig.posix().calls(PosixCall.PREADV2)).as("reads that must not wait").isPositive();
        }
    }

    @Test
    void afterAMissTheNextBytesAreTakenFromTheDiskWithoutAsking() {
        try (Rig rig = rig()) {
            GuardedFile file = rig.file(SIZE);
            evict(file, 0, 0);
            rig.posix().on(PosixCall.CACHED_PAGES).always().fails(Errno.EPERM);
            readWhole(rig, file);
            assertThat(rig.posix().calls(PosixCall.PREADV2)).isEqualTo(1);
            assertThat(bytes(rig, true)).isEqualTo(SIZE);
        }
    }

    @Test
    void whereNoReadCanDoWithoutWaitingTheDiskServes() {
        try (Rig rig = rig()) {
            rig.posix().on(PosixCall.CACHED_PAGES).always().fails(Errno.EPERM);
            rig.posix().on(PosixCall.PREADV2).always().fails(Errno.EOPNOTSUPP);
            readWhole(rig, rig.file(SIZE));
            assertThat(rig.posix().calls(PosixCall.PREADV2)).isEqualTo(1);
            assertThat(bytes(rig, true)).isEqualTo(SIZE);
        }
    }

    private static long cachedBytes(GuardedFile file) {
        Posix posix = FfmPosix.instance();
        int fd = posix.open(file.path().toString(), PosixConstants.O_RDWR, 0);
        try {
            return posix.cachedPages(fd, 0, file.size()) * Rig.PAGE;
        } finally {
            posix.close(fd);
        }
    }

    private static void readWithHint(Rig rig, GuardedFile file, OpenOption... options) {
        GuardedMemory memory = rig.host(SIZE);
        try (CuFileHandle handle = rig.driver().openFile(file.path(), options)) {
            assertThat(handle.read(memory.range(), 0)).isEqualTo(SIZE);
        }
        memory.expect(0, file.expected(0, SIZE));
        memory.verify();
    }

    @Test
    void withTheHintWhatIsReadDoesNotFillTheCacheAndWhatIsThereStays() {
        try (Rig rig = rig()) {
            GuardedFile file = rig.file(SIZE);
            evict(file, SIZE / 2, SIZE / 2);
            readWithHint(rig, file, CuFileOpenOption.DROP);
            assertThat(bytes(rig, true)).isEqualTo(SIZE / 2);
            assertThat(cachedBytes(file)).isEqualTo(SIZE / 2);
            readWithHint(rig, file, StandardOpenOption.READ);
            assertThat(bytes(rig, true)).as("without the hint it stays").isEqualTo(SIZE / 2);
            assertThat(cachedBytes(file)).isEqualTo(SIZE);
        }
    }

    @Test
    void withTheHintAndWithoutDirectReadsOnlyWhatWasInTheCacheStaysThere() {
        try (Rig rig = withoutDirect()) {
            GuardedFile file = rig.file(SIZE);
            evict(file, SIZE / 2, SIZE / 2);
            readWithHint(rig, file, CuFileOpenOption.DROP);
            assumeTrue(rig.posix().calls(PosixCall.PREADV2) > 1, "this file system keeps what it reads");
            assertThat(cachedBytes(file)).isEqualTo(SIZE / 2);
        }
    }

    @Test
    void whereNoReadCanLeaveTheCacheAloneAColdFileIsDroppedAndAWarmOneIsLeftAlone() {
        try (Rig rig = withoutDirect()) {
            GuardedFile file = rig.file(SIZE);
            rig.posix().on(PosixCall.PREADV2).always().fails(Errno.EOPNOTSUPP);
            evict(file, 0, 0);
            readWithHint(rig, file, CuFileOpenOption.DROP);
            assertThat(cachedBytes(file)).isZero();
            readWithHint(rig, file, StandardOpenOption.READ);
            evict(file, 0, SIZE / 2);
            readWithHint(rig, file, CuFileOpenOption.DROP);
            assertThat(cachedBytes(file)).isGreaterThanOrEqualTo(SIZE / 2);
        }
    }

    private static Rig withoutDirect() {
        Posix posix = PosixOverlay.of((call, arguments, kernel) -> call.getName().equals("open")
                && (((Integer) arguments[1]) & PosixConstants.O_DIRECT) != 0 ? (Object) (-Errno.EINVAL)
                        : kernel.call());
        return Rig.over(posix, builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, false));
    }

    @Test
    void policyDirectReadsTheDiskWhateverTheCacheHolds() {
        try (Rig rig = withPolicy("direct")) {
            GuardedFile file = rig.file(SIZE);
            readWithHint(rig, file, StandardOpenOption.READ);
            assertThat(bytes(rig, true)).isEqualTo(SIZE);
            assertThat(rig.posix().calls(PosixCall.CACHED_PAGES)).isZero();
        }
    }

    @Test
    void policyBufferedReadsThroughTheCacheEvenWhatIsOpenForDirectRequests() {
        try (Rig rig = withPolicy("buffered")) {
            GuardedFile file = rig.file(SIZE);
            evict(file, 0, 0);
            readWhole(rig, file);
            assertThat(bytes(rig, true)).isZero();
            assertThat(cachedBytes(file)).isEqualTo(SIZE);
        }
    }

    private static Rig withPolicy(String policy) {
        return Rig.onHost(builder -> builder
                .set(CuFileKeys.FORCE_ODIRECT_MODE, false)
                .set(CuFileKeys.IO_POLICY, policy));
    }

    @Test
    void cacheOfANetworkFileSystemIsNotTrusted() {
        try (Rig rig = Rig.over(onNetwork(), builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, false))) {
            readWhole(rig, rig.file(SIZE));
            assertThat(bytes(rig, true)).isEqualTo(SIZE);
            assertThat(rig.posix().calls(PosixCall.CACHED_PAGES)).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 4095, 4096})
    void writesOnANetworkFileSystemNeverMixBothWays(int offset) {
        try (Rig rig = Rig.over(onNetwork())) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.host(SIZE + Rig.PAGE);
            try (CuFileHandle handle = rig.open(file)) {
                for (int size : new int[]{8192, 8191, 100_000}) {
                    rig.posix().forgetIo();
                    assertThat(handle.write(memory.range(), size, offset, offset % Rig.PAGE)).isEqualTo(size);
                    file.expectWrite(offset, memory.expected(offset % Rig.PAGE, size));
                    boolean aligned = offset % Rig.PAGE == 0 && size % Rig.PAGE == 0;
                    assertThat(rig.writes(!aligned)).as("%d at %d", size, offset).isEmpty();
                    assertThat(rig.writes(aligned)).isNotEmpty();
                }
            }
            file.verify();
        }
    }

    private static Posix onNetwork() {
        return PosixOverlay.of((call, arguments, kernel) -> call.getName().equals("fileSystemMagic")
                ? (Object) PosixConstants.NFS_MAGIC : kernel.call());
    }
}
