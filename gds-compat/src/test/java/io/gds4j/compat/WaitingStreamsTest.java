package io.gds4j.compat;

import static io.gds4j.compat.FakeStreams.result;
import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.CuFileOpenOption;
import io.gds4j.CuFileStream;
import io.gds4j.config.CuFileConfig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.cuda.FakeCuda;
import io.gds4j.ffi.posix.FaultyPosix;
import io.gds4j.ffi.posix.FfmPosix;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.internal.lifetime.Uninterruptibly;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * While a stream waits for a word, or a kernel of the program runs, or the program captures a graph, requests make no call that could wait for
 * these or disturb them. The fake driver notes each such call as a violation, and the end of each test asserts that there is none.
 */
@Tag("slow")
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class WaitingStreamsTest {
    private static final int MIB = 1 << 20;
    private static final int SIZE = 9 * MIB + 77;

    private final FakeCuda cuda = new FakeCuda(2, 512L << 20);
    private final FaultyPosix posix = new FaultyPosix(FfmPosix.instance());
    private final CuFileDriver driver = CuFileDriver.open(new CompatBackend(
            CuFileConfig.builder().withoutEnvironment()
                    .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, 1024L, 4096L))
                    .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(16L, 6L, 6L))
                    .set(CuFileKeys.MAX_IO_THREADS, 3L)
                    .set(CuFileKeys.MAX_REQUEST_PARALLELISM, 4L)
                    .build(),
            posix, cuda.available()));
    private final FakeStreams streams = new FakeStreams(cuda);
    private GuardedFile file;
    private CuFileHandle handle;

    @BeforeEach
    void makeFile() throws IOException {
        file = GuardedFile.create(Files.createTempFile(TestFolder.onDisk(), "waits", ".bin"), SIZE, 5);
        handle = driver.openFile(
                file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE, CuFileOpenOption.DIRECT);
    }

    @AfterEach
    void noRuleIsBroken() throws IOException {
        handle.close();
        assertThat(driver.statistics().engine().bouncePoolBytes()).as("bytes of slabs in use").isZero();
        driver.close();
        streams.close();
        Files.delete(file.path());
        assertThat(cuda.violations()).isEmpty();
        assertThat(cuda.leaks()).isEmpty();
    }

    private GuardedMemory memory(MemoryKind kind) {
        return GuardedMemory.allocate(driver.allocator(), kind, SIZE);
    }

    private void verify(GuardedMemory memory) {
        memory.expect(0, file.expected(0, SIZE));
        memory.verify();
    }

    /** The program's gate holds the stream, so that the operation begins when all other threads are idle. */
    @ParameterizedTest
    @EnumSource(names = {"CUDA_DEVICE", "CUDA_MANAGED", "CUDA_POOL", "HOST_PINNED"})
    void theFirstOperationOfAProcessOnAGatedStream(MemoryKind kind) throws Exception {
        streams.inContext(() -> {
            try (GuardedMemory memory = memory(kind)) {
                long raw = streams.make();
                MemorySegment gate = streams.bytes(Integer.BYTES);
                try (CuFileStream stream = driver.stream(raw, Set.of())) {
                    cuda.streamWaitValue32(raw, gate.address(), 1, Cuda.STREAM_WAIT_VALUE_GEQ);
                    CuFileStream.Cells read = streams.cells(SIZE, 0, 0);
                    stream.read(handle, memory.range(), read);
                    CuFileStream.Cells write = streams.cells(SIZE, 0, 0);
                    stream.write(handle, memory.range(), write);
                    gate.set(ValueLayout.JAVA_INT, 0, 1);
                    assertThat(cuda.streamSynchronize(raw)).isZero();
                    assertThat(result(read)).isEqualTo(SIZE);
                    assertThat(result(write)).isEqualTo(SIZE);
                }
                verify(memory);
                file.verify();
            }
        });
    }

    @Test
    void memoryOfAnotherGpuIsReadWhileOthersHoldAllSlabs() throws Exception {
        streams.inContext(() -> {
            try (MemoryAllocation memory = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE, 1);
                    GuardedMemory managed = memory(MemoryKind.CUDA_MANAGED);
                    GuardedMemory other = memory(MemoryKind.CUDA_DEVICE)) {
                long raw = streams.make();
                try (CuFileStream stream = driver.stream(raw, Set.of());
                        ExecutorService threads = Executors.newFixedThreadPool(3)) {
                    handle.read(memory.range(), SIZE, 0, 0);
                    CountDownLatch held = new CountDownLatch(1);
                    CountDownLatch go = new CountDownLatch(1);
                    posix.on(PosixCall.PREAD).covering(MIB).runsFirst(() -> {
                        held.countDown();
                        Uninterruptibly.await(go::await);
                    });
                    threads.submit(() -> handle.read(other.range(), SIZE, 0, 0));
                    held.await();
                    CuFileStream.Cells read = streams.cells(SIZE, 0, 0);
                    stream.read(handle, memory.range(), read);
                    threads.submit(() -> managed.verify()); // copies managed memory to the host meanwhile
                    cuda.streamSynchronize(raw);
                    assertThat(result(read)).isEqualTo(SIZE);
                    go.countDown();
                }
                byte[] bytes = new byte[SIZE];
                driver.allocator().copyToHost(memory.range(), MemorySegment.ofArray(bytes));
                assertThat(bytes).isEqualTo(file.expected(0, SIZE));
                verify(other);
            }
        });
    }

    @Test
    void managedMemoryIsCopiedAndFilledWhileAStreamWaits() throws Exception {
        streams.inContext(() -> {
            try (GuardedMemory managed = memory(MemoryKind.CUDA_MANAGED);
                    GuardedMemory device = memory(MemoryKind.CUDA_DEVICE);
                    GuardedMemory target = memory(MemoryKind.CUDA_DEVICE);
                    Arena arena = Arena.ofConfined()) {
                handle.read(device.range(), SIZE, 0, 0);
                long raw = streams.make();
                CountDownLatch arrived = new CountDownLatch(1);
                CountDownLatch go = new CountDownLatch(1);
                try (CuFileStream stream = driver.stream(raw, Set.of())) {
                    posix.on(PosixCall.PREAD).runsFirst(() -> {
                        arrived.countDown();
                        Uninterruptibly.await(go::await);
                    });
                    CuFileStream.Cells read = streams.cells(SIZE, 0, 0);
                    stream.read(handle, target.range(), read);
                    while (cuda.waitingStreams() == 0) {
                        cuda.streamQuery(raw);
                    }
                    arrived.await();
                    driver.allocator().fill(managed.range(), (byte) 3);
                    driver.allocator().copy(device.range().slice(0, SIZE), managed.range().slice(0, SIZE));
                    driver.allocator().copy(managed.range().slice(0, SIZE), device.range().slice(0, SIZE));
                    driver.allocator().copyToHost(managed.range(), arena.allocate(SIZE));
                    go.countDown();
                    cuda.streamSynchronize(raw);
                    assertThat(result(read)).isEqualTo(SIZE);
                }
                verify(managed);
                verify(device);
                verify(target);
            }
        });
    }

    private void useAll(GuardedMemory memory, GuardedMemory second) {
        for (int size : new int[]{1, 4096, 100_000, 800_000, 3 * MIB, SIZE}) {
            for (int i = 0; i < 10; i++) {
                assertThat(handle.read(memory.range(), size, 0, 0)).isEqualTo(size);
            }
        }
        assertThat(handle.readScattered(
                0, SIZE, List.of(
                        new ScatterCopy(0, SIZE, memory.range(), 0), new ScatterCopy(0, SIZE, second.range(), 0))))
                .isEqualTo(SIZE);
        List<Request> requests = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            requests.add(Request.read(handle, memory.range(), 300_000, i * 500_000L, i * 500_000L));
        }
        try (CuFileBatch batch = driver.batch(32)) {
            batch.submit(requests);
            int done = 0;
            while (done < requests.size()) {
                done += batch.await(1, Duration.ofSeconds(30)).size();
            }
        }
        assertThat(handle.write(memory.range(), SIZE, 0, 0)).isEqualTo(SIZE);
        verify(memory);
        verify(second);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void requestsBesideAKernelOfTheProgramWaitForNothing(boolean byPrepare) {
        try (GuardedMemory memory = memory(MemoryKind.CUDA_DEVICE);
                GuardedMemory second = memory(MemoryKind.CUDA_DEVICE)) {
            if (byPrepare) {
                driver.allocator().prepare(MemoryKind.CUDA_DEVICE, 0);
            } else {
                handle.read(memory.range(), 4096, 0, 0); // the first request prepares as well
            }
            long made = made();
            cuda.occupy(true);
            useAll(memory, second);
            cuda.occupy(false);
            assertThat(made()).isEqualTo(made);
        }
    }

    @Test
    void scatteredReadsToPreparedGpusMakeNothing() {
        driver.allocator().prepare(MemoryKind.CUDA_DEVICE, 0);
        driver.allocator().prepare(MemoryKind.CUDA_DEVICE, 1);
        try (GuardedMemory memory = memory(MemoryKind.CUDA_DEVICE);
                MemoryAllocation second = driver.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE, 1)) {
            long made = made() + cuda.calls(CudaFunction.MEM_ALLOC);
            cuda.occupy(true);
            assertThat(handle.readScattered(
                    0, SIZE, List.of(
                            new ScatterCopy(0, SIZE, memory.range(), 0), new ScatterCopy(0, SIZE, second.range(), 0))))
                    .isEqualTo(SIZE);
            cuda.occupy(false);
            assertThat(made() + cuda.calls(CudaFunction.MEM_ALLOC)).isEqualTo(made);
            verify(memory);
            byte[] bytes = new byte[SIZE];
            driver.allocator().copyToHost(second.range(), MemorySegment.ofArray(bytes));
            assertThat(bytes).isEqualTo(file.expected(0, SIZE));
        }
    }

    private long made() {
        return cuda.calls(CudaFunction.MEM_HOST_REGISTER)
                + cuda.calls(CudaFunction.MEM_HOST_ALLOC)
                + cuda.calls(CudaFunction.STREAM_CREATE)
                + cuda.calls(CudaFunction.MODULE_LOAD_DATA);
    }

    @Test
    void aGraphThatIsCapturedOnAnotherThreadIsNotLost() throws Exception {
        streams.inContext(() -> {
            try (GuardedMemory memory = memory(MemoryKind.CUDA_DEVICE);
                    GuardedMemory second = memory(MemoryKind.CUDA_DEVICE)) {
                cuda.captureGlobally(true);
                useAll(memory, second);
                driver.allocator().fill(second.range(), (byte) 0);
                assertThat(cuda.isCaptureLost()).isFalse();
                cuda.captureGlobally(false);
                useAll(memory, second);
            }
        });
    }

    /** No processor touches such memory: the process would crash. */
    @ParameterizedTest
    @EnumSource(names = {"CUDA_DEVICE", "CUDA_MANAGED"})
    void anOperationOnMemoryThatTheDriverDoesNotKnowFails(MemoryKind kind) throws Exception {
        streams.inContext(() -> {
            long raw = streams.make();
            try (CuFileStream stream = driver.stream(raw, Set.of())) {
                MemoryRange unknown = MemoryRange.ofAddress(1 << 16, SIZE, kind, 0);
                CuFileStream.Cells read = streams.cells(SIZE, 0, 0);
                CuFileStream.Cells write = streams.cells(SIZE, 0, 0);
                stream.read(handle, unknown, read);
                stream.write(handle, unknown, write);
                assertThat(cuda.streamSynchronize(raw)).isZero();
                assertThat(result(read)).isEqualTo(-CuFileError.CUDA_POINTER_INVALID.code());
                assertThat(result(write)).isEqualTo(-CuFileError.CUDA_POINTER_INVALID.code());
            }
        });
    }

    @Test
    void aNewContextAtTheHandleOfADestroyedOneIsServed() throws Exception {
        streams.inContext(() -> {
            long raw = streams.make();
            long context = cuda.createContext(1);
            try (CuFileStream stream = driver.stream(raw, Set.of())) {
                for (int contexts = 0; contexts < 2; contexts++) {
                    long address = allocateIn(context);
                    CuFileStream.Cells read = streams.cells(SIZE, 0, 0);
                    stream.read(handle, MemoryRange.ofAddress(address, SIZE, MemoryKind.CUDA_DEVICE, 1), read);
                    assertThat(cuda.streamSynchronize(raw)).isZero();
                    assertThat(result(read)).isEqualTo(SIZE);
                    assertThat(cuda.peek(address, SIZE)).isEqualTo(file.expected(0, SIZE));
                    cuda.destroyContext(context);
                    cuda.createContext(1, context);
                }
            }
        });
    }

    private long allocateIn(long context) {
        long[] address = new long[1];
        cuda.ctxPushCurrent(context);
        cuda.asProgram(() -> assertThat(cuda.memAlloc(address, SIZE)).isZero());
        cuda.ctxPopCurrent(new long[1]);
        return address[0];
    }

    @Test
    void slabsAreUnpinnedOnRequestAndPinnedAgainByPreparation() {
        try (GuardedMemory memory = memory(MemoryKind.CUDA_DEVICE)) {
            driver.allocator().prepare(MemoryKind.CUDA_DEVICE, 0);
            long pinned = cuda.pinnedBytes();
            driver.trim();
            assertThat(cuda.pinnedBytes()).isLessThan(pinned / 2);
            driver.allocator().prepare(MemoryKind.CUDA_DEVICE, 0);
            assertThat(cuda.pinnedBytes()).isEqualTo(pinned);
            handle.read(memory.range(), SIZE, 0, 0);
            verify(memory);
        }
    }
}
