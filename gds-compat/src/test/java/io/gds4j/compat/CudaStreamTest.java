package io.gds4j.compat;

import static io.gds4j.compat.FakeStreams.UNTOUCHED;
import static io.gds4j.compat.FakeStreams.result;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileStream;
import io.gds4j.IoResult;
import io.gds4j.Logged;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.source.Cancellation;
import io.gds4j.source.RangeSource;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Stream-ordered I/O on streams of the fake driver, where a stream that waits for a word is parked, as on a GPU. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CudaStreamTest {
    private static final int SIZE = 3 * Rig.PAGE + 100;

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("a copy of a stream failed");

    private final Rig rig = Rig.onGpu(builder -> builder.set(CuFileKeys.MAX_IO_THREADS, 2L));
    private final FakeCuda cuda = rig.cuda();
    private final FakeStreams streams = new FakeStreams(cuda);

    @AfterEach
    void nothingIsLeft() {
        rig.close();
        streams.close();
    }

    @Test
    void copiesBeforeAndAfterSeeTheOrder() throws Exception {
        streams.inContext(() -> {
            GuardedFile file = rig.file(SIZE);
            GuardedFile target = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            GuardedMemory copy = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            long raw = streams.make();
            try (CuFileHandle handle = rig.open(file);
                    CuFileHandle written = rig.open(target);
                    CuFileStream stream = rig.driver().stream(raw, Set.of())) {
                // The read overwrites the earlier memset, and the later copy sees the bytes of the read.
                cuda.memsetD8Async(memory.range().address(), (byte) 5, SIZE, raw);
                CuFileStream.Cells read = streams.cells(SIZE, 0, 0);
                stream.read(handle, memory.range(), read);
                cuda.memcpyDtoDAsync(copy.range().address(), memory.range().address(), SIZE, raw);
                cuda.memsetD8Async(memory.range().address(), (byte) 6, 8, raw);
                CuFileStream.Cells write = streams.cells(SIZE, 0, 0);
                stream.write(written, copy.range(), write);
                assertThat(cuda.streamSynchronize(raw)).isZero();
                assertThat(result(read)).isEqualTo(SIZE);
                assertThat(result(write)).isEqualTo(SIZE);
                memory.expect(0, file.expected(0, SIZE));
                memory.expect(0, new byte[]{6, 6, 6, 6, 6, 6, 6, 6});
                copy.expect(0, file.expected(0, SIZE));
                memory.verify();
                copy.verify();
                target.expectWrite(0, file.expected(0, SIZE));
            }
            target.verify();
        });
    }

    /** Found by attack: streams were refused for ever once the GPU's memory was exhausted while a request loaded the kernel. */
    @Test
    void exhaustedMemoryRefusesAStreamNotTheNextOne() throws Exception {
        cuda.failAlways(CudaFunction.MODULE_LOAD_DATA, Cuda.ERROR_OUT_OF_MEMORY);
        streams.inContext(() -> {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            long raw = streams.make();
            CuFileStream.Cells read = streams.cells(SIZE, 0, 0);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(handle.read(memory.range(), 0)).isEqualTo(SIZE);
                CuFileException refused = catchThrowableOfType(
                        CuFileException.class,
                        () -> rig.driver().stream(raw, Set.of()).read(handle, memory.range(), read));
                assertThat(refused.error()).isEqualTo(CuFileError.NOMEM_ERROR);
                cuda.heal();
                try (CuFileStream stream = rig.driver().stream(raw, Set.of())) {
                    stream.read(handle, memory.range(), read);
                    assertThat(cuda.streamSynchronize(raw)).isZero();
                }
            }
            assertThat(result(read)).isEqualTo(SIZE);
            memory.expect(0, file.expected(0, SIZE));
            memory.verify();
        });
    }

    @Test
    void sixtyFourStreamsArePendingAtOnce() throws Exception {
        streams.inContext(() -> {
            int count = 64;
            GuardedFile file = rig.file(count * Rig.PAGE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, count * Rig.PAGE);
            List<CuFileStream> registered = new ArrayList<>();
            List<CuFileStream.Cells> reads = new ArrayList<>();
            try (CuFileHandle handle = rig.open(file)) {
                for (int i = 0; i < count; i++) {
                    registered.add(rig.driver().stream(streams.make(), Set.of()));
                }
                for (int round = 0; round < 3; round++) {
                    for (int i = 0; i < count; i++) {
                        CuFileStream.Cells read = streams.cells(Rig.PAGE, (long) i * Rig.PAGE, (long) i * Rig.PAGE);
                        reads.add(read);
                        registered.get(i).read(handle, memory.range(), read);
                    }
                }
                streams.synchronize();
                assertThat(reads).extracting(FakeStreams::result).containsOnly((long) Rig.PAGE);
                memory.expect(0, file.expected(0, count * Rig.PAGE));
                memory.verify();
            } finally {
                registered.forEach(CuFileStream::close);
            }
        });
    }

    @Test
    void nothingIsPinnedWhileAStreamIsParked() throws Exception {
        streams.inContext(() -> {
            GuardedFile file = rig.file(Rig.PAGE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, Rig.PAGE);
            long raw = streams.make();
            try (CuFileHandle handle = rig.open(file);
                    CuFileStream stream = rig.driver().stream(raw, Set.of())) {
                long pinned = cuda.calls(CudaFunction.MEM_HOST_REGISTER) + cuda.calls(CudaFunction.MEM_HOST_ALLOC);
                for (int i = 0; i < 20; i++) {
                    stream.read(handle, memory.range(), streams.cells(Rig.PAGE, 0, 0));
                }
                cuda.streamSynchronize(raw);
                assertThat(cuda.calls(CudaFunction.MEM_HOST_REGISTER) + cuda.calls(CudaFunction.MEM_HOST_ALLOC))
                        .isEqualTo(pinned);
            }
        });
    }

    @Test
    void nothingIsPinnedOrFreedForStreamsBesideAParkedOne() throws Exception {
        streams.inContext(() -> {
            GuardedFile file = rig.file(Rig.PAGE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, Rig.PAGE);
            long first = streams.make();
            MemorySegment gate = streams.bytes(Integer.BYTES);
            try (CuFileHandle handle = rig.open(file);
                    CuFileStream parked = rig.driver().stream(first, Set.of())) {
                cuda.streamWaitValue32(first, gate.address(), 1, Cuda.STREAM_WAIT_VALUE_GEQ);
                CuFileStream.Cells late = streams.cells(Rig.PAGE, 0, 0);
                parked.read(handle, memory.range(), late);
                long before = pinnings();
                for (int i = 0; i < 5; i++) {
                    long other = streams.make();
                    try (CuFileStream stream = rig.driver().stream(other, Set.of())) {
                        CuFileStream.Cells read = streams.cells(Rig.PAGE, 0, 0);
                        stream.read(handle, memory.range(), read);
                        cuda.streamSynchronize(other);
                        assertThat(result(read)).isEqualTo(Rig.PAGE);
                    }
                }
                assertThat(pinnings()).isEqualTo(before);
                assertThat(result(late)).isEqualTo(UNTOUCHED);
                gate.set(ValueLayout.JAVA_INT, 0, 1);
                cuda.streamSynchronize(first);
                assertThat(result(late)).isEqualTo(Rig.PAGE);
            }
        });
    }

    @Test
    void anotherSessionNeitherPinsNorUnpinsWhileAStreamIsParked() throws Exception {
        streams.inContext(() -> {
            GuardedFile file = rig.file(Rig.PAGE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, Rig.PAGE);
            GuardedMemory others = rig.memory(MemoryKind.CUDA_DEVICE, Rig.PAGE);
            long raw = streams.make();
            MemorySegment gate = streams.bytes(Integer.BYTES);
            CuFileDriver another = rig.another();
            CuFileHandle theirs = another.openFile(file.path(), StandardOpenOption.READ);
            try (CuFileHandle handle = rig.open(file);
                    CuFileStream stream = rig.driver().stream(raw, Set.of())) {
                park(raw, gate, 1, stream, handle, memory);
                long before = pinnings();
                AtomicLong read = new AtomicLong();
                Thread reader = Thread.ofPlatform().start(() -> read.set(theirs.read(others.range(), Rig.PAGE, 0, 0)));
                awaitWaiting(reader);
                assertThat(pinnings()).isEqualTo(before);
                release(raw, gate, 1);
                reader.join();
                assertThat(read.get()).isEqualTo(Rig.PAGE);
                assertThat(pinnings()).isGreaterThan(before);
                others.expect(0, file.expected(0, Rig.PAGE));
                others.verify();

                theirs.close();
                park(raw, gate, 2, stream, handle, memory);
                long unpinned = cuda.calls(CudaFunction.MEM_HOST_UNREGISTER);
                Thread closer = Thread.ofPlatform().start(another::close);
                awaitWaiting(closer);
                assertThat(cuda.calls(CudaFunction.MEM_HOST_UNREGISTER)).isEqualTo(unpinned);
                release(raw, gate, 2);
                closer.join();
                assertThat(cuda.calls(CudaFunction.MEM_HOST_UNREGISTER)).isGreaterThan(unpinned);
            }
        });
    }

    @Test
    void memoryIsPinnedAndFreedByTheAllocatorOnceNoStreamWaits() throws Exception {
        streams.inContext(() -> {
            GuardedFile file = rig.file(Rig.PAGE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, Rig.PAGE);
            MemoryAllocation old = rig.driver().allocator().allocate(MemoryKind.CUDA_DEVICE, Rig.PAGE, 0);
            long raw = streams.make();
            MemorySegment gate = streams.bytes(Integer.BYTES);
            try (CuFileHandle handle = rig.open(file);
                    CuFileStream stream = rig.driver().stream(raw, Set.of())) {
                park(raw, gate, 1, stream, handle, memory);
                long before = pinnings();
                long freed = cuda.calls(CudaFunction.MEM_FREE);
                Thread pins = Thread.ofPlatform().start(() -> rig.driver()
                        .allocator()
                        .allocate(MemoryKind.HOST_REGISTERED, Rig.PAGE, MemoryRange.NO_DEVICE)
                        .close());
                Thread frees = Thread.ofPlatform().start(old::close);
                awaitWaiting(pins);
                awaitWaiting(frees);
                assertThat(pinnings()).isEqualTo(before);
                assertThat(cuda.calls(CudaFunction.MEM_FREE)).isEqualTo(freed);
                release(raw, gate, 1);
                pins.join();
                frees.join();
                assertThat(pinnings()).isGreaterThan(before);
                assertThat(cuda.calls(CudaFunction.MEM_FREE)).isGreaterThan(freed);
            }
        });
    }

    @Test
    void memoryIsAllocatedWhileManyStreamsReadASlowSource() throws Exception {
        streams.inContext(() -> {
            RangeSource slow = new SlowSource(40_000_000);
            AtomicBoolean over = new AtomicBoolean();
            List<Thread> readers = new ArrayList<>();
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, 8 * Rig.PAGE);
            long[] context = new long[1];
            cuda.ctxGetCurrent(context);
            try (CuFileHandle handle = rig.driver().openSource(slow)) {
                CountDownLatch reading = new CountDownLatch(8);
                for (int i = 0; i < 8; i++) {
                    long at = (long) i * Rig.PAGE;
                    long raw = streams.make();
                    CuFileStream stream = rig.driver().stream(raw, Set.of());
                    readers.add(Thread.ofPlatform().start(() -> {
                        cuda.ctxPushCurrent(context[0]);
                        try (stream) {
                            while (!over.get()) {
                                CuFileStream.Cells cells = streams.cells(Rig.PAGE, at, at);
                                stream.read(handle, memory.range(), cells);
                                cuda.streamSynchronize(raw);
                                reading.countDown();
                            }
                        }
                        cuda.ctxPopCurrent(new long[1]);
                    }));
                }
                await(reading);
                for (int i = 0; i < 3; i++) {
                    rig.driver().allocator().allocate(MemoryKind.CUDA_DEVICE, Rig.PAGE, 0).close();
                }
                over.set(true);
                for (Thread reader : readers) {
                    reader.join();
                }
            }
        });
    }

    /** A source of zeros that takes a while for each request. */
    private record SlowSource(long nanos) implements RangeSource {
        @Override
        public long size() {
            return 1 << 20;
        }

        @Override
        public String identity() {
            return "slow";
        }

        @Override
        public long read(long offset, MemorySegment target, Cancellation cancellation) {
            LockSupport.parkNanos(nanos + offset); // different times, so that the streams never pause together by chance
            return target.fill((byte) 0).byteSize();
        }
    }

    /** Lets the stream wait for a word of the program, and queues a read behind it. */
    private void park(
            long raw, MemorySegment gate, int value, CuFileStream stream, CuFileHandle handle, GuardedMemory memory) {
        cuda.streamWaitValue32(raw, gate.address(), value, Cuda.STREAM_WAIT_VALUE_GEQ);
        stream.read(handle, memory.range(), streams.cells(Rig.PAGE, 0, 0));
    }

    private void release(long raw, MemorySegment gate, int value) {
        gate.set(ValueLayout.JAVA_INT, 0, value);
        cuda.streamSynchronize(raw);
    }

    private static void awaitWaiting(Thread thread) {
        while (thread.getState() != Thread.State.WAITING && thread.getState() != Thread.State.TIMED_WAITING) {
            assertThat(thread.isAlive()).as("still waiting").isTrue();
            Thread.onSpinWait();
        }
    }

    @Test
    void managedMemoryIsMovedWhileOtherStreamsWait() throws Exception {
        streams.inContext(() -> {
            int count = 8;
            GuardedFile source = rig.file(count * SIZE);
            GuardedFile target = rig.file(count * SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_MANAGED, count * SIZE);
            List<CuFileStream> registered = new ArrayList<>();
            List<CuFileStream.Cells> all = new ArrayList<>();
            CountDownLatch allWait = new CountDownLatch(count);
            rig.posix().on(PosixCall.PREAD).always().runsFirst(() -> {
                allWait.countDown();
                await(allWait);
            });
            try (CuFileHandle from = rig.open(source);
                    CuFileHandle to = rig.open(target)) {
                for (int i = 0; i < count; i++) {
                    registered.add(rig.driver().stream(streams.make(), Set.of()));
                }
                for (int i = 0; i < count; i++) {
                    CuFileStream.Cells read = streams.cells(SIZE, (long) i * SIZE, (long) i * SIZE);
                    CuFileStream.Cells write = streams.cells(SIZE, (long) i * SIZE, (long) i * SIZE);
                    all.add(read);
                    all.add(write);
                    registered.get(i).read(from, memory.range(), read);
                    registered.get(i).write(to, memory.range(), write);
                }
                streams.synchronize();
                assertThat(all).extracting(FakeStreams::result).containsOnly((long) SIZE);
            } finally {
                registered.forEach(CuFileStream::close);
            }
            memory.expect(0, source.expected(0, count * SIZE));
            memory.verify();
            target.expectWrite(0, source.expected(0, count * SIZE));
            target.verify();
        });
    }

    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void copiesDoNotQueueBehindStreamsThatWaitForThem() throws Exception {
        streams.inContext(() -> {
            cuda.limitChannels(5);
            int[] sizes = {1, 2, 3, 100, 4095, 4096, 60_001, 65_535, 65_536, 250_000};
            int room = 256 << 10;
            GuardedFile file = rig.file(room);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, sizes.length * room);
            List<CuFileStream> registered = new ArrayList<>();
            List<CuFileStream.Cells> reads = new ArrayList<>();
            List<Long> moved = new ArrayList<>();
            CountDownLatch allWait = new CountDownLatch(sizes.length);
            rig.posix().on(PosixCall.PREAD).always().runsFirst(() -> {
                allWait.countDown();
                await(allWait);
            });
            try (CuFileHandle handle = rig.open(file)) {
                for (int i = 0; i < sizes.length; i++) {
                    registered.add(rig.driver().stream(streams.make(), Set.of()));
                }
                for (int i = 0; i < sizes.length; i++) {
                    CuFileStream.Cells read = streams.cells(sizes[i], 7, (long) i * room);
                    reads.add(read);
                    moved.add((long) sizes[i]);
                    registered.get(i).read(handle, memory.range(), read);
                    memory.expect(i * room, file.expected(7, sizes[i]));
                }
                streams.synchronize();
                assertThat(reads).extracting(FakeStreams::result).isEqualTo(moved);
                memory.verify();
            } finally {
                registered.forEach(CuFileStream::close);
            }
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {4, 50, 1024})
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void moreOperationsThanCudasQueueHoldsAreQueuedAsItEmpties(int places) throws Exception {
        streams.inContext(() -> {
            cuda.limitQueues(places);
            GuardedFile file = rig.file(Rig.PAGE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, Rig.PAGE);
            long raw = streams.make();
            List<CuFileStream.Cells> reads = new ArrayList<>();
            try (CuFileHandle handle = rig.open(file);
                    CuFileStream stream = rig.driver().stream(raw, Set.of())) {
                for (int i = 0; i < 400; i++) {
                    CuFileStream.Cells read = streams.cells(Rig.PAGE, 0, 0);
                    reads.add(read);
                    stream.read(handle, memory.range(), read);
                }
                cuda.streamSynchronize(raw);
            }
            assertThat(reads).extracting(FakeStreams::result).containsOnly((long) Rig.PAGE);
        });
    }

    private static void await(CountDownLatch latch) {
        try {
            assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Returns the number of calls that would wait for all streams of a real driver. */
    private long pinnings() {
        return cuda.calls(CudaFunction.MEM_HOST_ALLOC)
                + cuda.calls(CudaFunction.MEM_FREE_HOST)
                + cuda.calls(CudaFunction.MEM_HOST_REGISTER)
                + cuda.calls(CudaFunction.MEM_HOST_UNREGISTER);
    }

    @Test
    void failedCopyIsInTheResultAndTheStreamIsReleased() throws Exception {
        streams.inContext(() -> {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            long raw = streams.make();
            try (CuFileHandle handle = rig.open(file);
                    CuFileStream stream = rig.driver().stream(raw, Set.of())) {
                cuda.failDeferred(1, Cuda.ERROR_ILLEGAL_ADDRESS);
                CuFileStream.Cells bad = streams.cells(SIZE, 0, 0);
                stream.read(handle, memory.range(), bad);
                CuFileStream.Cells good = streams.cells(SIZE, 0, 0);
                stream.read(handle, memory.range(), good);
                assertThat(cuda.streamSynchronize(raw)).as("the stream itself").isZero();
                assertThat(result(bad)).isNegative();
                assertThat(result(good)).isEqualTo(SIZE);
                memory.expect(0, file.expected(0, SIZE));
                memory.verify();
            }
        });
    }

    /** The second kernel is the stream's copy: the first one stands before its wait. */
    @Test
    void copyThatFailsBehindTheResultIsAnErrorOnceTheStreamIsClosed() throws Exception {
        streams.inContext(() -> {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            CuFileStream.Cells read = streams.cells(SIZE, 0, 0);
            IoResult report = new IoResult();
            try (CuFileHandle handle = rig.open(file);
                    CuFileStream stream = rig.driver().stream(streams.make(), Set.of())) {
                cuda.failDeferred(2, Cuda.ERROR_ILLEGAL_ADDRESS);
                stream.read(handle, memory.range(), read, report);
            }
            assertThat(result(read)).isEqualTo(-CuFileError.CUDA_DRIVER_ERROR.code());
            assertThat(report.error()).get().extracting(CuFileException::error)
                    .isEqualTo(CuFileError.CUDA_DRIVER_ERROR);
            assertThat(report.moved()).isZero();
            assertThat(logged.lines()).containsExactly("SEVERE a copy of a stream failed");
            memory.verify();
        });
    }

    @Test
    void capturingStreamIsRefusedAndHoldsNothing() throws Exception {
        streams.inContext(() -> {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            long raw = streams.make();
            try (CuFileHandle handle = rig.open(file);
                    CuFileStream stream = rig.driver().stream(raw, Set.of())) {
                cuda.capture(raw);
                CuFileStream.Cells read = streams.cells(SIZE, 0, 0);
                Failures.expect(
                        CuFileError.ASYNC_NOT_SUPPORTED, () -> stream.read(handle, memory.range(), read));
                assertThat(result(read)).isEqualTo(UNTOUCHED);
            }
        });
    }

    @Test
    void streamThatCannotWaitForWordsIsRefused() throws Exception {
        streams.inContext(() -> {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            long raw = streams.make();
            try (CuFileHandle handle = rig.open(file);
                    CuFileStream stream = rig.driver().stream(raw, Set.of())) {
                cuda.failAlways(CudaFunction.STREAM_WAIT_VALUE32, Cuda.ERROR_NOT_SUPPORTED);
                Failures.expect(
                        CuFileError.CUDA_DRIVER_ERROR,
                        () -> stream.read(handle, memory.range(), streams.cells(SIZE, 0, 0)));
            }
        });
    }

    @Test
    void closingTheDriverWaitsForTheStream() throws Exception {
        streams.inContext(() -> {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            CuFileHandle handle = rig.open(file);
            CuFileStream stream = rig.driver().stream(streams.make(), Set.of());
            CuFileStream.Cells read = streams.cells(SIZE, 0, 0);
            stream.read(handle, memory.range(), read);
            handle.close();
            assertThat(result(read)).isEqualTo(SIZE);
            memory.expect(0, file.expected(0, SIZE));
            memory.verify();
        });
    }
}
