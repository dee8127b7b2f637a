package io.gds4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class AsyncCallsTest {
    private static final ThreadFactory NO_THREADS = work -> {
        throw new OutOfMemoryError("no thread");
    };

    private final RecordingBackend backend = new RecordingBackend();
    private final CuFileDriver driver = CuFileDriver.open(backend);
    private final CuFileHandle handle = driver.openFile(Path.of("/data/a"));
    private final MemoryAllocation memory = driver.allocator().allocate(MemoryKind.HOST, 4096);

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private CompletableFuture<Long> read() {
        return handle.readAsync(memory.range(), 4096, 0, 0);
    }

    @Test
    void callbackMayCloseDriver() throws Exception {
        CountDownLatch registered = new CountDownLatch(1);
        backend.during("read", () -> await(registered));
        CompletableFuture<Long> closed = read().whenComplete((bytes, failure) -> driver.close());
        registered.countDown();

        assertThat(closed.get(60, TimeUnit.SECONDS)).isEqualTo(4096);
        assertThat(driver.isOpen()).isFalse();
        memory.close();
    }

    /** Starts more calls than threads: the queued ones must end while every thread waits in a callback. */
    @Test
    void callbacksOfQueuedCallsMayCloseDriver() throws Exception {
        CountDownLatch registered = new CountDownLatch(1);
        backend.during("read", () -> await(registered));
        List<CompletableFuture<Long>> closed = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            closed.add(read().whenComplete((bytes, failure) -> driver.close()));
        }
        registered.countDown();

        for (CompletableFuture<Long> each : closed) {
            assertThat(each.get(60, TimeUnit.SECONDS)).isEqualTo(4096);
        }
        memory.close();
    }

    @Test
    void driverCloseWaitsForAsyncCalls() throws Exception {
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch leave = new CountDownLatch(1);
        backend.during("read", () -> {
            inside.countDown();
            await(leave);
        });
        CompletableFuture<Long> started = read();
        try (Threads threads = new Threads()) {
            await(inside);
            Future<Void> closer = threads.run(driver::close);
            threads.awaitParked();
            assertThat(backend.callsOf("driverClose")).isEmpty();
            leave.countDown();
            closer.get(60, TimeUnit.SECONDS);
        }
        assertThat(started.get(60, TimeUnit.SECONDS)).isEqualTo(4096);
        memory.close();
    }

    @Test
    void callerServesItsCallIfNoThreadStarts() {
        driver.session().setAsyncCalls(new AsyncCalls(NO_THREADS));

        assertThat(read()).isCompletedWithValue(4096L);

        memory.close();
        handle.close();
        driver.close();
    }

    private List<RangeRead> ranges() {
        List<RangeRead> ranges = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            ranges.add(RangeRead.of(handle, memory, 100, 1000L * i, 100L * i));
        }
        return ranges;
    }

    /** A driver that is being closed waits for a call that has begun, and starts no thread for it. */
    @Test
    void rangesAreReadByTheCallerWhileTheDriverCloses() {
        AsyncCalls calls = new AsyncCalls();
        driver.session().setAsyncCalls(calls);
        calls.close();

        IoResults results = driver.readRanges(ranges());

        assertThat(results.isComplete()).isTrue();
        driver.close();
        memory.close();
    }

    @Test
    void whatAnotherThreadThrowsIsNoSuccess() {
        CountDownLatch helped = new CountDownLatch(1);
        backend.during("read", () -> {
            if (Thread.currentThread().getName().startsWith("gds4j-async")) {
                helped.countDown();
                throw new AssertionError("defect");
            }
            await(helped);
        });

        assertThatThrownBy(() -> driver.readRanges(ranges())).isInstanceOf(AssertionError.class).hasMessage("defect");
        driver.close();
        memory.close();
    }

    /** While all threads are busy, the queue must not keep what finished calls have read. */
    @Test
    void finishedCallsLeaveTheQueue() throws Exception {
        CountDownLatch mayEnd = new CountDownLatch(1);
        backend.during("read", () -> {
            if (Thread.currentThread().getName().startsWith("gds4j-async")) {
                await(mayEnd);
            }
        });
        List<CompletableFuture<Long>> busy = IntStream.range(0, 16).mapToObj(i -> read()).toList();
        ReferenceQueue<Object> unreachable = new ReferenceQueue<>();
        Reference<Object> range = readOnce(unreachable);
        Reference<?> found = null;
        for (int i = 0; i < 100 && found == null; i++) {
            System.gc();
            found = unreachable.remove(100);
        }
        assertThat(found).isSameAs(range);
        mayEnd.countDown();
        busy.forEach(CompletableFuture::join);
        driver.close();
        memory.close();
    }

    private Reference<Object> readOnce(ReferenceQueue<Object> unreachable) {
        List<RangeRead> ranges = ranges();
        assertThat(driver.readRanges(ranges).isComplete()).isTrue();
        return new WeakReference<>(ranges.getFirst(), unreachable);
    }

    @Test
    void outOfMemoryFailsCallAndReleasesMemory() {
        backend.during("read", () -> {
            throw new OutOfMemoryError("heap");
        });

        List<CompletableFuture<Long>> started = IntStream.range(0, 40).mapToObj(i -> read()).toList();

        assertThat(started).allSatisfy(
                call -> assertThatThrownBy(call::join).hasCauseInstanceOf(OutOfMemoryError.class));
        memory.close();
        handle.close();
        driver.close();
    }
}
