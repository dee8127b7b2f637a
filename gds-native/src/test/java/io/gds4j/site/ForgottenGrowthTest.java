package io.gds4j.site;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.memory.NativeMemoryAllocator;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.LeakDetector;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Memory that grows and that a program lost without closing it. */
@Timeout(60)
class ForgottenGrowthTest {
    private static final Logger LOGGER = Logger.getLogger("io.gds4j");
    private static final long MAXIMUM = 12L << 20;

    private final FakeCuda cuda = new FakeCuda();
    private final MemoryAllocator allocator = new NativeMemoryAllocator(FfmPosix.instance(), cuda.available());
    private final LinkedBlockingQueue<String> logged = new LinkedBlockingQueue<>();
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord entry) {
            // Other tests forget objects too.
            if (entry.getMessage().contains("ForgottenGrowthTest")) {
                logged.add(entry.getLevel() + " " + entry.getMessage());
            }
        }

        @Override
        public void flush() {
        }

        @Override
        public void close() {
        }
    };

    @BeforeEach
    void listen() {
        LOGGER.setUseParentHandlers(false);
        LOGGER.addHandler(handler);
    }

    @AfterEach
    void stopListening() {
        LOGGER.removeHandler(handler);
        LOGGER.setUseParentHandlers(true);
    }

    private void forget() {
        allocator.growable(MAXIMUM, 0).grow(5 << 20);
    }

    private MemoryRange rangeOfAForgottenOne() {
        MemoryRange range = allocator.growable(MAXIMUM, 0).allocation().range();
        allocator.copyFromHost(MemorySegment.ofArray(new byte[]{42}), range);
        return range;
    }

    /** Whether anything is left of GPU memory; streams stay with the allocator. */
    private boolean isFreed() {
        return cuda.leaks().stream().allMatch(leak -> leak.startsWith("stream"));
    }

    private List<String> logUntilFreed() throws InterruptedException {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < 200 && !isFreed(); i++) {
            System.gc();
            String line = logged.poll(50, TimeUnit.MILLISECONDS);
            if (line != null) {
                lines.add(line);
            }
        }
        assertThat(cuda.leaks()).allMatch(leak -> leak.startsWith("stream"));
        logged.drainTo(lines);
        return lines;
    }

    @Test
    void whatNobodyClosedIsLoggedWithItsSiteAndGivenBack() throws InterruptedException {
        forget();
        assertThat(isFreed()).isFalse();
        assertThat(logUntilFreed())
                .anyMatch(line -> line.startsWith(
                        "WARNING memory that grows to 12582912 bytes was never closed;"
                                + " made at io.gds4j.site.ForgottenGrowthTest.forget(ForgottenGrowthTest.java:"))
                .allMatch(line -> line.contains("ForgottenGrowthTest.forget("));
        assertThat(allocator.usage().get(MemoryKind.CUDA_VMM).bytes()).isZero();
        assertThat(cuda.violations()).isEmpty();
    }

    @Test
    void aRangeOfItKeepsIt() throws InterruptedException {
        MemoryRange range = rangeOfAForgottenOne();
        for (int i = 0; i < 5; i++) {
            System.gc();
            assertThat(logged.poll(20, TimeUnit.MILLISECONDS)).isNull();
        }
        byte[] read = new byte[1];
        allocator.copyToHost(range.slice(0, 1), MemorySegment.ofArray(read));
        assertThat(read).containsExactly(42);
        range = null;
        assertThat(logUntilFreed()).isNotEmpty();
    }

    @Test
    void whatWasClosedIsNotLogged() throws InterruptedException {
        try (GrowableMemory memory = allocator.growable(MAXIMUM, 0)) {
            memory.grow(5 << 20);
        }
        assertThat(isFreed()).isTrue();
        forget();
        assertThat(logUntilFreed()).allMatch(line -> line.contains("ForgottenGrowthTest.forget("));
    }

    @Test
    void theLeakDetectorNamesItUntilItIsClosed() {
        LeakDetector watched = new LeakDetector(allocator);
        GrowableMemory memory = watched.growable(MAXIMUM, 0);
        memory.grow(5 << 20);
        assertThatThrownBy(watched::verify)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("1 allocations were not closed")
                .hasMessageContaining("%d bytes of CUDA_VMM", memory.allocation().range().length())
                .hasMessageContaining("ForgottenGrowthTest.theLeakDetectorNamesItUntilItIsClosed");
        memory.allocation().range().claim(); // as a registration does
        assertThatThrownBy(memory::close).hasMessageContaining("EBUSY");
        assertThat(watched.alive()).hasSize(1);
        memory.allocation().range().unclaim();
        memory.close();
        memory.close();
        watched.verify();
    }
}
