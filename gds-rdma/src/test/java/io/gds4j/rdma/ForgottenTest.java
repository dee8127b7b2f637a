package io.gds4j.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.Logged;
import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.verbs.SoftVerbs;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.util.EnumSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The garbage collector releases what a program forgets, whatever else that claims. */
@Tag("slow")
@Timeout(120)
class ForgottenTest {
    private static final int ROUNDS = 20;

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("never closed");

    private final SoftVerbs verbs = new SoftVerbs("soft0");
    private final NativeMemoryAllocator allocator = new NativeMemoryAllocator(
            FfmPosix.instance(), new CudaAvailability.Unavailable("none", "none"));

    @Test
    void forgottenDomainIsReleasedAfterItsRegion() throws Exception {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, 4096)) {
            MemoryRegion region = TestDevice.of(verbs).open().register(memory.range(), RdmaContract.ALL);
            // The cleaner has seen the domain before what was forgotten later.
            for (int i = 0; i < 2; i++) {
                TestDevice.of(new SoftVerbs("soft0")).open();
                assertThat(logged.nextAfterCollection()).contains("ProtectionDomain");
            }
            region.close();
        }
        awaitNothingLeft();
        allocator.close();
    }

    @ParameterizedTest
    @EnumSource(WindowType.class)
    void boundWindowIsReleasedWithAllThatItUses(WindowType type) throws Exception {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, 4096)) {
            for (int i = 0; i < ROUNDS; i++) {
                forgetABoundWindow(type, memory);
                awaitNothingLeft();
            }
        }
        allocator.close();
    }

    private void forgetABoundWindow(WindowType type, MemoryAllocation memory) {
        ProtectionDomain domain = TestDevice.of(verbs).open();
        MemoryRegion region = domain.register(memory.range(), RdmaContract.ALL);
        QueuePair near = domain.queuePair().build();
        QueuePair far = domain.queuePair().build();
        near.connect(far.local());
        far.connect(near.local());
        domain.window(type).bind(near, region, 0, 8, EnumSet.of(RdmaAccess.REMOTE_READ));
    }

    private void awaitNothingLeft() throws InterruptedException {
        for (int i = 0; i < 100 && !verbs.live().isEmpty(); i++) {
            logged.afterCollection();
        }
        assertThat(verbs.live()).isEmpty();
    }
}
