package io.gds4j.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.verbs.SoftVerbs;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.testkit.Failures;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Files to peers on a double. */
@Tag("slow")
class SoftTransferTest extends TransferContract {
    private final SoftVerbs verbs = new SoftVerbs("soft0");
    private final TestDevice tested = TestDevice.of(verbs);

    @Override
    TestDevice tested() {
        return tested;
    }

    @Override
    int largeSize() {
        return 8 << 20;
    }

    /** Slabs of a GPU, which the device reaches as a dma-buf. */
    @Test
    void fileGoesThroughMemoryOfGpus() throws Exception {
        byte[] bytes = new byte[10 * 4096 + 77];
        new Random(5).nextBytes(bytes);
        Path source = Files.write(folder.resolve("source"), bytes);
        Path copy = Files.createFile(folder.resolve("copied"));
        List<String> before = verbs.live();
        FakeCuda cuda = new FakeCuda(2, 64 << 20);
        CuFileConfig config = CuFileConfig.builder().withoutEnvironment().build();
        try (CuFileDriver driver =
                CuFileDriver.open(new CompatBackend(config, FfmPosix.instance(), cuda.available()));
                ProtectionDomain domain = tested().open();
                QueuePair one = domain.queuePair().build();
                QueuePair other = domain.queuePair().build();
                RdmaTransfer sender = RdmaTransfer.builder(driver, domain).slabs(2, 8192)
                        .memory(MemoryKind.CUDA_VMM, 0).sender(one);
                RdmaTransfer receiver = RdmaTransfer.builder(driver, domain).slabs(2, 8192)
                        .memory(MemoryKind.CUDA_VMM, 1).receiver(other)) {
            one.connect(other.local());
            other.connect(one.local());
            try (CuFileHandle from = driver.openFile(source, StandardOpenOption.READ);
                    CuFileHandle to = driver.openFile(copy, StandardOpenOption.WRITE)) {
                FutureTask<Boolean> sent = new FutureTask<>(() -> sender.send(from, 0, bytes.length), true);
                Thread.ofPlatform().start(sent);
                assertThat(receiver.receive(to, 0)).isEqualTo(bytes.length);
                assertThat(sent.get(20, TimeUnit.SECONDS)).isTrue();
            }
        }
        assertThat(Files.readAllBytes(copy)).isEqualTo(bytes);
        assertThat(verbs.calls()).contains("ibv_reg_dmabuf_mr");
        assertThat(verbs.live()).isEqualTo(before);
        assertThat(cuda.leaks()).isEmpty();
    }

    /** Closes both ends at a random moment of a transfer. */
    @Test
    void closeOnAnotherThreadEndsATransfer() throws Exception {
        long seed = new Random().nextLong();
        System.out.println("SoftTransferTest seed " + seed);
        Random random = new Random(seed);
        int size = 2 << 20;
        Path source = Files.write(folder.resolve("source"), new byte[size]);
        List<String> before = verbs.live();
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle file = driver.openFile(source, StandardOpenOption.READ);
                MemoryAllocation target = driver.allocator().allocate(MemoryKind.HOST, size);
                ProtectionDomain domain = tested().open()) {
            for (int i = 0; i < 60; i++) {
                QueuePair one = domain.queuePair().build();
                QueuePair other = domain.queuePair().build();
                RdmaTransfer.Builder builder = RdmaTransfer.builder(driver, domain).slabs(2, 4096);
                RdmaTransfer sender = builder.sender(one);
                RdmaTransfer receiver = builder.receiver(other);
                one.connect(other.local());
                other.connect(one.local());
                FutureTask<CuFileException> sent = failing(() -> sender.send(file, 0, size));
                FutureTask<CuFileException> received = failing(() -> receiver.receive(target.range()));
                long end = System.nanoTime() + random.nextInt(4_000_000);
                while (System.nanoTime() < end) {
                    Thread.onSpinWait();
                }
                sender.close();
                receiver.close();
                sent.get(20, TimeUnit.SECONDS);
                received.get(20, TimeUnit.SECONDS);
            }
            RdmaTransfer closed = RdmaTransfer.builder(driver, domain).sender(domain.queuePair().build());
            closed.close();
            Failures.expect(CuFileError.MEMORY_NOT_REGISTERED, () -> closed.send(file, 0, 0));
        }
        assertThat(verbs.live()).isEqualTo(before);
    }

    /** Passes on failures that are no CuFileException. */
    private static FutureTask<CuFileException> failing(Runnable transfer) {
        FutureTask<CuFileException> task = new FutureTask<>(() -> {
            try {
                transfer.run();
                return null;
            } catch (CuFileException e) {
                return e;
            }
        });
        Thread.ofPlatform().start(task);
        return task;
    }

    /** A source that takes a while to read. */
    private record Slow(long nanos) implements RangeSource {
        @Override
        public long size() {
            return 4096;
        }

        @Override
        public String identity() {
            return "slow";
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) {
            pause(nanos);
            return target.byteSize();
        }

        static void pause(long nanos) {
            long end = System.nanoTime() + nanos;
            while (System.nanoTime() < end) {
                LockSupport.parkNanos(end - System.nanoTime());
            }
        }
    }

    /** The receiver is allowed 4 s and takes 2.5 s, after the sender's storage took 2.5 s. */
    @Test
    void slowStorageOfAnEndIsNotTheSilenceOfItsPeer() throws Exception {
        long pause = 1_250_000_000L;
        try (CuFileDriver driver = CuFileDriver.open();
                CuFileHandle source = driver.openSource(new Slow(pause));
                MemoryAllocation target = driver.allocator().allocate(MemoryKind.HOST, 4096);
                ProtectionDomain domain = tested().open();
                QueuePair one = domain.queuePair().build();
                QueuePair other = domain.queuePair().build();
                RdmaTransfer sender = RdmaTransfer.builder(driver, domain).slabs(1, 4096)
                        .timeout(Duration.ofSeconds(2)).sender(one);
                RdmaTransfer receiver = RdmaTransfer.builder(driver, domain).slabs(1, 4096)
                        .timeout(ChronoUnit.FOREVER.getDuration()).receiver(other)) {
            one.connect(other.local());
            other.connect(one.local());
            FutureTask<CuFileException> sent = failing(() -> sender.send(source, 0, 4096));
            Slow.pause(2 * pause);
            assertThat(receiver.receive(target.range())).isEqualTo(4096);
            assertThat(sent.get(20, TimeUnit.SECONDS)).isNull();

            // After 2 s of silence it asks whether the limit has passed.
            FutureTask<CuFileException> received = failing(() -> receiver.receive(target.range()));
            assertThatThrownBy(() -> received.get(2500, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
            sender.send(source, 0, 0);
            assertThat(received.get(20, TimeUnit.SECONDS)).isNull();
        }
    }

    @AfterEach
    void noCompletionWasLost() {
        assertThat(verbs.hasOverflowed()).isFalse();
    }
}
