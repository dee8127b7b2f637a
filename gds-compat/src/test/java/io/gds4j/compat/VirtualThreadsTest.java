package io.gds4j.compat;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileHandle;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Virtual threads whose read blocks in a system call leave their carriers to other virtual threads. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class VirtualThreadsTest {
    private static final int SIZE = 4096;
    private static final int THREADS = 4 * Runtime.getRuntime().availableProcessors() + 4;

    @Test
    void futuresHoldNoCarrier() throws InterruptedException {
        try (Rig rig = Rig.onHost()) {
            GuardedMemory memory = rig.host(SIZE);
            readsHoldNoCarrier(rig, memory, handle -> handle.readAsync(memory.range(), SIZE, 0, 0).join());
        }
    }

    @Test
    void readsIntoGpuMemoryHoldNoCarrier() throws InterruptedException {
        try (Rig rig = Rig.onGpu()) {
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            readsHoldNoCarrier(rig, memory, handle -> handle.read(memory.range(), SIZE, 0, 0));
        }
    }

    /** All reads wait for a virtual thread that starts after them. */
    private static void readsHoldNoCarrier(Rig rig, GuardedMemory memory, ToLongFunction<CuFileHandle> read)
            throws InterruptedException {
        CountDownLatch go = new CountDownLatch(1);
        GuardedFile file = rig.file(SIZE);
        List<Long> moved = Collections.synchronizedList(new ArrayList<>());
        try (CuFileHandle handle = rig.open(file)) {
            rig.posix().on(PosixCall.PREAD).always().runsFirst(() -> await(go));
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                threads.add(Thread.ofVirtual().start(() -> moved.add(read.applyAsLong(handle))));
            }
            threads.add(Thread.ofVirtual().start(go::countDown));
            for (Thread thread : threads) {
                thread.join();
            }
        }
        assertThat(moved).hasSize(THREADS).containsOnly((long) SIZE);
        memory.expect(0, file.expected(0, SIZE));
        memory.verify();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
