package io.gds4j.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.compat.CompatBackend;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.verbs.SoftVerbs;
import io.gds4j.memory.MemoryKind;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Random;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Files to peers on a double. */
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

    @AfterEach
    void noCompletionWasLost() {
        assertThat(verbs.hasOverflowed()).isFalse();
    }
}
