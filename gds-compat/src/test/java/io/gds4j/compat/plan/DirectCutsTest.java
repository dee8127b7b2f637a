package io.gds4j.compat.plan;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.compat.PosixOverlay;
import io.gds4j.compat.Rig;
import io.gds4j.ffi.posix.Posix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.ffi.posix.PosixRequest;
import io.gds4j.ffi.posix.StatxResult;
import io.gds4j.memory.MemoryKind;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.Gate;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The split of requests into direct I/O of whole pages and buffered I/O of their edges. */
class DirectCutsTest {
    private static final int PAGE = Rig.PAGE;

    @ParameterizedTest
    @ValueSource(ints = {1, 9192, 65_536, 65_537, 3 * Rig.PIECE + 1, 3 * Rig.PIECE + 4095})
    void directReadsEndBeforeTheEndOfTheFileRoundedDown(int fileSize) {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(fileSize);
            GuardedMemory memory = rig.host(4 * Rig.PIECE);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(handle.read(memory.range(), 0)).isEqualTo(fileSize);
            }
            memory.expect(0, file.expected(0, fileSize));
            memory.verify();
            long lastBlock = fileSize / PAGE * PAGE;
            assertThat(rig.reads(true)).allMatch(read -> read.offset() + read.count() <= lastBlock);
            assertThat(rig.reads(true).stream().mapToLong(PosixRequest::count).sum()).isEqualTo(lastBlock);
        }
    }

    @ParameterizedTest
    @CsvSource({"0, 65536", "1, 65536", "4095, 2", "100, 100", "4096, 4096", "5000, 70000", "12288, 200001"})
    void writesSendWholePagesPastTheCacheAndTheEdgesThroughIt(int offset, int size) {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(10);
            // Direct I/O needs the same offset within a page in memory and file.
            GuardedMemory memory = rig.host(size + PAGE);
            int at = offset % PAGE;
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(handle.write(memory.range(), size, offset, at)).isEqualTo(size);
            }
            file.expectWrite(offset, memory.expected(at, size));
            file.verify();
            checkCoverage(rig, offset, size);
            for (PosixRequest write : rig.writes(true)) {
                assertThat(write.offset() % PAGE).isZero();
                assertThat(write.count() % PAGE).isZero();
                assertThat(write.address() % PAGE).isZero();
            }
            long wholePages = Math.max(0, (offset + size) / PAGE * PAGE - (offset + PAGE - 1) / PAGE * PAGE);
            assertThat(rig.writes(true).stream().mapToLong(PosixRequest::count).sum()).isEqualTo(wholePages);
            assertThat(rig.posix().calls(PosixCall.PREAD)).as("reads, for merging with old bytes").isZero();
            assertThat(rig.posix().calls(PosixCall.FTRUNCATE)).as("cuts, after writing too much").isZero();
        }
    }

    /** Every byte is written once. */
    private static void checkCoverage(Rig rig, long offset, long size) {
        List<PosixRequest> writes = new ArrayList<>(rig.writes(true));
        writes.addAll(rig.writes(false));
        writes.sort(Comparator.comparingLong(PosixRequest::offset));
        long position = offset;
        for (PosixRequest write : writes) {
            assertThat(write.offset()).isEqualTo(position);
            position += write.count();
        }
        assertThat(position).isEqualTo(offset + size);
    }

    @Test
    void memoryAlignedUnlikeTheFileGoesThroughTheCache() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(3 * Rig.PIECE);
            GuardedMemory memory = rig.host(3 * Rig.PIECE);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(handle.read(memory.range(), 2L * Rig.PIECE, 0, 1)).isEqualTo(2L * Rig.PIECE);
                memory.expect(1, file.expected(0, 2 * Rig.PIECE));
                memory.verify();
                assertThat(handle.write(memory.range(), 2L * Rig.PIECE, 0, 3)).isEqualTo(2L * Rig.PIECE);
                file.expectWrite(0, memory.expected(3, 2 * Rig.PIECE));
            }
            file.verify();
            assertThat(rig.reads(true)).isEmpty();
            assertThat(rig.writes(true)).isEmpty();
        }
    }

    @Test
    void pageCacheAndDiskAgreeWithoutAnyFlush() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(6 * PAGE);
            GuardedMemory memory = rig.host(6 * PAGE);
            try (CuFileHandle handle = rig.open(file)) {
                for (int round = 0; round < 20; round++) {
                    file.write(round * 1000L, new byte[]{1, 2, (byte) round});
                    assertThat(handle.read(memory.range(), 0)).isEqualTo(6 * PAGE);
                    memory.expect(0, file.expected(0, 6 * PAGE));
                    memory.verify();
                    int offset = round * 777;
                    assertThat(handle.write(memory.range(), 2 * PAGE, offset, offset % PAGE)).isEqualTo(2 * PAGE);
                    file.expectWrite(offset, memory.expected(offset % PAGE, 2 * PAGE));
                    file.expectSize(Math.max(6 * PAGE, file.size()));
                    handle.truncate(6 * PAGE);
                    file.expectSize(6 * PAGE);
                    file.verify();
                }
            }
            assertThat(rig.reads(true)).isNotEmpty();
            assertThat(rig.writes(true)).isNotEmpty();
            assertThat(rig.posix().calls(PosixCall.FSYNC) + rig.posix().calls(PosixCall.FDATASYNC)).isZero();
        }
    }

    @ParameterizedTest
    @CsvSource({"512, 4096", "4096, 4096", "16384, 16384", "65536, 65536"})
    void cutsFollowTheAlignmentThatTheKernelNames(int named, int expected) {
        try (Rig rig = Rig.over(withAlignment(named))) {
            GuardedFile file = rig.file(5 * Rig.PIECE + 77);
            GuardedMemory memory = rig.host(5 * Rig.PIECE + PAGE);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(handle.read(memory.range(), 0)).isEqualTo(file.size());
                memory.expect(0, file.expected(0, file.size()));
                memory.verify();
                assertThat(handle.write(memory.range(), 4L * Rig.PIECE, PAGE, 0)).isEqualTo(4L * Rig.PIECE);
                file.expectWrite(PAGE, memory.expected(0, 4 * Rig.PIECE));
            }
            file.verify();
            List<PosixRequest> direct = new ArrayList<>(rig.reads(true));
            direct.addAll(rig.writes(true));
            assertThat(direct).isNotEmpty().allMatch(
                    request -> request.offset() % expected == 0 && request.count() % expected == 0);
        }
    }

    @Test
    void fileWithoutDirectAlignmentIsServedBuffered() {
        try (Rig rig = Rig.over(withAlignment(0))) {
            GuardedFile file = rig.file(3 * Rig.PIECE);
            GuardedMemory memory = rig.host(3 * Rig.PIECE);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(handle.read(memory.range(), 0)).isEqualTo(file.size());
                memory.expect(0, file.expected(0, file.size()));
                memory.verify();
                assertThat(handle.ioPath().path()).isEqualTo(IoPath.COMPAT_BUFFERED);
            }
            assertThat(rig.reads(true)).isEmpty();
        }
    }

    private static Posix withAlignment(int bytes) {
        return PosixOverlay.of((call, arguments, kernel) -> {
            Object answer = kernel.call();
            return answer instanceof StatxResult s && s.isRegularFile()
                    ? new StatxResult(
                            s.error(),
                            s.mask() | StatxResult.MASK_DIRECT_ALIGNMENT,
                            s.mode(),
                            s.size(),
                            s.blockSize(),
                            s.deviceMajor(),
                            s.deviceMinor(),
                            s.rdevMajor(),
                            s.rdevMinor(),
                            s.inode(),
                            s.attributes(),
                            bytes == 0 ? 0 : 512,
                            bytes,
                            0,
                            s.mtimeSeconds(),
                            s.mtimeNanos(),
                            s.links(),
                            s.user(),
                            s.birth())
                    : answer;
        });
    }

    @Test
    void hostMemoryIsServedWithoutABounceBuffer() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(5 * Rig.PIECE + 77);
            GuardedMemory memory = rig.host(5 * Rig.PIECE + 77);
            long from = memory.range().address();
            long to = from + memory.range().length();
            try (CuFileHandle handle = rig.open(file)) {
                handle.read(memory.range(), 0);
                handle.write(memory.range(), 0);
            }
            assertThat(rig.posix().io())
                    .isNotEmpty()
                    .allMatch(request -> request.address() >= from && request.address() + request.count() <= to);
            assertThat(rig.driver().peakStagingBytes()).isZero();
        }
    }

    @Test
    void requestsThatAreRefusedOrEmptyNeverReachTheKernel() {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(PAGE);
            GuardedMemory memory = rig.host(PAGE);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(handle.read(memory.range(), 0, 0, 0)).isZero();
                assertThat(handle.write(memory.range(), 0, 1 << 20, 0)).isZero();
                Failures.expect(() -> handle.read(memory.range(), -1, 0, 0));
                Failures.expect(() -> handle.read(memory.range(), 1, -1, 0));
                Failures.expect(() -> handle.write(memory.range(), 2, Long.MAX_VALUE - 1, 0));
                Failures.expect(() -> handle.write(memory.range(), PAGE + 1, 0, 0));
            }
            assertThat(rig.posix().io()).isEmpty();
        }
    }

    @Test
    void writesThatShareAPageWaitForEachOther() throws InterruptedException {
        try (Rig rig = Rig.withWorkers()) {
            GuardedFile file = rig.file(4 * PAGE);
            GuardedMemory first = rig.host(PAGE);
            GuardedMemory second = rig.host(PAGE);
            Gate gate = new Gate();
            rig.posix().on(PosixCall.PWRITE).startingAt(100).runsFirst(gate::pass);
            try (CuFileHandle handle = rig.open(file);
                    CuFileHandle other = rig.open(file)) {
                Thread holder = Thread.ofPlatform().start(() -> handle.write(first.range(), 50, 100, 0));
                gate.awaitArrival();
                Thread waiter = Thread.ofPlatform().start(() -> other.write(second.range(), PAGE, 1000, 0));
                awaitWaiting(waiter);
                assertThat(rig.posix().calls(PosixCall.PWRITE)).isEqualTo(1);
                assertThat(other.write(second.range(), PAGE, 2 * PAGE, 0)).as("another page").isEqualTo(PAGE);
                gate.open();
                holder.join();
                waiter.join();
            }
            file.expectWrite(100, first.expected(0, 50));
            file.expectWrite(1000, second.expected(0, PAGE));
            file.expectWrite(2 * PAGE, second.expected(0, PAGE));
            file.verify();
        }
    }

    private static void awaitWaiting(Thread thread) {
        while (thread.getState() != Thread.State.WAITING) {
            assertThat(thread.isAlive()).as("still waiting").isTrue();
            Thread.onSpinWait();
        }
    }

    @Test
    void directWritesOfWholePagesDoNotWaitForEachOther() throws InterruptedException {
        try (Rig rig = Rig.onHost()) {
            GuardedFile file = rig.file(8 * PAGE);
            GuardedMemory first = rig.host(2 * PAGE);
            GuardedMemory second = rig.host(2 * PAGE);
            Gate gate = new Gate();
            rig.posix().on(PosixCall.PWRITE).direct().startingAt(0).runsFirst(gate::pass);
            try (CuFileHandle handle = rig.open(file)) {
                Thread holder = Thread.ofPlatform().start(() -> handle.write(first.range(), 2 * PAGE, 0, 0));
                gate.awaitArrival();
                Thread others = Thread.ofPlatform().start(() -> {
                    handle.write(second.range(), 2 * PAGE, 2 * PAGE, 0);
                    handle.write(second.range(), 2 * PAGE, PAGE, 0);
                    handle.read(second.range(), PAGE, 4 * PAGE, 0);
                });
                assertThat(others.join(Duration.ofMinutes(1))).as("writes that share no page in part").isTrue();
                gate.open();
                holder.join();
            }
            assertThat(rig.writes(true)).hasSize(3);
        }
    }

    @Test
    void writesAbove2GiBAreSplitIntoCallsThatTheKernelTakes() {
        long size = (1L << 31) + 3 * PAGE + 5;
        Posix swallowing = PosixOverlay.of((call, arguments, kernel) -> {
            if (!call.getName().equals("pwrite")) {
                return kernel.call();
            }
            long count = (Long) arguments[arguments.length - 2];
            assertThat(count).isLessThanOrEqualTo(0x7ffff000L);
            return count;
        });
        for (boolean workers : new boolean[]{false, true}) {
            try (Rig rig = workers ? Rig.withWorkersOver(swallowing) : Rig.over(swallowing);
                    CuFileHandle handle = rig.open(rig.file(0));
                    var memory = rig.driver().allocator().allocate(MemoryKind.HOST, size)) {
                assertThat(handle.write(memory.range(), size, 0, 0)).isEqualTo(size);
                checkCoverage(rig, 0, size);
            }
        }
    }
}
