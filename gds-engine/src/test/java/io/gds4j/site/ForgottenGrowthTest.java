package io.gds4j.site;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.Logged;
import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.internal.memory.MemoryAccess;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.testkit.LeakDetector;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Growable memory that a program forgot to close. */
@Timeout(120)
class ForgottenGrowthTest {
    private static final long MAXIMUM = 12L << 20;

    private final FakeCuda cuda = new FakeCuda();
    private final MemoryAllocator allocator = new NativeMemoryAllocator(FfmPosix.instance(), cuda.available());

    // Other tests forget objects too.
    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("ForgottenGrowthTest");

    private void forget() {
        allocator.growable(MAXIMUM, 0).grow(5 << 20);
    }

    private MemoryRange rangeOfAForgottenOne() {
        MemoryRange range = allocator.growable(MAXIMUM, 0).allocation().range();
        allocator.copyFromHost(MemorySegment.ofArray(new byte[]{42}), range);
        return range;
    }

    /** Returns true if no GPU memory is left; streams stay with the allocator. */
    private boolean isFreed() {
        return cuda.leaks().stream().allMatch(leak -> leak.startsWith("stream"));
    }

    private List<String> logUntilFreed() throws InterruptedException {
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < Logged.PATIENCE && !isFreed(); i++) {
            logged.afterCollection().ifPresent(lines::add);
        }
        assertThat(cuda.leaks()).allMatch(leak -> leak.startsWith("stream"));
        lines.addAll(logged.lines());
        return lines;
    }

    @Test
    void forgottenMemoryIsLoggedWithItsSiteAndFreed() throws InterruptedException {
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
    void rangeKeepsTheGrowableMemory() throws InterruptedException {
        MemoryRange range = rangeOfAForgottenOne();
        for (int i = 0; i < 5; i++) {
            assertThat(logged.afterCollection()).isEmpty();
        }
        byte[] read = new byte[1];
        allocator.copyToHost(range.slice(0, 1), MemorySegment.ofArray(read));
        assertThat(read).containsExactly(42);
        range = null;
        assertThat(logUntilFreed()).isNotEmpty();
    }

    @Test
    void closedMemoryIsNotLogged() throws InterruptedException {
        try (GrowableMemory memory = allocator.growable(MAXIMUM, 0)) {
            memory.grow(5 << 20);
        }
        assertThat(isFreed()).isTrue();
        forget();
        assertThat(logUntilFreed()).allMatch(line -> line.contains("ForgottenGrowthTest.forget("));
    }

    @Test
    void leakDetectorNamesItUntilItIsClosed() {
        LeakDetector watched = new LeakDetector(allocator);
        GrowableMemory memory = watched.growable(MAXIMUM, 0);
        memory.grow(5 << 20);
        assertThatThrownBy(watched::verify)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("1 allocations were not closed")
                .hasMessageContaining("%d bytes of CUDA_VMM", memory.allocation().range().length())
                .hasMessageContaining("ForgottenGrowthTest.leakDetectorNamesItUntilItIsClosed");
        MemoryAccess.USES.claim(memory.allocation().range()); // as a registration does
        assertThatThrownBy(memory::close).hasMessageContaining("EBUSY");
        assertThat(watched.alive()).hasSize(1);
        MemoryAccess.USES.unclaim(memory.allocation().range());
        memory.close();
        memory.close();
        watched.verify();
    }
}
