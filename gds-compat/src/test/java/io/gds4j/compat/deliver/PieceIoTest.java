package io.gds4j.compat.deliver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.entry;

import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.IoResult;
import io.gds4j.IoResults;
import io.gds4j.RangeRead;
import io.gds4j.compat.FakePageCache;
import io.gds4j.compat.Rig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryRange;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import io.gds4j.testkit.RandomBytes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The system calls of a piece: which descriptor and which bytes each has, and what is counted. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PieceIoTest {
    private static final int SIZE = 2 * Rig.PIECE + 300;
    private static final int AT = 100;

    /** A rig that takes cached bytes from the page cache, which holds some bytes of the file, but does not tell which. */
    private static Rig withSilentCache(int cached) {
        FakePageCache cache = FakePageCache.ofFirst(SIZE);
        cache.drop(cached, 0);
        Rig rig = Rig.over(cache.posix(), builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, false));
        rig.posix().on(PosixCall.CACHED_PAGES).always().fails(Errno.EPERM);
        return rig;
    }

    private static void readWhole(Rig rig, GuardedFile file) {
        try (CuFileHandle handle = rig.open(file)) {
            readWhole(rig, file, handle);
        }
    }

    private static void readWhole(Rig rig, GuardedFile file, CuFileHandle handle) {
        GuardedMemory memory = rig.host(SIZE);
        assertThat(handle.read(memory.range(), 0)).isEqualTo(SIZE);
        memory.expect(0, file.expected(0, SIZE));
        memory.verify();
    }

    @Test
    void bytesAreCountedByPathAndReported() {
        try (Rig rig = Rig.onHost(); CuFileHandle handle = rig.open(rig.file(SIZE))) {
            GuardedMemory memory = rig.host(SIZE);
            IoResult result = new IoResult();
            assertThat(handle.read(memory.range(), 3 * Rig.PAGE, AT, AT, result)).isEqualTo(3 * Rig.PAGE);
            long edges = Rig.PAGE;
            assertThat(result.bytesByPath()).containsOnly(entry(IoPath.COMPAT_BUFFERED, edges),
                    entry(IoPath.COMPAT_DIRECT, 2L * Rig.PAGE));
            assertThat(rig.driver().bytesByPath()).isEqualTo(result.bytesByPath());
            assertThat(rig.driver().bytesWritten()).isZero();
            assertThat(handle.write(memory.range(), 77, 5, 5, result)).isEqualTo(77);
            assertThat(result.bytesByPath()).containsOnly(entry(IoPath.COMPAT_BUFFERED, 77L));
            assertThat(rig.driver().bytesWritten()).isEqualTo(77);
        }
    }

    /** The rest of a piece goes to or from its place in the memory of a program's arena, through the page cache, too. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void segmentsAreContinuedWhereTheFirstCallStopped(boolean leavesNoTrace) {
        try (Rig rig = Rig.onHost(builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, !leavesNoTrace));
                Arena arena = Arena.ofShared()) {
            rig.posix().on(PosixCall.OPEN).direct().always().fails(Errno.EINVAL);
            rig.posix().on(PosixCall.PREAD).isShort(AT);
            rig.posix().on(PosixCall.PWRITE).isShort(AT);
            GuardedFile file = rig.file(SIZE);
            MemorySegment memory = arena.allocate(SIZE + 3 * AT, Rig.PAGE);
            MemoryRange range = MemoryRange.ofSegment(memory);
            try (CuFileHandle handle = leavesNoTrace
                    ? rig.driver().openFile(file.path(), CuFileOpenOption.DROP) : rig.open(file)) {
                assertThat(handle.read(range, SIZE, 0, 3 * AT)).isEqualTo(SIZE);
                byte[] expected = new byte[SIZE + 3 * AT];
                System.arraycopy(file.expected(0, SIZE), 0, expected, 3 * AT, SIZE);
                assertThat(Arrays.mismatch(memory.toArray(ValueLayout.JAVA_BYTE), expected)).isEqualTo(-1);
                if (!leavesNoTrace) {
                    byte[] written = RandomBytes.of(9, SIZE);
                    MemorySegment.copy(written, 0, memory, ValueLayout.JAVA_BYTE, 2 * AT, SIZE);
                    assertThat(handle.write(range, SIZE, 0, 2 * AT)).isEqualTo(SIZE);
                    file.expectWrite(0, written);
                }
            }
            file.verify();
        }
    }

    @Test
    void refusedDirectRequestIsRepeatedThroughThePageCache() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(SIZE);
            rig.posix().on(PosixCall.PREAD).direct().always().fails(Errno.EINVAL);
            readWhole(rig, file);
            assertThat(rig.reads(true)).as("refused once for the file").hasSize(1);
            assertThat(rig.driver().statistics().engine().retries()).isOne();
            rig.posix().on(PosixCall.PREAD).buffered().always().fails(Errno.EINVAL);
            try (CuFileHandle handle = rig.open(file)) {
                Failures.expectErrno(Errno.EINVAL, () -> handle.read(rig.host(SIZE).range(), 0));
            }
        }
    }

    /** A direct read follows where it can: at the beginning of a page. */
    @ParameterizedTest
    @CsvSource({"8192, 8192, 8192, 122880", "69632, 4096, 69632, 61440", "69632, 100, 4196, 61440"})
    void bytesThatNeedNoWaitComeFirst(int cached, int atMost, long fromCache, long direct) {
        try (Rig rig = withSilentCache(cached)) {
            GuardedFile file = rig.file(SIZE);
            rig.posix().on(PosixCall.PREADV2).isShort(atMost);
            readWhole(rig, file);
            assertThat(rig.driver().bytesByPath()).containsOnly(entry(IoPath.COMPAT_CACHED, fromCache),
                    entry(IoPath.COMPAT_DIRECT, direct), entry(IoPath.COMPAT_BUFFERED, SIZE - fromCache - direct));
            assertThat(rig.driver().statistics().engine().retries()).isZero();
        }
    }

    /** The piece goes direct, and the next one asks again. */
    @Test
    void interruptedReadThatDoesNotWaitIsNotRepeated() {
        try (Rig rig = withSilentCache(SIZE)) {
            rig.posix().on(PosixCall.PREADV2).fails(Errno.EINTR);
            readWhole(rig, rig.file(SIZE));
            assertThat(rig.driver().bytesByPath()).containsEntry(IoPath.COMPAT_DIRECT, (long) Rig.PIECE)
                    .containsEntry(IoPath.COMPAT_CACHED, (long) Rig.PIECE);
        }
    }

    @Test
    void readThatDoesNotWaitAndFindsTheEndIsTheLast() {
        try (Rig rig = withSilentCache(SIZE)) {
            rig.posix().on(PosixCall.PREADV2).always().isShort(0);
            readWhole(rig, rig.file(SIZE));
            assertThat(rig.posix().calls(PosixCall.PREADV2)).isOne();
        }
    }

    private static CuFileHandle opensWithoutTrace(Rig rig, GuardedFile file) {
        rig.posix().on(PosixCall.OPEN).direct().always().fails(Errno.EINVAL);
        return rig.driver().openFile(file.path(), CuFileOpenOption.DROP);
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EOPNOTSUPP, Errno.EINVAL, Errno.ENOSYS})
    void readsThatLeaveNoTraceAreTriedOnce(int errno) {
        try (Rig rig = Rig.onHost(builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, false))) {
            GuardedFile file = rig.file(SIZE);
            rig.posix().on(PosixCall.PREADV2).always().fails(errno);
            rig.posix().on(PosixCall.CACHED_PAGES).always().fails(Errno.EPERM);
            try (CuFileHandle handle = opensWithoutTrace(rig, file)) {
                readWhole(rig, file, handle);
            }
            assertThat(rig.posix().calls(PosixCall.PREADV2)).isOne();
        }
    }

    @Test
    void readsThatLeaveNoTraceContinueAndFailAsOthersDo() {
        try (Rig rig = Rig.onHost(builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, false))) {
            GuardedFile file = rig.file(SIZE);
            rig.posix().on(PosixCall.PREADV2).isShort(AT);
            rig.posix().on(PosixCall.CACHED_PAGES).always().fails(Errno.EPERM);
            try (CuFileHandle handle = opensWithoutTrace(rig, file)) {
                readWhole(rig, file, handle);
                assertThat(rig.posix().calls(PosixCall.PREAD)).isZero();
                rig.posix().on(PosixCall.PREADV2).always().fails(Errno.EIO);
                Failures.expectErrno(Errno.EIO, () -> handle.read(rig.host(SIZE).range(), 0));
            }
        }
    }

    /** A source of which each call reads a few bytes, on another thread. */
    private static final class Slow implements RangeSource {
        private final byte[] content = RandomBytes.of(8, SIZE);

        @Override
        public String identity() {
            return "slow";
        }

        @Override
        public long size() {
            return SIZE;
        }

        @Override
        public long read(long offset, MemorySegment into, Cancellation cancellation) throws InterruptedException {
            int count = (int) Math.min(into.byteSize(), SIZE - offset);
            int few = Math.min(count, 1000);
            Thread reader = Thread.ofPlatform().unstarted(
                    () -> MemorySegment.copy(content, (int) offset, into, ValueLayout.JAVA_BYTE, 0, few));
            reader.start();
            reader.join();
            return few;
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void sourcesReadIntoThePartOfAnArena(boolean shared) {
        Slow source = new Slow();
        try (Rig rig = Rig.onHost();
                CuFileHandle handle = rig.driver().openSource(source);
                Arena arena = shared ? Arena.ofShared() : Arena.ofConfined()) {
            MemorySegment memory = arena.allocate(9000);
            assertThat(handle.read(MemoryRange.ofSegment(memory), 5000, AT, 77)).isEqualTo(5000);
            byte[] expected = new byte[9000];
            System.arraycopy(source.content, AT, expected, 77, 5000);
            assertThat(memory.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(expected);
        }
    }

    @Test
    void bytesOfASourceAreThoseOfTheirRange() {
        try (Rig rig = Rig.onHost(); CuFileHandle handle = rig.driver().openSource(new Slow())) {
            GuardedMemory memory = rig.host(SIZE);
            List<RangeRead> ranges = List.of(RangeRead.of(handle, memory.range(), 1500, 10, 0),
                    RangeRead.of(handle, memory.range(), 2000, 1510, 1500));
            IoResults results = new IoResults();
            rig.driver().readRanges(ranges, results);
            assertThat(results.get(0).bytes(IoPath.USER_SOURCE)).isEqualTo(1500);
            assertThat(results.get(1).bytes(IoPath.USER_SOURCE)).isEqualTo(2000);
            memory.accept(0, SIZE);
        }
    }
}
