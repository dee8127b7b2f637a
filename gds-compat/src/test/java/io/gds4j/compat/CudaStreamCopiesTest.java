package io.gds4j.compat;

import static io.gds4j.compat.FakeStreams.result;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.CuFileStream;
import io.gds4j.Logged;
import io.gds4j.StreamFlag;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryKind;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Operations whose stream copies between slabs and GPU memory while threads of gds4j move bytes between slabs and files. */
@Tag("slow")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CudaStreamCopiesTest {
    private static final int MIB = 1 << 20;
    private static final int ROOM = 30 * MIB;
    private static final Set<StreamFlag> FIXED =
            Set.of(StreamFlag.FIXED_BUFFER_OFFSET, StreamFlag.FIXED_FILE_OFFSET, StreamFlag.FIXED_FILE_SIZE);

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j").about("stream operation failed");

    private final FakeCuda cuda = new FakeCuda();
    private final FaultyPosix posix = new FaultyPosix(FakePageCache.ofFirst(ROOM).posix());
    private final Set<String> callsOfServingThreads = ConcurrentHashMap.newKeySet();
    private final FakeStreams streams = new FakeStreams(cuda);
    private Path path;
    private GuardedFile file;
    private CuFileDriver driver;
    private CuFileHandle handle;
    private GuardedMemory memory;
    private volatile Runnable beforeRecord = () -> {
        // most tests record at once
    };

    @BeforeEach
    void open() throws IOException {
        Cuda noted = (Cuda) Proxy.newProxyInstance(
                Cuda.class.getClassLoader(),
                new Class<?>[]{Cuda.class},
                (proxy, method, arguments) -> {
                    if (Thread.currentThread().getName().equals("gds4j-stream")) {
                        callsOfServingThreads.add(method.getName());
                    }
                    if (method.getName().equals("eventRecord")) {
                        beforeRecord.run();
                    }
                    try {
                        return method.invoke(cuda, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        CuFileConfig config = CuFileConfig.builder()
                .withoutEnvironment()
                .set(CuFileKeys.MAX_IO_THREADS, 2L)
                .build();
        driver = CuFileDriver.open(
                new CompatBackend(config, posix, new CudaAvailability.Available(noted, 13000, 1)));
        path = Files.createTempFile(TestFolder.onDisk(), "copies", ".bin");
        file = GuardedFile.create(path, ROOM, 5);
        handle = driver.openFile(
                path, StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT);
        memory = GuardedMemory.allocate(driver.allocator(), MemoryKind.CUDA_DEVICE, ROOM);
    }

    @AfterEach
    void nothingIsLeft() throws IOException {
        memory.close();
        driver.close();
        streams.close();
        Files.delete(path);
        assertThat(posix.leaks()).as("descriptors and mappings left").isEmpty();
        assertThat(cuda.violations()).as("rules of CUDA broken").isEmpty();
        assertThat(cuda.leaks()).as("CUDA objects left").isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
            "1, 0, 0", "1, 4095, 3", "3, 1, 2", "4096, 0, 0", "65536, 0, 0", "65536, 4095, 1", "65537, 0, 0",
            "8388608, 0, 0", "8388609, 512, 16", "27000001, 777, 5"})
    void bytesOfEverySizeAreReadAndWritten(int size, int fileOffset, int bufferOffset) throws Exception {
        streams.inContext(() -> {
            long raw = streams.make();
            CuFileStream.Cells read = streams.cells(size, fileOffset, bufferOffset);
            CuFileStream.Cells write = streams.cells(size, bufferOffset, bufferOffset);
            try (CuFileStream stream = driver.stream(raw, Set.of())) {
                stream.read(handle, memory.range(), read);
                stream.write(handle, memory.range(), write);
                assertThat(cuda.streamSynchronize(raw)).isZero();
            }
            assertThat(result(read)).isEqualTo(size);
            assertThat(result(write)).isEqualTo(size);
            byte[] bytes = file.expected(fileOffset, size);
            memory.expect(bufferOffset, bytes);
            memory.verify();
            file.expectWrite(bufferOffset, bytes);
            file.verify();
        });
    }

    @Test
    void threadsThatServeStreamsAskTheDriverForEventsAlone() throws Exception {
        bytesOfEverySizeAreReadAndWritten(27_000_001, 777, 5);
        assertThat(callsOfServingThreads)
                .contains("eventQuery")
                .isSubsetOf(
                        "eventQuery", "eventSynchronize", "ctxPushCurrent", "ctxPopCurrent",
                        "threadExchangeStreamCaptureMode");
    }

    /** CUDA copies single bytes through the channels in which streams wait. */
    @Test
    void singleBytesDoNotWaitForTheStreamsThatWaitForThem() throws Exception {
        streams.inContext(() -> {
            cuda.limitChannels(5);
            int count = 6;
            CountDownLatch allWait = new CountDownLatch(count);
            posix.on(PosixCall.PREAD).always().runsFirst(() -> {
                allWait.countDown();
                assertThat(catchThrowable(() -> allWait.await(30, TimeUnit.SECONDS))).isNull();
            });
            List<CuFileStream> registered = new ArrayList<>();
            List<CuFileStream.Cells> reads = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                registered.add(driver.stream(streams.make(), Set.of()));
            }
            for (int i = 0; i < count; i++) {
                reads.add(streams.cells(1, i, i));
                registered.get(i).read(handle, memory.range(), reads.get(i));
            }
            streams.synchronize();
            registered.forEach(CuFileStream::close);
            assertThat(reads).extracting(FakeStreams::result).containsOnly(1L);
            memory.expect(0, file.expected(0, count));
            memory.verify();
        });
    }

    @Test
    void earlierCopiesOfStreamsBlockNoOperation() throws Exception {
        streams.inContext(() -> {
            cuda.limitChannels(100);
            int part = 9 * MIB;
            List<CuFileStream> registered = new ArrayList<>();
            List<CuFileStream.Cells> all = new ArrayList<>();
            MemorySegment host = streams.bytes(part);
            for (int i = 0; i < 2; i++) {
                registered.add(driver.stream(streams.make(), Set.of()));
            }
            for (int i = 0; i < 2; i++) {
                long raw = streams.get(i);
                CuFileStream.Cells read = streams.cells(part, 0, (long) i * part);
                CuFileStream.Cells write = streams.cells(part, (long) i * part, (long) i * part);
                all.add(read);
                all.add(write);
                cuda.memcpyHtoDAsync(memory.range().address() + (long) i * part, host.address(), part, raw);
                registered.get(i).read(handle, memory.range(), read);
                cuda.memcpyDtoHAsync(host.address(), memory.range().address() + (long) i * part, part, raw);
                registered.get(i).write(handle, memory.range(), write);
                memory.expect(i * part, file.expected(0, part));
            }
            streams.synchronize();
            registered.forEach(CuFileStream::close);
            assertThat(all).extracting(FakeStreams::result).containsOnly((long) part);
            memory.verify();
        });
    }

    /** Memory of the fake GPU is memory of this process. */
    private byte rawByte(long at) {
        return MemorySegment.ofAddress(memory.range().address() + at).reinterpret(1).get(ValueLayout.JAVA_BYTE, 0);
    }

    @Test
    void streamCopiesTheBeginningWhileTheEndIsRead() throws Exception {
        streams.inContext(() -> {
            long raw = streams.make();
            int size = 16 * MIB;
            byte[] expected = file.expected(0, size);
            int there = 4 * MIB - 1;
            posix.on(PosixCall.PREAD).covering(size - 1).runsFirst(() -> {
                while (rawByte(there) != expected[there]) {
                    Thread.onSpinWait();
                }
            });
            CuFileStream.Cells read = streams.cells(size, 0, 0);
            MemorySegment gate = streams.bytes(Integer.BYTES);
            try (CuFileStream stream = driver.stream(raw, Set.of())) {
                // The stream has queued all parts before it reaches the first.
                cuda.streamWaitValue32(raw, gate.address(), 1, Cuda.STREAM_WAIT_VALUE_GEQ);
                stream.read(handle, memory.range(), read);
                gate.set(ValueLayout.JAVA_INT, 0, 1);
                assertThat(cuda.streamSynchronize(raw)).isZero();
            }
            assertThat(result(read)).isEqualTo(size);
            memory.expect(0, expected);
            memory.verify();
        });
    }

    /** Each stream runs random operations in its own range of the file and of the memory. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void randomOperationsOfSeveralStreamsMoveTheRightBytes(boolean fixed) throws Exception {
        long seed = Long.getLong("gds4j.property.seed", System.nanoTime());
        SplittableRandom random = new SplittableRandom(seed);
        streams.inContext(() -> {
            int count = 3;
            int room = ROOM / count;
            MemorySegment gate = streams.bytes(Integer.BYTES);
            List<Queued> all = new ArrayList<>();
            List<CuFileStream> registered = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                registered.add(driver.stream(streams.make(), fixed ? FIXED : Set.of()));
                cuda.streamWaitValue32(streams.get(i), gate.address(), 1, Cuda.STREAM_WAIT_VALUE_GEQ);
            }
            for (int round = 0; round < 12; round++) {
                for (int i = 0; i < count; i++) {
                    Queued queued = queued(random, i * room, room, fixed);
                    all.add(queued);
                    if (queued.write()) {
                        registered.get(i).write(handle, memory.range(), queued.cells());
                    } else {
                        registered.get(i).read(handle, memory.range(), queued.cells());
                    }
                }
            }
            all.forEach(queued -> queued.cells().size().set(ValueLayout.JAVA_LONG, 0, queued.size()));
            gate.set(ValueLayout.JAVA_INT, 0, 1);
            streams.synchronize();
            registered.forEach(CuFileStream::close);
            for (Queued queued : all) {
                assertThat(result(queued.cells())).as("%s with seed %d", queued, seed).isEqualTo(queued.size());
                if (queued.write()) {
                    file.expectWrite(queued.fileOffset(), memory.expected(queued.bufferOffset(), queued.size()));
                } else {
                    memory.expect(queued.bufferOffset(), file.expected(queued.fileOffset(), queued.size()));
                }
            }
            assertThat(catchThrowable(memory::verify)).as("with seed %d", seed).isNull();
            assertThat(catchThrowable(file::verify)).as("with seed %d", seed).isNull();
        });
    }

    /**
     * @param size what is left of the size at submission once the stream comes to it
     */
    private record Queued(boolean write, int size, int fileOffset, int bufferOffset, CuFileStream.Cells cells) {
    }

    private Queued queued(SplittableRandom random, int from, int room, boolean fixed) {
        int largest = 1 + random.nextInt(1 << random.nextInt(1, 24)) % room;
        int size = fixed || random.nextBoolean() ? largest : random.nextInt(largest + 1);
        int fileOffset = from + random.nextInt(room - largest + 1);
        int bufferOffset = from + random.nextInt(room - largest + 1);
        return new Queued(
                random.nextBoolean(), size, fileOffset, bufferOffset, streams.cells(largest, fileOffset, bufferOffset));
    }

    @Test
    void sizeThatShrinksAndTheEndOfTheFileEndAnOperationEarly() throws Exception {
        streams.inContext(() -> {
            long raw = streams.make();
            MemorySegment gate = streams.bytes(Integer.BYTES);
            CuFileStream.Cells shrunk = streams.cells(27 * MIB, 0, 0);
            CuFileStream.Cells nothing = streams.cells(27 * MIB, 0, 0);
            CuFileStream.Cells atEnd = streams.cells(9 * MIB, ROOM - 5 * MIB, 0);
            CuFileStream.Cells grown = streams.cells(10, 0, 0);
            try (CuFileStream stream = driver.stream(raw, Set.of())) {
                cuda.streamWaitValue32(raw, gate.address(), 1, Cuda.STREAM_WAIT_VALUE_GEQ);
                stream.read(handle, memory.range(), shrunk);
                stream.write(handle, memory.range(), nothing);
                stream.read(handle, memory.range(), grown);
                shrunk.size().set(ValueLayout.JAVA_LONG, 0, 10L * MIB + 1);
                nothing.size().set(ValueLayout.JAVA_LONG, 0, 0);
                grown.size().set(ValueLayout.JAVA_LONG, 0, 11);
                gate.set(ValueLayout.JAVA_INT, 0, 1);
                assertThat(cuda.streamSynchronize(raw)).isZero();
                memory.expect(0, file.expected(0, 10 * MIB + 1));
                memory.verify();
                stream.read(handle, memory.range(), atEnd);
                assertThat(cuda.streamSynchronize(raw)).isZero();
            }
            memory.expect(0, file.expected(ROOM - 5 * MIB, 5 * MIB));
            memory.verify();
            file.verify();
            assertThat(result(shrunk)).isEqualTo(10 * MIB + 1);
            assertThat(result(nothing)).isZero();
            assertThat(result(grown)).isNegative();
            assertThat(result(atEnd)).isEqualTo(5 * MIB);
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void failureInTheMiddleIsInTheResultAndTheStreamGoesOn(boolean writes) throws Exception {
        posix.on(writes ? PosixCall.PWRITE : PosixCall.PREAD).covering(12 * MIB).always().fails(Errno.EIO);
        failsInTheMiddle(writes);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void errorOfTheJvmIsInTheResultAndTheStreamGoesOn(boolean writes) throws Exception {
        posix.on(writes ? PosixCall.PWRITE : PosixCall.PREAD).covering(12 * MIB).runsFirst(() -> {
            throw new StackOverflowError("for the test");
        });
        failsInTheMiddle(writes);
    }

    private void failsInTheMiddle(boolean writes) throws Exception {
        streams.inContext(() -> {
            long raw = streams.make();
            CuFileStream.Cells bad = streams.cells(27 * MIB, 0, 0);
            CuFileStream.Cells good = streams.cells(100, 0, 0);
            try (CuFileStream stream = driver.stream(raw, Set.of())) {
                if (writes) {
                    stream.write(handle, memory.range(), bad);
                } else {
                    stream.read(handle, memory.range(), bad);
                }
                stream.read(handle, memory.range(), good);
                assertThat(cuda.streamSynchronize(raw)).isZero();
            }
            assertThat(result(bad)).isEqualTo(-Errno.EIO);
            assertThat(result(good)).isEqualTo(100);
        });
    }

    @ParameterizedTest
    @CsvSource({
            "false, LAUNCH_KERNEL, 1", "true, LAUNCH_KERNEL, 1", "true, LAUNCH_KERNEL, 2", "false, EVENT_RECORD, 2",
            "true, EVENT_RECORD, 2", "true, EVENT_RECORD, 3", "true, STREAM_WAIT_VALUE32, 2"})
    void callThatCudaRefusesEndsTheOperationAndTheStreamGoesOn(boolean writes, CudaFunction refused, int nth)
            throws Exception {
        streams.inContext(() -> {
            long raw = streams.make();
            CuFileStream.Cells bad = streams.cells(27 * MIB, 0, 0);
            CuFileStream.Cells good = streams.cells(100, 0, 0);
            try (CuFileStream stream = driver.stream(raw, Set.of())) {
                cuda.fail(refused, nth, Cuda.ERROR_OUT_OF_MEMORY);
                Throwable thrown = catchThrowable(() -> {
                    if (writes) {
                        stream.write(handle, memory.range(), bad);
                    } else {
                        stream.read(handle, memory.range(), bad);
                    }
                });
                assertThat(thrown).isInstanceOf(CuFileException.class).hasMessageContaining("cu");
                stream.read(handle, memory.range(), good);
                assertThat(cuda.streamSynchronize(raw)).isZero();
            }
            assertThat(result(good)).isEqualTo(100);
            assertThat(driver.statistics().engine().queueDepth()).isZero();
        });
    }

    /**
     * A call such as cuMemFreeHost waits for all kernels and keeps the driver meanwhile: the event behind a kernel is recorded once the kernel
     * has ended.
     */
    @Test
    void readEndsBeforeTheEventBehindItsKernelIsRecorded() throws Exception {
        streams.inContext(() -> {
            long raw = streams.make();
            CuFileStream.Cells read = streams.cells(27 * MIB, 0, 0);
            AtomicInteger records = new AtomicInteger();
            AtomicBoolean passed = new AtomicBoolean();
            try (CuFileStream stream = driver.stream(raw, Set.of())) {
                beforeRecord = () -> {
                    if (records.incrementAndGet() == 2) {
                        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
                        while (cuda.streamQuery(raw) == Cuda.ERROR_NOT_READY && System.nanoTime() < end) {
                            Thread.onSpinWait();
                        }
                        passed.set(cuda.streamQuery(raw) == Cuda.SUCCESS);
                    }
                };
                stream.read(handle, memory.range(), read);
                assertThat(cuda.streamSynchronize(raw)).isZero();
            }
            assertThat(passed).isTrue();
            assertThat(result(read)).isEqualTo(27 * MIB);
            memory.expect(0, file.expected(0, 27 * MIB));
            memory.verify();
        });
    }

    @Test
    void readWithoutAnEventEndsThoughNobodyAsksTheStream() throws Exception {
        streams.inContext(() -> {
            long raw = streams.make();
            CuFileStream stream = driver.stream(raw, Set.of());
            cuda.fail(CudaFunction.EVENT_RECORD, 2, Cuda.ERROR_OUT_OF_MEMORY);
            CuFileStream.Cells bad = streams.cells(27 * MIB, 0, 0);
            assertThat(catchThrowable(() -> stream.read(handle, memory.range(), bad)))
                    .isInstanceOf(CuFileException.class);

            Thread closing = Thread.ofPlatform().daemon().start(stream::close);
            boolean closed = closing.join(Duration.ofSeconds(20));
            cuda.streamSynchronize(raw); // else the end of this test would hang, too
            closing.join();

            assertThat(closed).isTrue();
        });
    }

    /** CUDA's queue for a stream is full with 1024, and then the submitting thread waits in the driver. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void operationTakesAsManyQueueEntriesWhateverItsSize(boolean writes) throws Exception {
        streams.inContext(() -> {
            long raw = streams.make();
            MemorySegment gate = streams.bytes(Integer.BYTES);
            int[] sizes = {66_000, 5 * MIB, 27 * MIB};
            List<CuFileStream.Cells> all = new ArrayList<>();
            try (CuFileStream stream = driver.stream(raw, Set.of())) {
                cuda.streamWaitValue32(raw, gate.address(), 1, Cuda.STREAM_WAIT_VALUE_GEQ);
                for (int size : sizes) {
                    int before = cuda.queueEntries(raw);
                    all.add(streams.cells(size, 0, 0));
                    if (writes) {
                        stream.write(handle, memory.range(), all.getLast());
                    } else {
                        stream.read(handle, memory.range(), all.getLast());
                    }
                    assertThat(cuda.queueEntries(raw) - before).as("entries for %d bytes", size)
                            .isEqualTo(writes ? 7 : 5);
                }
                gate.set(ValueLayout.JAVA_INT, 0, 1);
                assertThat(cuda.streamSynchronize(raw)).isZero();
            }
            assertThat(all).extracting(FakeStreams::result).containsExactly(66_000L, 5L * MIB, 27L * MIB);
        });
    }

    @Test
    void waitingStreamTakesItsMostOperationsAtOnceAndNoMore() throws Exception {
        streams.inContext(() -> {
            long raw = streams.make();
            MemorySegment gate = streams.bytes(Integer.BYTES);
            List<CuFileStream.Cells> all = new ArrayList<>();
            try (CuFileStream stream = driver.stream(raw, Set.of())) {
                cuda.streamWaitValue32(raw, gate.address(), 1, Cuda.STREAM_WAIT_VALUE_GEQ);
                for (int i = 0; i < 128; i++) {
                    all.add(streams.cells(i % 2 == 0 ? 66_000 : 3000, i * 70_000L, i * 70_000L));
                    stream.write(handle, memory.range(), all.getLast());
                }
                int entries = cuda.queueEntries(raw);
                CuFileStream.Cells more = streams.cells(3000, 0, 0);
                Thread next = Thread.ofPlatform().start(() -> stream.write(handle, memory.range(), more));
                while (next.isAlive() && next.getState() != Thread.State.WAITING
                        && next.getState() != Thread.State.TIMED_WAITING) {
                    Thread.onSpinWait();
                }
                int later = cuda.queueEntries(raw);
                gate.set(ValueLayout.JAVA_INT, 0, 1);
                next.join();
                assertThat(entries).isLessThan(1024);
                assertThat(later).as("entries while one operation more waits").isEqualTo(entries);
                assertThat(cuda.streamSynchronize(raw)).isZero();
                assertThat(result(more)).isEqualTo(3000);
            }
            assertThat(all).extracting(FakeStreams::result).containsOnly(66_000L, 3000L);
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void bellThatCudaRefusesIsDoneWithout(boolean later) throws Exception {
        streams.inContext(() -> {
            long raw = streams.make();
            if (!later) {
                cuda.failAlways(CudaFunction.LAUNCH_KERNEL_EX, Cuda.ERROR_NOT_FOUND);
            }
            List<CuFileStream.Cells> reads = new ArrayList<>();
            try (CuFileStream stream = driver.stream(raw, FIXED)) {
                cuda.failAlways(CudaFunction.LAUNCH_KERNEL_EX, Cuda.ERROR_NOT_FOUND);
                for (int i = 0; i < 4; i++) {
                    reads.add(streams.cells(7 * MIB, i * MIB, i * 7L * MIB));
                    stream.read(handle, memory.range(), reads.getLast());
                    memory.expect(i * 7 * MIB, file.expected(i * MIB, 7 * MIB));
                }
                assertThat(cuda.streamSynchronize(raw)).isZero();
            }
            assertThat(reads).extracting(FakeStreams::result).containsOnly(7L * MIB);
            memory.verify();
        });
    }

    /** A read may begin before the read in front of it ends, but not before other work in front of it. */
    @Test
    void readsBehindOtherWorkWaitForIt() throws Exception {
        streams.inContext(() -> {
            long raw = streams.make();
            MemorySegment done = streams.bytes(Integer.BYTES);
            CuFileStream.Cells one = streams.cells(3 * MIB, 0, 0);
            CuFileStream.Cells two = streams.cells(3 * MIB, 20 * MIB, 10 * MIB);
            Set<Integer> seen = ConcurrentHashMap.newKeySet();
            posix.on(PosixCall.PREAD).covering(20 * MIB).runsFirst(() -> seen.add(done.get(ValueLayout.JAVA_INT, 0)));
            try (CuFileStream stream = driver.stream(raw, FIXED)) {
                stream.read(handle, memory.range(), one);
                cuda.streamWriteValue32(raw, done.address(), 1);
                stream.read(handle, memory.range(), two);
                while (cuda.streamQuery(raw) == Cuda.ERROR_NOT_READY) {
                    Thread.onSpinWait();
                }
            }
            assertThat(seen).containsExactly(1);
            assertThat(result(one)).isEqualTo(3 * MIB);
            assertThat(result(two)).isEqualTo(3 * MIB);
        });
    }

    @ParameterizedTest
    @ValueSource(ints = {4, 100})
    void manyLargeOperationsShareAFewSlabs(int channels) throws Exception {
        streams.inContext(() -> {
            cuda.limitChannels(channels);
            int count = 12;
            List<CuFileStream> registered = new ArrayList<>();
            List<CuFileStream.Cells> all = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                registered.add(driver.stream(streams.make(), Set.of()));
            }
            for (int round = 0; round < 2; round++) {
                for (int i = 0; i < count; i++) {
                    CuFileStream.Cells read = streams.cells(9 * MIB, i * 4096L, i * 4096L);
                    CuFileStream.Cells write = streams.cells(9 * MIB, i * 4096L, i * 4096L);
                    all.add(read);
                    all.add(write);
                    registered.get(i).read(handle, memory.range(), read);
                    registered.get(i).write(handle, memory.range(), write);
                }
            }
            streams.synchronize();
            registered.forEach(CuFileStream::close);
            assertThat(all).extracting(FakeStreams::result).containsOnly(9L * MIB);
            memory.expect(0, file.expected(0, 9 * MIB + (count - 1) * 4096));
            memory.verify();
            file.verify();
        });
    }
}
