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
import io.gds4j.memory.MemoryKind;
import io.gds4j.statistics.IoPath;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
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
