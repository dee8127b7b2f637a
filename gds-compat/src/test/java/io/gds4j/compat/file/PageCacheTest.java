package io.gds4j.compat.file;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.compat.AsAnotherUser;
import io.gds4j.compat.FakePageCache;
import io.gds4j.compat.PosixOverlay;
import io.gds4j.compat.Rig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.ffi.posix.PosixFault;
import io.gds4j.ffi.posix.PosixRequest;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.nio.file.OpenOption;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Cached bytes of a file are read from the page cache, also through a handle open for direct I/O, the others from the disk. */
class PageCacheTest {
    private static final int SIZE = 64 * Rig.PIECE;
    private static final int ROUNDS = 20;

    private final FakePageCache cache = FakePageCache.ofFirst(SIZE);

    /** A rig whose page cache holds the whole file. */
    private Rig rig() {
        return Rig.over(cache.posix(), builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, false));
    }

    /** A file whose second half is not in the page cache. */
    private GuardedFile halfCached(Rig rig) {
        GuardedFile file = rig.file(SIZE);
        cache.drop(SIZE / 2, SIZE / 2);
        return file;
    }

    private static void readWhole(Rig rig, GuardedFile file) {
        readWhole(rig, file, rig.host(SIZE));
    }

    private static void readWhole(Rig rig, GuardedFile file, GuardedMemory memory) {
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
    void writtenBytesAreReadFromTheCache() {
        try (Rig rig = rig()) {
            readWhole(rig, rig.file(SIZE));
            assertThat(bytes(rig, true)).isZero();
            assertThat(rig.driver().bytesByPath()).containsEntry(IoPath.COMPAT_CACHED, (long) SIZE);
        }
    }

    @Test
    void longRequestAsksTheKernelOnce() {
        try (Rig rig = rig()) {
            readWhole(rig, rig.file(SIZE));
            assertThat(rig.posix().calls(PosixCall.CACHED_PAGES)).isEqualTo(1);
        }
    }

    @Test
    void uncachedBytesAreReadDirectAndStayUncached() {
        try (Rig rig = rig()) {
            GuardedFile file = rig.file(SIZE);
            cache.drop(0, SIZE);
            readWhole(rig, file);
            assertThat(bytes(rig, false)).isZero();
            assertThat(rig.driver().bytesByPath()).containsEntry(IoPath.COMPAT_DIRECT, (long) SIZE);
            rig.posix().forgetIo();
            readWhole(rig, file);
            assertThat(bytes(rig, true)).as("direct again: the read did not fill the cache").isEqualTo(SIZE);
        }
    }

    @Test
    void halfCachedFileIsHalfReadFromTheCache() {
        try (Rig rig = rig()) {
            GuardedFile file = halfCached(rig);
            readWhole(rig, file);
            assertThat(bytes(rig, true)).isEqualTo(SIZE / 2);
            assertThat(bytes(rig, false)).isEqualTo(SIZE / 2);
        }
    }

    /** Repeats until a round in which the kernel neither evicts pages nor reads ahead. */
    @Test
    void pageCacheOfTheKernelIsReadAndNotFilled() {
        Posix posix = FfmPosix.instance();
        try (Rig rig = Rig.onHost(builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, false))) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.host(SIZE);
            int fd = posix.open(file.path().toString(), PosixConstants.O_RDWR, 0);
            boolean asPlanned = false;
            for (int round = 0; round < ROUNDS && !asPlanned; round++) {
                file.verify(); // reads the whole file into the cache
                assertThat(posix.fsync(fd)).isZero();
                posix.fadvise(fd, SIZE / 2, 0, PosixConstants.POSIX_FADV_DONTNEED);
                asPlanned = isHalfCached(posix, fd);
                rig.posix().forgetIo();
                readWhole(rig, file, memory);
                asPlanned &= isHalfCached(posix, fd);
            }
            posix.close(fd);
            assumeTrue(asPlanned, "this machine evicts pages during a read, keeps all of them, or refuses to tell");
            assertThat(bytes(rig, true)).isEqualTo(SIZE / 2);
            assertThat(bytes(rig, false)).isEqualTo(SIZE / 2);
        }
    }

    private static boolean isHalfCached(Posix posix, int fd) {
        long half = SIZE / 2 / Rig.PAGE;
        return posix.cachedPages(fd, 0, SIZE / 2) == half && posix.cachedPages(fd, SIZE / 2, SIZE / 2) == 0;
    }

    @Test
    void handleTellsWhichRangesWaitForTheDisk() {
        try (Rig rig = rig()) {
            try (CuFileHandle handle = rig.open(halfCached(rig))) {
                assertThat(handle.waitsForDisk(0, SIZE / 2)).isFalse();
                assertThat(handle.waitsForDisk(SIZE / 2, Rig.PAGE)).isTrue();
                assertThat(handle.waitsForDisk(SIZE / 2 - 1, 2)).isTrue();
                Failures.expect(CuFileError.INVALID_VALUE, () -> handle.waitsForDisk(-1, 1));
            }
            assertThat(rig.posix().io()).isEmpty();
            rig.posix().on(PosixCall.CACHED_PAGES).always().fails(Errno.ENOSYS);
            try (CuFileHandle handle = rig.open(rig.file(SIZE))) {
                assertThat(handle.waitsForDisk(0, 1)).as("nothing is known").isTrue();
                assertThat(handle.waitsForDisk(0, 1)).as("nothing is known, again").isTrue();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EPERM, Errno.ENOSYS, Errno.EOPNOTSUPP})
    void refusedCachestatIsAskedOnceAndReadsWithoutWaitFindOut(int errno) {
        try (Rig rig = rig()) {
            GuardedFile file = rig.file(SIZE);
            PosixFault refused = rig.posix().on(PosixCall.CACHED_PAGES).always().fails(errno);
            // What is known about an open file is forgotten with its last handle.
            try (CuFileHandle kept = rig.open(file)) {
                readWhole(rig, file);
                readWhole(rig, file);
                assertThat(kept.isOpen()).isTrue();
            }
            assertThat(refused.hits()).isEqualTo(1);
            assertThat(bytes(rig, true)).isZero();
            assertThat(rig.driver().bytesByPath()).containsEntry(IoPath.COMPAT_CACHED, 2L * SIZE);
        }
    }

    /** The kernel refuses cachestat to a user without write access; the bytes still come from the cache. */
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
    void readsAfterAMissGoDirectWithoutAnotherTry() {
        try (Rig rig = rig()) {
            GuardedFile file = rig.file(SIZE);
            cache.drop(0, SIZE);
            rig.posix().on(PosixCall.CACHED_PAGES).always().fails(Errno.EPERM);
            readWhole(rig, file);
            assertThat(rig.posix().calls(PosixCall.PREADV2)).isEqualTo(1);
            assertThat(bytes(rig, true)).isEqualTo(SIZE);
        }
    }

    @Test
    void kernelWithoutReadsThatDoNotWaitIsServedDirect() {
        try (Rig rig = rig()) {
            rig.posix().on(PosixCall.CACHED_PAGES).always().fails(Errno.EPERM);
            rig.posix().on(PosixCall.PREADV2).always().fails(Errno.EOPNOTSUPP);
            readWhole(rig, rig.file(SIZE));
            assertThat(rig.posix().calls(PosixCall.PREADV2)).isEqualTo(1);
            assertThat(bytes(rig, true)).isEqualTo(SIZE);
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
    void coldPiecesOfLongReadsAreFetchedInLargeFolios() {
        try (Rig rig = rig()) {
            GuardedFile file = halfCached(rig);
            readWithHint(rig, file, StandardOpenOption.READ);
            assertThat(cache.wantedBytes()).isEqualTo(SIZE / 2);
            assertThat(rig.posix().calls(PosixCall.FADVISE)).as("it leaves single pages").isZero();
            int mapped = cache.mappings();
            readWithHint(rig, file, StandardOpenOption.READ);
            assertThat(cache.mappings()).as("nothing is cold any more").isEqualTo(mapped);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EINVAL, Errno.ENODEV, Errno.ENOMEM})
    void coldPiecesAreAnnouncedWhereTheFileCannotBeMapped(int errno) {
        try (Rig rig = rig()) {
            GuardedFile file = halfCached(rig);
            GuardedMemory memory = rig.host(SIZE);
            try (CuFileHandle handle = rig.driver().openFile(file.path(), StandardOpenOption.READ)) {
                PosixFault refused = rig.posix().on(PosixCall.MMAP).when(call -> call.fd() >= 0).always().fails(errno);
                assertThat(handle.read(memory.range(), 0)).isEqualTo(SIZE);
                assertThat(refused.hits()).isBetween(1, 8);
                cache.drop(0, SIZE);
                int tries = refused.hits();
                assertThat(handle.read(memory.range(), 0)).isEqualTo(SIZE);
                assertThat(refused.hits()).as("tried once for a file, by each thread").isEqualTo(tries);
                rig.posix().heal();
            }
            memory.expect(0, file.expected(0, SIZE));
            memory.verify();
            assertThat(cache.wantedBytes()).isEqualTo(SIZE);
        }
    }

    @Test
    void coldPiecesAreAnnouncedWhereTheKernelHasNoLargeFolios() {
        try (Rig rig = rig()) {
            GuardedFile file = halfCached(rig);
            rig.posix().on(PosixCall.MADVISE).always().fails(Errno.EINVAL);
            readWithHint(rig, file, StandardOpenOption.READ);
            assertThat(cache.wantedBytes()).isEqualTo(SIZE / 2);
            assertThat(rig.posix().calls(PosixCall.FADVISE)).isPositive();
        }
    }

    @Test
    void shortReadsFetchNoWholeFolios() {
        int bytes = SIZE / 2;
        try (Rig rig = rig()) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.host(bytes);
            cache.drop(0, SIZE);
            try (CuFileHandle handle = rig.driver().openFile(file.path(), StandardOpenOption.READ)) {
                assertThat(handle.read(memory.range(), 0)).isEqualTo(bytes);
            }
            memory.expect(0, file.expected(0, bytes));
            memory.verify();
            assertThat(cache.mappings()).as("they would be more than the read").isZero();
        }
    }

    /** The kernel reads the file that it has just dropped; the mapping reaches past the end of the file. */
    @ParameterizedTest
    @CsvSource({"0, 0", "1, 0", "4095, 1", "0, 4097", "77, 100000"})
    void longColdReadsAcrossTheEndOfTheFile(int less, int from) {
        Posix posix = FfmPosix.instance();
        int size = 2 * SIZE - less;
        int expected = size - from;
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(size);
            int fd = posix.open(file.path().toString(), PosixConstants.O_RDWR, 0);
            assertThat(posix.fsync(fd)).isZero();
            posix.fadvise(fd, 0, 0, PosixConstants.POSIX_FADV_DONTNEED);
            posix.close(fd);
            GuardedMemory memory = rig.host(2 * SIZE);
            try (CuFileHandle handle = rig.driver().openFile(file.path(), StandardOpenOption.READ)) {
                assertThat(handle.read(memory.range(), from)).isEqualTo(expected);
            }
            memory.expect(0, file.expected(from, expected));
            memory.verify();
        }
    }

    @ParameterizedTest
    @EnumSource(CuFileOpenOption.class)
    void directAndDroppedReadsAreNotAnnounced(CuFileOpenOption option) {
        try (Rig rig = rig()) {
            GuardedFile file = rig.file(SIZE);
            cache.drop(0, SIZE);
            readWithHint(rig, file, option);
            assertThat(cache.wantedBytes()).isZero();
        }
    }

    @Test
    void dropHintLeavesTheCacheAsItWas() {
        try (Rig rig = rig()) {
            GuardedFile file = halfCached(rig);
            readWithHint(rig, file, CuFileOpenOption.DROP);
            assertThat(bytes(rig, true)).isEqualTo(SIZE / 2);
            assertThat(cache.bytes()).isEqualTo(SIZE / 2);
            readWithHint(rig, file, StandardOpenOption.READ);
            assertThat(bytes(rig, true)).as("without the hint it stays").isEqualTo(SIZE / 2);
            assertThat(cache.bytes()).isEqualTo(SIZE);
        }
    }

    @Test
    void dropHintWithoutDirectReadsLeavesTheCacheAsItWas() {
        try (Rig rig = withoutDirect()) {
            GuardedFile file = halfCached(rig);
            readWithHint(rig, file, CuFileOpenOption.DROP);
            assertThat(rig.posix().calls(PosixCall.PREADV2)).as("reads that leave nothing there").isPositive();
            assertThat(cache.bytes()).isEqualTo(SIZE / 2);
            assertThat(cache.wantedBytes()).isZero();
        }
    }

    @Test
    void dropHintWithoutDontcacheReadsDropsOnlyColdFiles() {
        try (Rig rig = withoutDirect()) {
            GuardedFile file = rig.file(SIZE);
            rig.posix().on(PosixCall.PREADV2).always().fails(Errno.EOPNOTSUPP);
            cache.drop(0, SIZE);
            readWithHint(rig, file, CuFileOpenOption.DROP);
            assertThat(cache.bytes()).isZero();
            readWithHint(rig, file, StandardOpenOption.READ);
            cache.drop(0, SIZE / 2);
            readWithHint(rig, file, CuFileOpenOption.DROP);
            assertThat(cache.bytes()).isGreaterThanOrEqualTo(SIZE / 2);
        }
    }

    private Rig withoutDirect() {
        Posix posix = PosixOverlay.of((call, arguments, kernel) -> call.getName().equals("open")
                && (((Integer) arguments[1]) & PosixConstants.O_DIRECT) != 0 ? (Object) (-Errno.EINVAL)
                        : cache.answer(call, arguments, kernel));
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
    void policyBufferedReadsDirectHandlesThroughTheCache() {
        try (Rig rig = withPolicy("buffered")) {
            GuardedFile file = rig.file(SIZE);
            cache.drop(0, SIZE);
            readWhole(rig, file);
            assertThat(bytes(rig, true)).isZero();
            assertThat(cache.bytes()).isEqualTo(SIZE);
        }
    }

    private Rig withPolicy(String policy) {
        return Rig.over(cache.posix(), builder -> builder
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
