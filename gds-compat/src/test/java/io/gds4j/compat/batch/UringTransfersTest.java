package io.gds4j.compat.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileHandle;
import io.gds4j.Logged;
import io.gds4j.compat.Rig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.Errno;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.ffi.posix.PosixFault;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Direct batches go through io_uring if it is preferred and allowed, else through threads. */
class UringTransfersTest {
    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j.compat").about("; threads serve instead");

    private static final int COUNT = 100;
    private static final int SIZE = 8192;

    private static Rig preferring() {
        return Rig.onHost(builder -> builder.set(CuFileKeys.PREFER_IOURING, true));
    }

    private static void readInABatch(Rig rig, GuardedFile file) {
        GuardedMemory memory = rig.host(COUNT * SIZE);
        try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(COUNT)) {
            List<Request> requests = new ArrayList<>();
            for (int i = 0; i < COUNT; i++) {
                requests.add(Request.read(handle, memory.range(), SIZE, (long) i * SIZE, (long) i * SIZE));
            }
            batch.submit(requests);
            long bytes = 0;
            for (int done = 0; done < COUNT;) {
                for (Completion completion : batch.await(1, Duration.ofSeconds(60))) {
                    assertThat(completion.failure()).isEmpty();
                    bytes += completion.bytes();
                    done++;
                }
            }
            assertThat(bytes).isEqualTo(file.size());
        }
        memory.expect(0, file.expected(0, file.size()));
        memory.verify();
    }

    @Test
    void entriesShareSystemCallsUpToTheEndOfTheFile() {
        try (Rig rig = preferring()) {
            assumeTrue(rig.driver().statistics().engine().ioUring().equals("on"),
                    "io_uring is not tested: " + rig.driver().statistics().engine().ioUring());
            GuardedFile file = rig.file(COUNT * SIZE - 3000);
            readInABatch(rig, file);
            assertThat(rig.posix().calls(PosixCall.IO_URING_ENTER)).isBetween(1L, COUNT / 4L);
            assertThat(rig.reads(true)).as("by itself: the one that crosses the end").hasSizeLessThanOrEqualTo(1);
            assertThat(rig.driver().bytesByPath().get(IoPath.COMPAT_DIRECT)).isGreaterThan((COUNT - 1L) * SIZE);
        }
    }

    @Test
    void writesOfWholePagesShareSystemCalls() {
        try (Rig rig = preferring()) {
            assumeTrue(rig.driver().statistics().engine().ioUring().equals("on"), "io_uring is not tested");
            GuardedFile file = rig.file(COUNT * SIZE);
            GuardedMemory memory = rig.host(COUNT * SIZE);
            int small = 100;
            try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(COUNT)) {
                List<Request> requests = new ArrayList<>();
                for (int i = 0; i < COUNT; i++) {
                    long size = i == 7 ? small : SIZE;
                    requests.add(Request.write(handle, memory.range(), size, (long) i * SIZE, (long) i * SIZE));
                    file.expectWrite(i * SIZE, memory.expected(i * SIZE, (int) size));
                }
                assertThat(batch.transferAll(requests)).allMatch(Completion::isComplete);
            }
            file.verify();
            assertThat(rig.posix().calls(PosixCall.IO_URING_ENTER)).isBetween(1L, COUNT / 4L);
            assertThat(rig.posix().calls(PosixCall.PWRITE)).as("by itself: the part of a page").isOne();
            assertThat(rig.driver().bytesByPath().get(IoPath.COMPAT_DIRECT)).isEqualTo((COUNT - 1L) * SIZE);
        }
    }

    /** The other write is of a part of a page, so that it goes through the page cache, which direct I/O does not see. */
    @ParameterizedTest
    @EnumSource(WayToWrite.class)
    void pageOfAWriteInFlightIsNotWrittenByAnother(WayToWrite way) throws InterruptedException {
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.PREFER_IOURING, way == WayToWrite.URING))) {
            if (way == WayToWrite.URING) {
                assumeTrue(rig.driver().statistics().engine().ioUring().equals("on"), "io_uring is not tested");
            }
            GuardedFile file = rig.file(2 * SIZE);
            GuardedMemory memory = rig.memory(way.kind, 2 * SIZE);
            GuardedMemory other = rig.host(100);
            try (CuFileHandle handle = rig.open(file);
                    CuFileHandle second = rig.open(file);
                    CuFileBatch batch = rig.driver().batch(2)) {
                AtomicLong written = new AtomicLong(-1);
                AtomicInteger meanwhile = new AtomicInteger(-1);
                Thread writer = new Thread(() -> written.set(second.write(other.range(), 100, SIZE + 10, 0)));
                PosixFault held = rig.posix().on(way.call).when(call -> way == WayToWrite.URING || call.isDirect());
                held.runsFirst(() -> {
                    writer.start();
                    while (writer.isAlive() && writer.getState() != Thread.State.WAITING) {
                        Thread.onSpinWait();
                    }
                    meanwhile.set(rig.writes(false).size());
                });
                way.write(handle, batch, memory);
                writer.join();
                assertThat(meanwhile.get()).as("writes through the page cache meanwhile").isZero();
                assertThat(written.get()).isEqualTo(100);
            }
            file.expectWrite(0, memory.expected(0, 2 * SIZE));
            file.expectWrite(SIZE + 10, other.expected(0, 100));
            file.verify();
        }
    }

    private enum WayToWrite {
        AT_ONCE(PosixCall.PWRITE, MemoryKind.HOST) {
            @Override
            void write(CuFileHandle handle, CuFileBatch batch, GuardedMemory memory) {
                assertThat(handle.write(memory.range(), 0)).isEqualTo(2 * SIZE);
            }
        },
        AT_ONCE_FROM_A_GPU(PosixCall.PWRITE, MemoryKind.CUDA_DEVICE) {
            @Override
            void write(CuFileHandle handle, CuFileBatch batch, GuardedMemory memory) {
                AT_ONCE.write(handle, batch, memory);
            }
        },
        SCATTERED(PosixCall.PWRITE, MemoryKind.CUDA_DEVICE) {
            @Override
            void write(CuFileHandle handle, CuFileBatch batch, GuardedMemory memory) {
                List<ScatterCopy> halves = List.of(
                        new ScatterCopy(0, SIZE, memory.range(), 0),
                        new ScatterCopy(SIZE, SIZE, memory.range(), SIZE));
                assertThat(handle.writeScattered(0, 2 * SIZE, halves)).isEqualTo(2 * SIZE);
            }
        },
        BATCH(PosixCall.PWRITE, MemoryKind.HOST) {
            @Override
            void write(CuFileHandle handle, CuFileBatch batch, GuardedMemory memory) {
                assertThat(batch.transferAll(List.of(
                        Request.write(handle, memory.range(), 2 * SIZE, 0, 0)))).allMatch(Completion::isComplete);
            }
        },
        URING(PosixCall.IO_URING_ENTER, MemoryKind.HOST) {
            @Override
            void write(CuFileHandle handle, CuFileBatch batch, GuardedMemory memory) {
                assertThat(batch.transferAll(List.of(
                        Request.write(handle, memory.range(), SIZE, 0, 0),
                        Request.write(handle, memory.range(), SIZE, SIZE, SIZE)))).allMatch(Completion::isComplete);
            }
        };

        private final PosixCall call;
        private final MemoryKind kind;

        WayToWrite(PosixCall call, MemoryKind kind) {
            this.call = call;
            this.kind = kind;
        }

        abstract void write(CuFileHandle handle, CuFileBatch batch, GuardedMemory memory);
    }

    @Test
    void writesLoseNothingWhenTheUringFails() {
        try (Rig rig = preferring()) {
            assumeTrue(rig.driver().statistics().engine().ioUring().equals("on"), "io_uring is not tested");
            GuardedFile file = rig.file(COUNT * SIZE);
            GuardedMemory memory = rig.host(COUNT * SIZE);
            rig.posix().on(PosixCall.IO_URING_ENTER).always().fails(Errno.ENOMEM);
            try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(COUNT)) {
                for (int round = 0; round < 2; round++) {
                    List<Request> requests = new ArrayList<>();
                    for (int i = 0; i < COUNT; i++) {
                        requests.add(Request.write(handle, memory.range(), SIZE, (long) i * SIZE, (long) i * SIZE));
                    }
                    assertThat(batch.transferAll(requests)).allMatch(Completion::isComplete);
                }
            }
            file.expectWrite(0, memory.expected(0, COUNT * SIZE));
            file.verify();
            assertThat(rig.driver().statistics().engine().ioUring()).startsWith("failed");
        }
    }

    @Test
    void scatteredReadsIntoGpuMemoryAreInFlightTogether() {
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.PREFER_IOURING, true))) {
            assumeTrue(rig.driver().statistics().engine().ioUring().equals("on"),
                    "io_uring is not tested: " + rig.driver().statistics().engine().ioUring());
            GuardedFile file = rig.file(2 * COUNT * SIZE - 3000);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, COUNT * SIZE);
            try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(COUNT)) {
                List<Request> requests = new ArrayList<>();
                for (int i = 0; i < COUNT; i++) {
                    long from = (2L * COUNT - 1 - 2 * i) * SIZE;
                    requests.add(Request.read(handle, memory.range(), SIZE, from, (long) i * SIZE));
                    memory.expect(i * SIZE, file.expected(from, SIZE));
                }
                batch.submit(requests);
                for (int done = 0; done < COUNT;) {
                    List<Completion> some = batch.await(1, Duration.ofSeconds(60));
                    assertThat(some).allSatisfy(completion -> assertThat(completion.failure()).isEmpty());
                    done += some.size();
                }
            }
            memory.verify();
            assertThat(rig.posix().calls(PosixCall.IO_URING_ENTER)).isBetween(1L, COUNT / 4L);
            assertThat(rig.reads(true)).as("by itself: the one that crosses the end").hasSizeLessThanOrEqualTo(1);
        }
    }

    @Test
    void groupedGpuReadsLoseNothingWhenTheUringFails() {
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.PREFER_IOURING, true))) {
            assumeTrue(rig.driver().statistics().engine().ioUring().equals("on"), "io_uring is not tested");
            GuardedFile file = rig.file(COUNT * SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, COUNT * SIZE);
            rig.posix().on(PosixCall.IO_URING_ENTER).always().fails(Errno.ENOMEM);
            try (CuFileHandle handle = rig.open(file); CuFileBatch batch = rig.driver().batch(COUNT)) {
                List<Request> requests = new ArrayList<>();
                for (int i = 0; i < COUNT; i++) {
                    requests.add(Request.read(handle, memory.range(), SIZE, (long) i * SIZE, (long) i * SIZE));
                }
                assertThat(batch.transferAll(requests.reversed())).allMatch(Completion::isComplete);
            }
            memory.expect(0, file.expected(0, COUNT * SIZE));
            memory.verify();
            assertThat(rig.driver().statistics().engine().ioUring()).startsWith("failed");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EPERM, Errno.ENOSYS})
    void forbiddenUringIsReplacedByThreadsAndReported(int errno) {
        try (Rig rig = Rig.onHostWith(
                posix -> posix.on(PosixCall.IO_URING_SETUP).always().fails(errno),
                builder -> builder.set(CuFileKeys.PREFER_IOURING, true))) {
            readInABatch(rig, rig.file(COUNT * SIZE));
            assertThat(rig.driver().statistics().engine().ioUring()).startsWith("refused: " + Errno.name(errno));
            assertThat(rig.posix().calls(PosixCall.IO_URING_ENTER)).isZero();
        }
    }

    @Test
    void entriesLoseNothingWhenTheUringFailsLater() {
        try (Rig rig = preferring()) {
            assumeTrue(rig.driver().statistics().engine().ioUring().equals("on"), "io_uring is not tested");
            GuardedFile file = rig.file(COUNT * SIZE);
            rig.posix().on(PosixCall.IO_URING_ENTER).always().fails(Errno.ENOMEM);
            readInABatch(rig, file);
            readInABatch(rig, file);
            assertThat(rig.driver().statistics().engine().ioUring()).startsWith("failed");
        }
    }

    @Test
    void uringIsUsedOnlyIfPreferred() {
        try (Rig rig = Rig.onHost()) {
            readInABatch(rig, rig.file(COUNT * SIZE));
            assertThat(rig.posix().calls(PosixCall.IO_URING_SETUP)).isZero();
            assertThat(rig.driver().statistics().engine().ioUring()).isEqualTo("off");
        }
    }
}
