package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.internal.lifetime.CallThreads;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Reads of many virtual threads at once into memory of a GPU, which platform threads serve. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ManyVirtualThreadsTest {
    private static final int CALLERS = 300;

    @Test
    void readsOfManyVirtualThreadsUseABoundedNumberOfThreadsAndStreams() throws Exception {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(CALLERS * Rig.PAGE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, CALLERS * Rig.PAGE);
            CountDownLatch reading = new CountDownLatch(8);
            rig.posix().on(PosixCall.PREAD).always().runsFirst(() -> {
                reading.countDown();
                await(reading);
            });
            AtomicLong most = new AtomicLong();
            AtomicLong moved = new AtomicLong();
            try (CuFileHandle handle = rig.open(file)) {
                List<Thread> callers = new ArrayList<>();
                for (int i = 0; i < CALLERS; i++) {
                    long at = (long) i * Rig.PAGE;
                    callers.add(Thread.ofVirtual().start(() -> {
                        moved.addAndGet(handle.read(memory.range(), Rig.PAGE, at, at));
                        most.accumulateAndGet(callThreads(), Math::max);
                    }));
                }
                for (Thread caller : callers) {
                    caller.join();
                }
            }
            assertThat(moved).hasValue((long) CALLERS * Rig.PAGE);
            assertThat(most.get()).isBetween(8L, (long) CallThreads.MAX_THREADS);
            assertThat(rig.cuda().calls(CudaFunction.STREAM_CREATE))
                    .as("streams of contexts")
                    .isLessThanOrEqualTo(6L * CallThreads.MAX_THREADS);
            memory.expect(0, file.expected(0, CALLERS * Rig.PAGE));
            memory.verify();
        }
    }

    private static long callThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("gds4j-call-"))
                .count();
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
