package io.gds4j.libcufile.stream;

import static io.gds4j.spi.Operation.STREAM_READ;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.HostStream;
import io.gds4j.Logged;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.libcufile.FakeMachine;
import io.gds4j.libcufile.file.LibraryFile;
import io.gds4j.libcufile.process.OpenLibrary;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.StreamRequest;
import io.gds4j.testkit.RandomBytes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The library moves the bytes of stream operations; gds4j keeps the order of the streams. */
@Tag("slow")
@Timeout(value = 12, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SessionStreamsTest extends StreamRig {
    private static final long POLL_NANOS = 100_000;
    private static final int HALF = (int) (StagingSlab.BYTES / 2);

    @RegisterExtension
    private final Logged logged = Logged.by("io.gds4j.libcufile").about("result cell");

    private final MemorySegment gate = arena.allocate(JAVA_INT);

    /** Makes the stream wait until {@link #openGate}. */
    private void closeGate(long stream) {
        machine.cuda.asProgram(() -> inContext(
                () -> machine.cuda.streamWaitValue32(stream, gate.address(), 1, Cuda.STREAM_WAIT_VALUE_GEQ)));
    }

    private void openGate() {
        gate.set(JAVA_INT, 0, 1);
    }

    private void await(long stream) {
        inContext(() -> assertThat(machine.cuda.streamSynchronize(stream)).isZero());
    }

    @Test
    void streamsAreRegisteredOnceAndDeregisteredOnce() {
        long stream = stream();
        backend.streamRegister(stream, 0);
        expect(CuFileError.INVALID_VALUE, () -> backend.streamRegister(stream, 0));
        backend.streamDeregister(stream);
        expect(CuFileError.INVALID_VALUE, () -> backend.streamDeregister(stream));
        expect(CuFileError.INVALID_VALUE, () -> backend.streamRegister(stream, 16));
    }

    @Test
    void unusableCellIsRefusedAtSubmission() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        long stream = stream();
        Operation good = new Operation(1, 0, 0);
        for (MemorySegment bad : new MemorySegment[]{
                MemorySegment.NULL,
                MemorySegment.ofArray(new long[1]),
                arena.allocate(4),
                arena.allocate(16, 8).asSlice(4, 8),
                arena.allocate(8, 8).asReadOnly()
        }) {
            StreamRequest request = new StreamRequest(
                    file, memory.range(), good.size, good.fileOffset, good.bufferOffset, bad, stream);
            expect(CuFileError.INVALID_VALUE, () -> backend.readAsync(request));
        }
        assertThat(fake.callsOf("cuFileReadAsync")).isEmpty();
    }

    @Test
    void deadHandleIsRefused() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        long stream = stream();
        backend.handleDeregister(file);
        StreamRequest request = new Operation(1, 0, 0).of(file, memory.range(), stream);
        expect(CuFileError.HANDLE_NOT_REGISTERED, () -> backend.readAsync(request));
        assertThat(failure(() -> backend.readAsync(request)).function()).isEqualTo("cuFileReadAsync");
        assertThat(failure(() -> backend.writeAsync(request)).function()).isEqualTo("cuFileWriteAsync");
    }

    @Test
    void readAndWriteKeepTheirPlaceInTheStream() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        long stream = stream();
        backend.streamRegister(stream, 0);
        inContext(() -> machine.cuda.memsetD8Async(memory.range().address(), (byte) 5, 65536, stream));
        Operation read = new Operation(1000, 50, 10);
        backend.readAsync(read.of(file, memory.range(), stream));
        inContext(() -> machine.cuda.memsetD8Async(memory.range().address() + 10, (byte) 6, 1, stream));
        Operation write = new Operation(100, SIZE, 10);
        backend.writeAsync(write.of(file, memory.range(), stream));
        await(stream);
        assertThat(read.moved()).isEqualTo(1000);
        assertThat(write.moved()).isEqualTo(100);
        assertThat(bytes(memory, 0, 10)).containsOnly(5);
        assertThat(bytes(memory, 10, 1)).containsOnly(6);
        assertThat(bytes(memory, 11, 999)).isEqualTo(expected(51, 999));
        assertThat(file.size()).isEqualTo(SIZE + 100);
        backend.streamDeregister(stream);
        assertThat(fake.callsOf("cuFileReadAsync")).isEmpty();
        assertThat(fake.callsOf("cuFileStreamRegister")).isEmpty();
    }

    @Test
    void cellsAreReadWhenTheStreamReachesThem() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        long stream = stream();
        closeGate(stream);
        Operation read = new Operation(4096, 1L << 40, 1L << 40);
        backend.readAsync(read.of(file, memory.range(), stream));
        read.bind(100, 1001, 33);
        assertThat(read.moved()).isEqualTo(UNTOUCHED);
        openGate();
        await(stream);
        assertThat(read.moved()).isEqualTo(100);
        assertThat(bytes(memory, 33, 100)).isEqualTo(expected(1001, 100));
    }

    @Test
    void fixedCellsAreReadAtSubmission() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        long stream = stream();
        backend.streamRegister(stream, 7);
        closeGate(stream);
        Operation read = new Operation(100, 1001, 33);
        backend.readAsync(read.of(file, memory.range(), stream));
        read.bind(1, 2, 3);
        openGate();
        await(stream);
        assertThat(read.moved()).isEqualTo(100);
        assertThat(bytes(memory, 33, 100)).isEqualTo(expected(1001, 100));
    }

    @ParameterizedTest
    @CsvSource({"4097,0,0", "-1,0,0", "1,-1,0", "1,0,-1", "1,0,65536"})
    void resultCellHoldsTheFailureOfAnOperation(long size, long fileOffset, long bufferOffset) {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        long stream = stream();
        closeGate(stream);
        Operation read = new Operation(4096, 0, 0);
        backend.readAsync(read.of(file, memory.range(), stream));
        read.bind(size, fileOffset, bufferOffset);
        Operation next = new Operation(10, 20, 0);
        backend.readAsync(next.of(file, memory.range(), stream));
        openGate();
        await(stream);
        assertThat(read.moved()).isLessThan(-5000);
        assertThat(next.moved()).as("the stream goes on").isEqualTo(10);
    }

    /** The program has closed its arena too early; the stream goes on. */
    @Test
    void resultCellThatIsGoneIsLogged() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        long stream = stream();
        Operation read = new Operation(4096, 0, 0);
        try (Arena early = Arena.ofShared()) {
            closeGate(stream);
            backend.readAsync(new StreamRequest(file, memory.range(), read.size, read.fileOffset, read.bufferOffset,
                    early.allocate(JAVA_LONG), stream));
        }
        openGate();
        await(stream);
        assertThat(logged.lines()).singleElement().asString().startsWith("SEVERE the result cell");
        assertThat(bytes(memory, 0, 4096)).isEqualTo(expected(0, 4096));
    }

    @Test
    void resultCellHoldsTheFailureOfTheLibrary() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        long stream = stream();
        fake.transfers().answerNext(-1, Errno.EIO);
        Operation read = new Operation(4096, 0, 0);
        backend.readAsync(read.of(file, memory.range(), stream));
        await(stream);
        assertThat(read.moved()).isEqualTo(-Errno.EIO);
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class, names = {"CUDA_DEVICE", "CUDA_MANAGED", "CUDA_POOL", "HOST"})
    void readAcrossTheEndIsShortAndLeavesTheRestUntouched(MemoryKind kind) {
        MemoryAllocation memory = allocate(kind, 65536);
        backend.allocator().fill(memory.range(), (byte) 7);
        BackendFile file = file();
        long stream = stream();
        Operation across = new Operation(8192, SIZE - 4096, 1);
        backend.readAsync(across.of(file, memory.range(), stream));
        Operation behind = new Operation(4096, SIZE, 8192);
        backend.readAsync(behind.of(file, memory.range(), stream));
        await(stream);
        assertThat(across.moved()).isEqualTo(4096);
        assertThat(behind.moved()).isZero();
        assertThat(bytes(memory, 1, 4096)).isEqualTo(expected(SIZE - 4096, 4096));
        assertThat(bytes(memory, 4097, 65536 - 4097)).containsOnly(7);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 511, 65535, 65536, HALF - 1, HALF, HALF + 1, 2 * HALF + 77, 5 * HALF})
    void operationsOfAnySizeMoveTheirBytes(int size) {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, size + 3);
        MemoryAllocation back = allocate(MemoryKind.CUDA_DEVICE, size + 3);
        BackendFile file = file();
        MemorySegment content = MemorySegment.ofArray(RandomBytes.of(size, size));
        backend.allocator().copyFromHost(content, memory.range().slice(3, size));
        long stream = stream();
        Operation write = new Operation(size, 5, 3);
        backend.writeAsync(write.of(file, memory.range(), stream));
        Operation read = new Operation(size, 5, 2);
        backend.readAsync(read.of(file, back.range(), stream));
        await(stream);
        assertThat(write.moved()).isEqualTo(size);
        assertThat(read.moved()).isEqualTo(size);
        assertThat(MemorySegment.ofArray(bytes(back, 2, size)).mismatch(content)).isEqualTo(-1);
    }

    @Test
    void waitingStreamsDoNotStopSmallPieces() {
        int count = 64;
        machine.cuda.limitChannels(8);
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, count * 512L);
        BackendFile file = file();
        List<Long> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(stream());
            backend.streamRegister(all.get(i), 0);
        }
        List<Operation> reads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            closeGate(all.get(i));
            Operation read = new Operation(511, i, i * 512L);
            reads.add(read);
            backend.readAsync(read.of(file, memory.range(), all.get(i)));
        }
        // No transfer begins before each stream waits for its own.
        CountDownLatch allWait = new CountDownLatch(1);
        fake.transfers().during(() -> {
            while (allWait.getCount() > 0 && machine.cuda.waitingStreams() < count) {
                LockSupport.parkNanos(POLL_NANOS);
            }
            allWait.countDown();
        });
        openGate();
        all.forEach(this::await);
        for (int i = 0; i < count; i++) {
            assertThat(reads.get(i).moved()).isEqualTo(511);
            assertThat(bytes(memory, i * 512L, 511)).isEqualTo(expected(i, 511));
        }
    }

    @Test
    void libraryLearnsOfNoMemoryWhileAStreamWaits() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        MemoryAllocation registered = allocate(MemoryKind.CUDA_DEVICE, 65536);
        backend.bufRegister(registered.range(), 0);
        BackendFile file = file();
        long stream = stream();
        closeGate(stream);
        Operation read = new Operation(10, 0, 0);
        backend.readAsync(read.of(file, memory.range(), stream));
        assertThat(backend.read(file, registered.range(), 4096, 0, 0)).isEqualTo(4096);
        assertThat(fake.callsOf("cuFileBufRegister")).isEmpty();
        openGate();
        await(stream);
        backend.streamDeregister(stream);
        assertThat(backend.read(file, registered.range(), 4096, 0, 0)).isEqualTo(4096);
        assertThat(fake.callsOf("cuFileBufRegister")).hasSize(1);
    }

    @Test
    void libraryReleasesMemoryOnceNoStreamWaits() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        MemoryAllocation registered = allocate(MemoryKind.CUDA_DEVICE, 65536);
        backend.bufRegister(registered.range(), 0);
        BackendFile file = file();
        backend.read(file, registered.range(), 4096, 0, 0);
        assertThat(fake.callsOf("cuFileBufRegister")).hasSize(1);
        long stream = stream();
        closeGate(stream);
        backend.readAsync(new Operation(10, 0, 0).of(file, memory.range(), stream));
        CountDownLatch done = new CountDownLatch(1);
        Thread.ofPlatform().start(() -> {
            backend.bufDeregister(registered.range());
            done.countDown();
        });
        assertThat(done.await(20, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(fake.callsOf("cuFileBufDeregister")).isEmpty();
        openGate();
        await(stream);
        done.await();
        assertThat(fake.callsOf("cuFileBufDeregister")).hasSize(1);
    }

    @Test
    void deregisteringAFileWaitsForItsStreamOperations() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        long stream = stream();
        closeGate(stream);
        Operation read = new Operation(100, 0, 0);
        backend.readAsync(read.of(file, memory.range(), stream));
        CountDownLatch done = new CountDownLatch(1);
        Thread.ofPlatform().start(() -> {
            backend.handleDeregister(file);
            done.countDown();
        });
        assertThat(done.await(20, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(fake.callsOf("cuFileHandleDeregister")).isEmpty();
        openGate();
        done.await();
        assertThat(read.moved()).isEqualTo(100);
        assertThat(fake.callsOf("cuFileHandleDeregister")).hasSize(1);
    }

    @Test
    void closingTheDriverWaitsForStreams() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        long stream = stream();
        closeGate(stream);
        Operation write = new Operation(100, 0, 0);
        backend.writeAsync(write.of(file, memory.range(), stream));
        Thread closing = Thread.ofPlatform().start(() -> backend.driverClose());
        openGate();
        closing.join();
        assertThat(write.moved()).isEqualTo(100);
        assertThat(fake.calls()).endsWith("cuFileDriverClose()");
        backend.driverOpen();
    }

    @Test
    void unknownHostStreamIsRefused() {
        expect(CuFileError.INVALID_VALUE, () -> backend.streamRegister(Long.MIN_VALUE, 0));
    }

    /** The stream of the memory's context copies by itself; fragments are copied by lanes of the session. */
    @Test
    void lanesAreMadeForTheFirstOperationThatNeedsThem() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        MemoryAllocation host = allocate(MemoryKind.HOST, 65536);
        BackendFile file = file();
        long stream = stream();
        backend.readAsync(new Operation(4096, 0, 0).of(file, memory.range(), stream));
        backend.readAsync(new Operation(4096, 0, 0).of(file, host.range(), stream));
        long streams = machine.cuda.calls(CudaFunction.STREAM_CREATE);
        Operation scattered = new Operation(4096, 0, 0);
        backend.readAsync(scattered.of(file, memory.range(), stream)
                .scattered(List.of(new ScatterCopy(0, 4096, memory.range(), 100))));
        await(stream);
        assertThat(machine.cuda.calls(CudaFunction.STREAM_CREATE)).isEqualTo(streams + 8);
        assertThat(scattered.moved()).isEqualTo(4096);
        assertThat(bytes(memory, 100, 4096)).isEqualTo(expected(0, 4096));
    }

    @Test
    void aHostStreamReachesAGpu() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        Operation read = new Operation(5000, 7, 3);
        try (HostStream host = HostStream.create()) {
            backend.readAsync(read.of(file(), memory.range(), host.address()));
            host.synchronize();
        }
        assertThat(read.moved()).isEqualTo(5000);
        assertThat(bytes(memory, 3, 5000)).isEqualTo(expected(7, 5000));
    }

    @Test
    void aSessionIsBusyUntilItsStreamsGoOnOrTheProcessEnds() throws InterruptedException {
        OpenLibrary library = openLibrary();
        SessionStreams session =
                new SessionStreams(library, machine.cuda.available().contexts(), transfers(library));
        MemoryAllocation memory = allocate(MemoryKind.HOST, 65536);
        BackendFile file = file();
        CountDownLatch released = new CountDownLatch(1);
        fake.transfers().during(() -> {
            try {
                released.await();
            } catch (InterruptedException e) {
                fake.violated("a thread of the session is interrupted");
            }
        });
        long stream = stream();
        assertThat(session.isBusy()).isFalse();
        Operation read = new Operation(100, 5, 0);
        inContext(() -> session.submit((LibraryFile) file, STREAM_READ, read.of(file, memory.range(), stream)));
        assertThat(session.isBusy()).isTrue();
        session.releaseForExit();
        Thread program = Thread.ofPlatform().start(() -> await(stream));
        boolean goesOn = program.join(Duration.ofSeconds(5)); // although the bytes have not moved
        released.countDown();
        assertThat(goesOn).isTrue();
        session.close();
        assertThat(session.isBusy()).isFalse();
    }

    @Test
    void alignedRegisteredMemoryOfADirectFileNeedsNoSlab() {
        FakeMachine direct = new FakeMachine().withDirectStorage();
        CuFileBackend there = direct.backend();
        there.driverOpen();
        long[] cell = new long[1];
        direct.cuda.devicePrimaryCtxRetain(cell, 0);
        direct.cuda.ctxPushCurrent(cell[0]);
        direct.cuda.streamCreate(cell, Cuda.STREAM_NON_BLOCKING);
        long stream = cell[0];
        BackendFile file = there.handleRegister(source(path));
        try (MemoryAllocation registered = there.allocator().allocate(MemoryKind.CUDA_DEVICE, 65536);
                MemoryAllocation plain = there.allocator().allocate(MemoryKind.CUDA_DEVICE, 65536)) {
            long toPage = -registered.range().address() & 4095;
            MemoryRange known = registered.range().slice(toPage, 16384);
            MemoryRange longer = registered.range().slice(toPage, 32768); // of the same address
            MemoryRange shifted = registered.range().slice(toPage + 17_408, 16384); // a page begins at byte 3072 of it
            there.bufRegister(known, 0);
            there.bufRegister(shifted, 0);
            there.read(file, known, 4096, 0, 0);
            there.read(file, shifted, 4096, 0, 0);
            List<Long> bases = new ArrayList<>();
            direct.fake.transfers().observe(bases::add);
            there.readAsync(new Operation(8192, 4096, 4096).of(file, known, stream));
            there.readAsync(new Operation(16384, 4096, 0).of(file, known, stream));
            there.readAsync(new Operation(8192, 4095, 0).of(file, known, stream));
            there.readAsync(new Operation(8192, 4096, 512).of(file, known, stream));
            there.readAsync(new Operation(8191, 4096, 0).of(file, known, stream));
            there.readAsync(new Operation(8192, 4096, 12288).of(file, longer, stream));
            there.readAsync(new Operation(4096, 4096, 16384).of(file, longer, stream));
            there.readAsync(new Operation(8192, 4096, 0).of(file, plain.range(), stream));
            there.readAsync(new Operation(8192, 4096, 3072).of(file, shifted, stream));
            direct.cuda.streamSynchronize(stream);
            there.streamDeregister(stream);
            assertThat(bases).hasSize(9).endsWith(shifted.address());
            assertThat(bases.subList(0, 2)).containsOnly(known.address());
            assertThat(bases.subList(2, 8)).doesNotContain(known.address(), plain.range().address());
            there.bufDeregister(known);
            there.bufDeregister(shifted);
        }
        direct.cuda.streamDestroy(stream);
        direct.cuda.ctxPopCurrent(cell);
        there.driverClose();
        assertThat(direct.fake.violations()).isEmpty();
    }

    /** Each half of a slab serves several pieces, which differ: one that came into a half before its turn would be seen. */
    @ParameterizedTest
    @CsvSource({"CUDA_DEVICE, 1", "CUDA_DEVICE, 511", "CUDA_DEVICE, 65536", "CUDA_DEVICE, 7340109",
            "CUDA_POOL, 7340109",
            "CUDA_VMM, 7340109", "CUDA_MANAGED, 7340109"})
    void operationReachesMemoryOfAnotherGpu(MemoryKind kind, int size) {
        FakeMachine two = FakeMachine.withTwoGpus();
        CuFileBackend there = two.backend();
        there.driverOpen();
        long[] cell = new long[1];
        two.cuda.devicePrimaryCtxRetain(cell, 0);
        two.cuda.ctxPushCurrent(cell[0]);
        two.cuda.streamCreate(cell, Cuda.STREAM_NON_BLOCKING);
        long stream = cell[0];
        BackendFile file = there.handleRegister(source(path));
        byte[] content = RandomBytes.of(size, size);
        int left = size / 3; // the fragments lie the other way round
        try (MemoryAllocation memory = there.allocator().allocate(kind, size, 1);
                MemoryAllocation back = there.allocator().allocate(kind, size, 1);
                MemoryAllocation parts = there.allocator().allocate(kind, size, 1)) {
            there.allocator().copyFromHost(MemorySegment.ofArray(content), memory.range());
            Operation write = new Operation(size, 7, 0);
            there.writeAsync(write.of(file, memory.range(), stream));
            Operation read = new Operation(size, 7, 0);
            there.readAsync(read.of(file, back.range(), stream));
            List<ScatterCopy> fragments = left == 0
                    ? List.of(new ScatterCopy(0, size, parts.range(), 0))
                    : List.of(new ScatterCopy(0, left, parts.range(), size - left),
                            new ScatterCopy(left, size - left, parts.range(), 0));
            Operation scattered = new Operation(size, 7, 0);
            there.readAsync(scattered.of(file, parts.range(), stream).scattered(fragments));
            Operation gathered = new Operation(size, 7 + size, 0);
            there.writeAsync(gathered.of(file, parts.range(), stream).scattered(fragments));
            Operation last = new Operation(size, 7 + size, 0);
            there.readAsync(last.of(file, memory.range(), stream));
            two.cuda.streamSynchronize(stream);
            there.streamDeregister(stream);
            assertThat(List.of(write, read, scattered, gathered, last)).extracting(Operation::moved)
                    .containsOnly((long) size);
            assertThat(bytes(there, back)).isEqualTo(content);
            assertThat(bytes(there, memory)).isEqualTo(content);
            byte[] moved = bytes(there, parts);
            assertThat(Arrays.mismatch(moved, size - left, size, content, 0, left)).isEqualTo(-1);
            assertThat(Arrays.mismatch(moved, 0, size - left, content, left, size)).isEqualTo(-1);
        }
        two.cuda.streamDestroy(stream);
        two.cuda.ctxPopCurrent(cell);
        there.driverClose();
        assertThat(two.fake.violations()).isEmpty();
        assertThat(two.cuda.violations()).isEmpty();
    }

    private static byte[] bytes(CuFileBackend backend, MemoryAllocation memory) {
        byte[] bytes = new byte[(int) memory.range().length()];
        backend.allocator().copyToHost(memory.range(), MemorySegment.ofArray(bytes));
        return bytes;
    }

    @Test
    void withoutParallelIoThereAreNoStreams() {
        backend.driverClose();
        CuFileBackend alone =
                machine.backend(CuFileConfig.builder().set(CuFileKeys.PARALLEL_IO, false).build());
        alone.driverOpen();
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = alone.handleRegister(source(path));
        long stream = stream();
        expect(
                CuFileError.ASYNC_NOT_SUPPORTED,
                () -> alone.readAsync(new Operation(1, 0, 0).of(file, memory.range(), stream)));
        assertThat(alone.controls().driverGetProperties().featureFlags() & 4).isZero();
        alone.driverClose();
        backend.driverOpen();
        assertThat(backend.controls().driverGetProperties().featureFlags() & 4).isEqualTo(4);
    }
}
