package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
class StackOverflowTest {
    private static final int ROUNDS = 40;
    private static final long STACK = 256 << 10;

    private static void dive(CuFileHandle handle, MemoryRange range) {
        handle.read(range, 512, 0, 0);
        dive(handle, range);
    }

    /** Each round ends the stack at another place of the call, in interpreted or compiled code. */
    @Test
    void stackOverflowInCallLeavesNoUseCounted() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            RecordingBackend backend = new RecordingBackend() {
                @Override
                public long read(BackendFile file, MemoryRange base, long size, long fileOffset, long bufferOffset) {
                    return size;
                }
            };
            CuFileDriver driver = CuFileDriver.open(backend);
            CuFileHandle handle = driver.openFile(Path.of("/data/a"));
            MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096);
            MemoryRange range = memory.range();
            AtomicInteger overflows = new AtomicInteger();
            Thread diver = new Thread(null, () -> {
                try {
                    dive(handle, range);
                } catch (StackOverflowError e) {
                    overflows.incrementAndGet();
                }
            }, "diver", STACK + round * 592L);
            diver.start();
            diver.join();
            assertThat(overflows).hasValue(1);

            Thread closer = Thread.ofPlatform().daemon().start(() -> {
                handle.close();
                memory.close();
                driver.close();
            });
            assertThat(closer.join(Duration.ofSeconds(30))).as("closed in round %d", round).isTrue();
        }
    }
}
