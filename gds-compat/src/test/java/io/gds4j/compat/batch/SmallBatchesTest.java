package io.gds4j.compat.batch;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileHandle;
import io.gds4j.IoResult;
import io.gds4j.compat.Rig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryKind;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.spi.BatchStatus;
import io.gds4j.testkit.Gate;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads of one submission into GPU memory share slabs, system calls, copies and waits, but not their errors. */
class SmallBatchesTest {
    private static final int COUNT = 128;
    private static final int SMALL = 4096;
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long SEED = Long.getLong("gds4j.property.seed", System.nanoTime());

    private static List<Request> neighbours(CuFileHandle handle, GuardedMemory memory) {
        return neighbours(handle, memory, COUNT, SMALL);
    }

    private static List<Request> neighbours(CuFileHandle handle, GuardedMemory memory, int count, int size) {
        List<Request> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requests.add(Request.read(handle, memory.range(), size, (long) i * size, (long) i * size));
        }
        return requests;
    }

    /** Opens a driver that reads new files from the page cache, in pieces as large as in production. */
    private static Rig hot() {
        return Rig.onGpu(builder -> builder.set(CuFileKeys.FORCE_ODIRECT_MODE, false)
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, 1024L, 4096L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(32L, 16L, 20L))
                .set(CuFileKeys.MAX_DIRECT_IO_SIZE_KB, 16384L));
    }

    private static List<Completion> submit(Rig rig, List<Request> requests) {
        try (CuFileBatch batch = rig.driver().batch(COUNT)) {
            batch.submit(requests);
            List<Completion> done = new ArrayList<>();
            while (done.size() < requests.size()) {
                done.addAll(batch.await(requests.size() - done.size(), PATIENCE));
            }
            return done;
        }
    }

    @Test
    void neighboursShareReadsCopiesAndWaits() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(COUNT * SMALL);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, COUNT * SMALL);
            try (CuFileHandle handle = rig.open(file)) {
                long copies = rig.cuda().calls(CudaFunction.MEMCPY_HTOD_ASYNC);
                long waits = rig.cuda().calls(CudaFunction.STREAM_SYNCHRONIZE)
                        + rig.cuda().calls(CudaFunction.EVENT_SYNCHRONIZE);
                long events = rig.cuda().calls(CudaFunction.EVENT_RECORD);
                assertThat(submit(rig, neighbours(handle, memory))).extracting(Completion::bytes).containsOnly(
                        (long) SMALL);
                assertThat(rig.cuda().calls(CudaFunction.MEMCPY_HTOD_ASYNC) - copies).isLessThanOrEqualTo(COUNT / 4);
                assertThat(rig.cuda().calls(CudaFunction.STREAM_SYNCHRONIZE)
                        + rig.cuda().calls(CudaFunction.EVENT_SYNCHRONIZE) - waits)
                        .isLessThanOrEqualTo(COUNT / 4);
                // Who waits for the stream needs no event, and each costs microseconds of a lock of the driver.
                assertThat(rig.cuda().calls(CudaFunction.EVENT_RECORD)).isEqualTo(events);
                assertThat(rig.reads(true)).hasSizeLessThanOrEqualTo(COUNT / 4);
            }
            memory.expect(0, file.expected(0, COUNT * SMALL));
            memory.verify();
        }
    }

    @Test
    void anyPlacesAndSizesArriveWhereTheyBelong() {
        anyPlacesAndSizesArrive(Rig.onGpu(), 3 << 20, 64 << 10);
    }

    @Test
    void anyPlacesAndLargeSizesArriveWhereTheyBelong() {
        anyPlacesAndSizesArrive(hot(), 16 << 20, 1500 << 10);
    }

    private static void anyPlacesAndSizesArrive(Rig opened, int size, int largest) {
        Random random = new Random(SEED);
        try (Rig rig = opened) {
            GuardedFile file = rig.file(size - 50_000);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, size);
            try (CuFileHandle handle = rig.open(file)) {
                List<Request> requests = new ArrayList<>();
                int at = random.nextInt(5000);
                while (requests.size() < COUNT && at < size - largest - 5000) {
                    int bytes = 1 + random.nextInt(random.nextBoolean() ? 5000 : largest);
                    int from = random.nextInt(4) == 0 ? at : random.nextInt(size);
                    requests.add(Request.read(handle, memory.range(), bytes, from, at));
                    at += bytes + (random.nextBoolean() ? 0 : random.nextInt(3000));
                }
                Collections.shuffle(requests.subList(requests.size() / 2, requests.size()), random);
                for (Completion done : submit(rig, requests)) {
                    Request request = done.request();
                    byte[] expected = file.expected(request.fileOffset(), (int) request.size());
                    assertThat(done.bytes()).as("%s with seed %d", request, SEED).isEqualTo(expected.length);
                    memory.expect((int) request.bufferOffset(), expected);
                }
            }
            memory.verify();
        }
    }

    /** A thread that has merged some entries of one submission may go on with adjacent entries of another one. */
    @Test
    void submissionsOfDifferentShapesLeaveNoSlabBehind() throws Exception {
        int size = 512 << 10;
        int count = 16;
        try (Rig rig = hot(); ExecutorService threads = Executors.newFixedThreadPool(6)) {
            GuardedFile file = rig.file(2 * count * size);
            List<Future<?>> ends = new ArrayList<>();
            try (CuFileHandle handle = rig.open(file)) {
                for (int thread = 0; thread < 6; thread++) {
                    GuardedMemory memory = rig.memory(MemoryKind.CUDA_MANAGED, count * size);
                    boolean adjacent = thread % 2 == 0;
                    ends.add(threads.submit(() -> {
                        for (int round = 0; round < 12; round++) {
                            List<Request> requests = new ArrayList<>();
                            for (int i = 0; i < count; i++) {
                                long from = (adjacent ? i : 2L * (count - 1 - i)) * size;
                                memory.expect(i * size, file.expected(from, size));
                                requests.add(Request.read(handle, memory.range(), size, from, (long) i * size));
                            }
                            assertThat(submit(rig, requests)).extracting(Completion::bytes).containsOnly((long) size);
                        }
                        memory.verify();
                    }));
                }
                for (Future<?> end : ends) {
                    end.get();
                }
            }
            assertThat(rig.driver().statistics().engine().bouncePoolBytes()).as("bytes of slabs in use").isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {SMALL, 1 << 20})
    void entriesThatWaitForASlabAreCancelled(int size) {
        Gate gate = new Gate();
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(64L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(1L)))) {
            GuardedMemory slow = rig.memory(MemoryKind.CUDA_DEVICE, SMALL);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, 2 * size);
            try (CuFileHandle holder = rig.driver().openSource(new Zeros(gate));
                    CuFileHandle handle = rig.open(rig.file(2 * size))) {
                CompletableFuture<Long> held = holder.readAsync(slow.range(), 0);
                gate.awaitArrival();
                try (CuFileBatch batch = rig.driver().batch(2)) {
                    batch.submit(neighbours(handle, memory, 2, size));
                    awaitThreadIn("io.gds4j.engine.staging.WaitingLine");
                    batch.cancel();
                    try {
                        assertThat(batch.await(2, Duration.ofSeconds(10))).extracting(Completion::status)
                                .containsOnly(BatchStatus.CANCELED).hasSize(2);
                        assertThat(held).isNotDone();
                    } finally {
                        gate.open(); // else closing the batch would wait for the slab
                    }
                }
                assertThat(held.join()).isEqualTo(SMALL);
            } finally {
                gate.open();
            }
        }
    }

    /** A source that fails once a gate opens. */
    private record Failing(Gate gate) implements RangeSource {
        @Override
        public long size() {
            return SMALL;
        }

        @Override
        public String identity() {
            return "failing";
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) throws IOException {
            gate.pass();
            throw new IOException("broken");
        }
    }

    /** The group fails, and its first entry has moved its bytes by then. */
    @Test
    void entryThatHasMovedItsBytesIsNotReportedAsCancelled() {
        Gate gate = new Gate();
        try (Rig rig = hot()) {
            GuardedFile file = rig.file(SMALL);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, 2 * SMALL);
            try (CuFileHandle handle = rig.open(file);
                    CuFileHandle failing = rig.driver().openSource(new Failing(gate));
                    CuFileBatch batch = rig.driver().batch(2)) {
                batch.submit(List.of(
                        Request.read(handle, memory.range(), SMALL, 0, 0),
                        Request.read(failing, memory.range(), SMALL, 0, SMALL)));
                gate.awaitArrival();
                batch.cancel();
                gate.open();
                assertThat(batch.await(2, PATIENCE)).extracting(Completion::status)
                        .containsExactlyInAnyOrder(BatchStatus.COMPLETE, BatchStatus.FAILED);
            } finally {
                gate.open();
            }
            memory.expect(0, file.expected(0, SMALL));
            memory.verify();
        }
    }

    private static void awaitThreadIn(String className) {
        while (Thread.getAllStackTraces().values().stream()
                .noneMatch(frames -> Arrays.stream(frames).anyMatch(frame -> frame.getClassName().equals(className)))) {
            Thread.onSpinWait();
        }
    }

    /** A source that reads zeros once a gate opens. */
    private record Zeros(Gate gate) implements RangeSource {
        @Override
        public long size() {
            return SMALL;
        }

        @Override
        public String identity() {
            return "zeros";
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) {
            gate.pass();
            return target.fill((byte) 0).byteSize();
        }
    }

    @Test
    void largeNeighboursShareReadsAndCopies() {
        int count = 64;
        int size = 256 << 10;
        try (Rig rig = hot()) {
            GuardedFile file = rig.file(count * size - 5000);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, count * size);
            try (CuFileHandle handle = rig.open(file)) {
                long copies = rig.cuda().calls(CudaFunction.MEMCPY_HTOD_ASYNC);
                List<Request> requests = neighbours(handle, memory, count, size);
                // The entry at the end of the file has neighbours, too.
                Collections.rotate(requests, count / 2);
                List<Completion> done = submit(rig, requests);
                assertThat(done.stream().mapToLong(Completion::bytes).sum()).isEqualTo(count * size - 5000L);
                assertThat(rig.cuda().calls(CudaFunction.MEMCPY_HTOD_ASYNC) - copies).isLessThan(count);
            }
            memory.expect(0, file.expected(0, count * size));
            memory.verify();
        }
    }

    @Test
    void scatteredNeighboursInMemoryShareCopies() {
        try (Rig rig = hot()) {
            GuardedFile file = rig.file(2 * COUNT * SMALL);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, COUNT * SMALL);
            try (CuFileHandle handle = rig.open(file)) {
                List<Request> requests = new ArrayList<>();
                for (int i = 0; i < COUNT; i++) {
                    long from = 2L * (COUNT - 1 - i) * SMALL;
                    requests.add(Request.read(handle, memory.range(), SMALL, from, (long) i * SMALL));
                    memory.expect(i * SMALL, file.expected(from, SMALL));
                }
                long copies = rig.cuda().calls(CudaFunction.MEMCPY_HTOD_ASYNC);
                assertThat(submit(rig, requests)).extracting(Completion::bytes).containsOnly((long) SMALL);
                assertThat(rig.cuda().calls(CudaFunction.MEMCPY_HTOD_ASYNC) - copies).isLessThanOrEqualTo(COUNT / 4);
            }
            memory.verify();
        }
    }

    @Test
    void largeEntryThatCannotBeReadFailsAlone() {
        int count = 24;
        int size = 300_000;
        try (Rig rig = hot()) {
            GuardedFile file = rig.file(count * size);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, count * size);
            try (CuFileHandle handle = rig.open(file)) {
                rig.posix().on(PosixCall.PREAD).covering(7L * size + 5).always().fails(Errno.EIO);
                for (Completion done : submit(rig, neighbours(handle, memory, count, size))) {
                    int at = (int) done.request().fileOffset();
                    assertThat(done.isComplete()).as("at %d", at).isEqualTo(at != 7 * size);
                    if (done.isComplete()) {
                        assertThat(rig.cuda().peek(memory.range().address() + at, size))
                                .isEqualTo(file.expected(at, size));
                    }
                }
            }
        }
    }

    @Test
    void scatteredReadsWaitForTheDiskTogether() {
        try (Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(64L, 64L)))) {
            GuardedFile file = rig.file(COUNT * SMALL);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, COUNT * SMALL);
            CountDownLatch sideBySide = new CountDownLatch(24);
            AtomicBoolean alone = new AtomicBoolean();
            rig.posix().on(PosixCall.PREAD).always().runsFirst(() -> {
                sideBySide.countDown();
                if (!alone.get() && !isOver(sideBySide)) {
                    alone.set(true);
                }
            });
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(submit(rig, neighbours(handle, memory).reversed())).allMatch(Completion::isComplete);
            }
            assertThat(alone).as("reads waited for others in vain").isFalse();
            memory.expect(0, file.expected(0, COUNT * SMALL));
            memory.verify();
        }
    }

    private static boolean isOver(CountDownLatch latch) {
        try {
            return latch.await(30, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void entryThatCannotBeReadFailsAlone() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(COUNT * SMALL);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, COUNT * SMALL);
            try (CuFileHandle handle = rig.open(file)) {
                rig.posix().on(PosixCall.PREAD).covering(37L * SMALL + 5).always().fails(Errno.EIO);
                for (Completion done : submit(rig, neighbours(handle, memory))) {
                    if (done.request().fileOffset() == 37L * SMALL) {
                        assertThat(done.status()).isEqualTo(BatchStatus.FAILED);
                        assertThat(done.failure().orElseThrow().errno()).hasValue(Errno.EIO);
                    } else {
                        assertThat(done.bytes()).isEqualTo(SMALL);
                        int at = (int) done.request().fileOffset();
                        memory.expect(at, file.expected(at, SMALL));
                    }
                }
            }
            memory.verify();
        }
    }

    @Test
    void copyThatTheGpuRefusesFailsEachEntryWithTheDriversError() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(COUNT * SMALL);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, COUNT * SMALL);
            try (CuFileHandle handle = rig.open(file)) {
                rig.cuda().failAlways(CudaFunction.MEMCPY_HTOD_ASYNC, Cuda.ERROR_INVALID_VALUE);
                assertThat(submit(rig, neighbours(handle, memory)))
                        .hasSize(COUNT)
                        .allSatisfy(done -> assertThat(done.failure())
                                .map(CuFileException::error)
                                .hasValue(CuFileError.CUDA_DRIVER_ERROR));
                rig.cuda().heal();
                assertThat(submit(rig, neighbours(handle, memory))).allMatch(Completion::isComplete);
            }
            memory.expect(0, file.expected(0, COUNT * SMALL));
            memory.verify();
        }
    }

    @Test
    void bytesOfEntriesThatRunAgainOnTheirOwnCountOnce() {
        for (int count : new int[]{COUNT, 24}) {
            int size = count == COUNT ? SMALL : 300_000;
            try (Rig rig = count == COUNT ? Rig.onGpu() : hot()) {
                GuardedFile file = rig.file(count * size);
                GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, count * size);
                try (CuFileHandle handle = rig.open(file)) {
                    rig.cuda().failDeferred(2, Cuda.ERROR_INVALID_VALUE);
                    List<Request> reported = neighbours(handle, memory, count, size).stream()
                            .map(request -> request.reportTo(new IoResult()))
                            .toList();
                    assertThat(submit(rig, reported)).filteredOn(Completion::isComplete).isNotEmpty()
                            .allSatisfy(done -> assertThat(done.report().orElseThrow().bytesByPath().values().stream()
                                    .mapToLong(Long::longValue).sum()).isEqualTo(size));
                }
            }
        }
    }

    @Test
    void copyThatFailsWhileItRunsNeverPassesForDone() {
        try (Rig rig = Rig.onGpu()) {
            GuardedFile file = rig.file(COUNT * SMALL);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, COUNT * SMALL);
            try (CuFileHandle handle = rig.open(file)) {
                rig.cuda().failDeferred(2, Cuda.ERROR_INVALID_VALUE);
                for (Completion done : submit(rig, neighbours(handle, memory))) {
                    if (done.isComplete()) {
                        int at = (int) done.request().fileOffset();
                        memory.expect(at, file.expected(at, SMALL));
                        assertThat(rig.cuda().peek(memory.range().address() + at, SMALL))
                                .isEqualTo(file.expected(at, SMALL));
                    }
                }
                assertThat(rig.driver().statistics().engine().bouncePoolBytes()).isZero();
            }
        }
    }
}
