package io.gds4j.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.engine.memory.NativeMemoryAllocator;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.verbs.SoftVerbs;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.Failures;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The fault matrix of verbs: each verb of every operation fails once, is named, and leaves nothing behind. */
class SoftFaultTest {
    private static final CudaAvailability NO_CUDA = new CudaAvailability.Unavailable("none", "none");
    private static final Duration SOON = Duration.ofSeconds(20);
    private static final Set<RdmaAccess> RIGHTS = EnumSet.of(RdmaAccess.REMOTE_READ, RdmaAccess.REMOTE_WRITE);

    @TestFactory
    Stream<DynamicTest> everyVerbFailsOnceAndLeavesNothing() {
        SoftVerbs whole = new SoftVerbs("soft0");
        run(whole);
        assertThat(whole.live()).isEmpty();
        assertThat(whole.verbs()).hasSizeGreaterThan(25);
        return whole.verbs().stream().map(verb -> DynamicTest.dynamicTest(verb, () -> {
            SoftVerbs verbs = new SoftVerbs("soft0");
            verbs.fail(verb, Errno.EIO);
            CuFileException failure = Failures.expectErrno(Errno.EIO, () -> run(verbs));
            assertThat(failure.function()).isEqualTo(verb);
            assertThat(failure.getMessage()).doesNotContain("\n");
            assertThat(verbs.live()).isEmpty();
        }));
    }

    private static void run(SoftVerbs verbs) {
        RdmaDevices devices = ((RdmaAvailability.Available) RdmaDevices.of(verbs, () -> NO_CUDA)).verbs();
        try (NativeMemoryAllocator allocator = new NativeMemoryAllocator(FfmPosix.instance(), NO_CUDA);
                MemoryAllocation memory = allocator.allocate(MemoryKind.HOST, 8192);
                ProtectionDomain domain = devices.open("soft0");
                MemoryRegion region = domain.register(memory.range(), RdmaContract.ALL);
                QueuePair requester = domain.queuePair().build();
                QueuePair responder = domain.queuePair().build();
                MemoryWindow first = domain.window(WindowType.TYPE_1);
                MemoryWindow second = domain.window(WindowType.TYPE_2)) {
            domain.device();
            domain.register(memory.range(), memory.range().address() + 4096, RdmaContract.ALL).close();
            requester.connect(responder.local());
            responder.connect(requester.local());
            assertThat(requester.isReady()).isTrue();
            RemoteMemory window = first.bind(responder, region, 0, 64, RIGHTS);
            write(requester, region, window);
            first.invalidate();
            write(requester, region, second.bind(responder, region, 0, 64, RIGHTS));
            second.invalidate();
            region.reregister(RdmaContract.ALL);
            responder.receive(1, region.slice(0, 64));
            requester.send(2, region.slice(64, 64));
            requester.await(SOON).orElseThrow().check();
            responder.await(SOON).orElseThrow().check();
            assertThat(requester.await(Duration.ofMillis(1))).isEmpty();
        }
    }

    private static void write(QueuePair requester, MemoryRegion region, RemoteMemory remote) {
        requester.write(1, region.slice(64, 64), remote);
        requester.await(SOON).orElseThrow().check();
    }
}
