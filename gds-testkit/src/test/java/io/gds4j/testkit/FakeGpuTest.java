package io.gds4j.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileBatch;
import io.gds4j.CuFileBatch.Completion;
import io.gds4j.CuFileBatch.Request;
import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.RegistrationPolicy;
import io.gds4j.error.CuFileError;
import io.gds4j.memory.GrowableMemory;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.MemoryUsage;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Memory, transfers and batches of a fake GPU; {@link FakeStreamTest} tests its streams. */
class FakeGpuTest {
    private static final int SIZE = 10_000;
    private static final long ROOM = 1 << 20;

    private final FakeGpu gpu = FakeGpu.builder().devices(2).bytesPerDevice(ROOM).build();

    @TempDir
    Path directory;

    private CuFileDriver driver;
    private GuardedFile file;
    private CuFileHandle handle;

    @BeforeEach
    void open() {
        driver = gpu.openDriver();
        file = GuardedFile.create(directory.resolve("file"), SIZE, 1);
        handle = driver.openFile(file.path(), StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    @AfterEach
    void close() {
        driver.close();
    }

    private MemoryAllocation allocate(MemoryKind kind, long size, int device) {
        return driver.allocator().allocate(kind, size, device);
    }

    private byte[] bytes(MemoryRange range) {
        return gpu.segment(range).toArray(ValueLayout.JAVA_BYTE);
    }

    @ParameterizedTest
    @EnumSource(MemoryKind.class)
    void memoryOfEveryKindServesReadsAndWrites(MemoryKind kind) {
        try (GuardedMemory memory = GuardedMemory.allocate(driver.allocator(), kind, SIZE)) {
            assertThat(handle.read(memory.range(), SIZE - 100, 100, 50)).isEqualTo(SIZE - 100);
            memory.expect(50, file.expected(100, SIZE - 100));
            memory.verify();
            memory.put(0, RandomBytes.of(7, SIZE));
            handle.write(memory.range(), 0);
            file.expectWrite(0, memory.expected(0, SIZE));
        }
        file.verify();
        gpu.verify();
    }

    @Test
    void deviceMemoryIsBestAndHasNoSegment() {
        assertThat(driver.allocator().best()).isEqualTo(MemoryKind.CUDA_DEVICE);
        try (MemoryAllocation memory = driver.allocator().allocate(driver.allocator().best(), SIZE)) {
            assertThat(memory.range().segment()).isEmpty();
            Failures.expect(CuFileError.CUDA_MEMORY_TYPE_INVALID, memory::segment);
            assertThat(bytes(memory.range())).as("content of new memory").doesNotContain(0);
        }
    }

    @Test
    void everyDeviceHasItsOwnAddressesAndBytes() {
        try (MemoryAllocation first = allocate(MemoryKind.CUDA_DEVICE, ROOM, 0);
                MemoryAllocation second = allocate(MemoryKind.CUDA_DEVICE, 100, 1)) {
            assertThat(first.range().device()).isZero();
            assertThat(second.range().device()).isEqualTo(1);
            assertThat(second.address()).isGreaterThan(first.address() + ROOM);
            assertThat(gpu.availableBytes(0)).isZero();
            assertThat(driver.allocator().available(MemoryKind.CUDA_POOL, 1)).isEqualTo(ROOM - 100);
            assertThat(driver.allocator().wrap(second.address() + 10, 20))
                    .isEqualTo(second.range().slice(10, 20));
            assertThat(driver.allocator().usage()).containsEntry(
                    MemoryKind.CUDA_DEVICE, new MemoryUsage(2, ROOM + 100, ROOM + 100, ROOM + 100));
        }
        Failures.expect(CuFileError.DEVICE_NOT_FOUND, () -> allocate(MemoryKind.CUDA_DEVICE, 1, 2));
        Failures.expect(CuFileError.INVALID_VALUE, () -> allocate(MemoryKind.CUDA_DEVICE, 0, 0));
    }

    @Test
    void fullDeviceIsOutOfMemoryUntilMemoryIsFreed() {
        MemoryAllocation most = allocate(MemoryKind.CUDA_MANAGED, ROOM - 10, 0);
        assertThat(Failures.expect(CuFileError.NOMEM_ERROR, () -> allocate(MemoryKind.CUDA_DEVICE, 11, 0)))
                .hasMessageContaining("11 bytes on GPU 0, which has 10 of 1048576 bytes left");
        Failures.expect(CuFileError.NOMEM_ERROR, () -> allocate(MemoryKind.CUDA_DEVICE, Long.MAX_VALUE, 1));
        Failures.expect(CuFileError.NOMEM_ERROR, () -> driver.allocator().growable(Long.MAX_VALUE, 1));
        most.close();
        allocate(MemoryKind.CUDA_DEVICE, ROOM, 0).close();
        gpu.verify();
    }

    @Test
    void useOfFreedMemoryNamesTheAllocation() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, SIZE, 0);
        MemoryRange raw = MemoryRange.ofAddress(memory.address(), SIZE, MemoryKind.CUDA_DEVICE);
        assertThat(handle.read(raw, 0)).isEqualTo(SIZE);
        memory.close();
        for (Failures.Attempt use : List.<Failures.Attempt>of(
                () -> handle.read(raw, 0),
                () -> handle.write(raw, 0),
                () -> handle.readv(List.of(raw), 0),
                () -> driver.registerBuffer(raw),
                () -> driver.allocator().copyToHost(raw, MemorySegment.ofArray(new byte[1])),
                () -> gpu.segment(raw))) {
            assertThat(Failures.expect(CuFileError.CUDA_POINTER_INVALID, use))
                    .hasMessageContaining("use after free of 10000 bytes of CUDA_DEVICE")
                    .hasMessageContaining("FakeGpuTest.useOfFreedMemoryNamesTheAllocation");
        }
        assertThat(gpu.misuse()).hasSize(6);
        assertThatThrownBy(gpu::verify).isInstanceOf(AssertionError.class).hasMessageContaining("use after free");
    }

    @Test
    void pointersPastAnAllocationAreRefused() {
        try (MemoryAllocation memory = allocate(MemoryKind.CUDA_POOL, SIZE, 1)) {
            long address = memory.address();
            Failures.expect(CuFileError.CUDA_POINTER_RANGE_ERROR, () -> handle.read(
                    MemoryRange.ofAddress(address + 1, SIZE, MemoryKind.CUDA_DEVICE, 1), 0));
            Failures.expect(CuFileError.CUDA_POINTER_INVALID, () -> handle.read(
                    MemoryRange.ofAddress(address + SIZE, 1, MemoryKind.CUDA_DEVICE, 1), 0));
            Failures.expect(CuFileError.CUDA_POINTER_RANGE_ERROR, () -> driver.allocator().wrap(address, SIZE + 1));
        }
        assertThat(driver.allocator().wrap(4096, 10).kind()).isEqualTo(MemoryKind.HOST);
    }

    @Test
    void leakedMemoryIsNamed() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_POOL, 123, 1);
        assertThatThrownBy(gpu::verify)
                .hasMessageContaining("memory was not freed: 123 bytes of CUDA_POOL")
                .hasMessageContaining("on GPU 1")
                .hasMessageContaining("FakeGpuTest.leakedMemoryIsNamed");
        memory.close();
        gpu.verify();
    }

    @Test
    void programMustNotReadABatchBeforeItsCompletion() {
        try (MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, SIZE, 0);
                CuFileBatch batch = driver.batch(2)) {
            byte[] before = bytes(memory.range());
            batch.submit(List.of(
                    Request.read(handle, memory, 4000, 0, 0), Request.read(handle, memory, 4000, 4000, 4000)));
            assertThat(bytes(memory.range())).as("before a wait").isEqualTo(before);
            Failures.expect(CuFileError.IO_NOT_SUPPORTED, memory::close);
            assertThat(batch.await(0, Duration.ZERO)).as("a poll runs one entry").hasSize(1);
            assertThat(batch.await(1, Duration.ofSeconds(60))).extracting(Completion::bytes).containsExactly(4000L);
            assertThat(bytes(memory.range().slice(0, 8000))).isEqualTo(file.expected(0, 8000));
        }
    }

    @Test
    void seedShufflesTheEntriesOfABatch() {
        List<List<Long>> orders = new ArrayList<>();
        for (long seed = 1; seed <= 3; seed++) {
            FakeGpu shuffled = FakeGpu.builder().seed(seed).build();
            try (CuFileDriver other = shuffled.openDriver();
                    CuFileHandle from = other.openFile(file.path());
                    MemoryAllocation memory = other.allocator().allocate(MemoryKind.CUDA_DEVICE, SIZE);
                    CuFileBatch batch = other.batch(64)) {
                List<Request> requests = new ArrayList<>();
                for (int i = 0; i < 64; i++) {
                    requests.add(Request.read(from, memory, 100, i * 100L, i * 100L));
                }
                batch.submit(requests);
                orders.add(batch.await(64, Duration.ofSeconds(60)).stream()
                        .map(done -> done.request().fileOffset())
                        .toList());
                assertThat(shuffled.segment(memory.range().slice(0, 6400)).toArray(ValueLayout.JAVA_BYTE))
                        .isEqualTo(file.expected(0, 6400));
            }
        }
        assertThat(orders).doesNotHaveDuplicates();
    }

    @Test
    void vectoredCallsAndFuturesServeDeviceMemory() throws Exception {
        try (MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, SIZE, 1)) {
            MemoryRange range = memory.range();
            assertThat(handle.readv(List.of(range.slice(5000, 5000), range.slice(0, 5000)), 100)).isEqualTo(9900);
            assertThat(bytes(range.slice(5000, 5000))).isEqualTo(file.expected(100, 5000));
            assertThat(bytes(range.slice(0, 4900))).isEqualTo(file.expected(5100, 4900));
            assertThat(handle.readAsync(memory, 0).get()).isEqualTo(SIZE);
            assertThat(bytes(range)).isEqualTo(file.expected(0, SIZE));
            assertThat(handle.writev(List.of(range.slice(0, 10), range.slice(10, 10)), SIZE)).isEqualTo(20);
        }
    }

    @Test
    void registrationsAndTheirCacheServeDeviceMemory() {
        driver.setRegistrationPolicy(RegistrationPolicy.CACHED);
        try (MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, SIZE, 0)) {
            assertThat(handle.read(memory, 0)).isEqualTo(SIZE);
            assertThat(driver.registrationStatistics().misses()).isEqualTo(1);
        }
        try (MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, SIZE, 0);
                CuFileBuffer buffer = driver.registerBuffer(memory)) {
            assertThat(handle.read(buffer, 0)).isEqualTo(SIZE);
            Failures.expect(CuFileError.IO_NOT_SUPPORTED, memory::close);
        }
    }

    @Test
    void growingMemoryKeepsAddressAndContent() {
        try (GrowableMemory memory = driver.allocator().growable(ROOM / 2, 1)) {
            long address = memory.allocation().address();
            int first = (int) memory.allocation().length();
            MemoryRange before = memory.allocation().range();
            handle.read(before, SIZE, 0, 0);
            MemoryAllocation grown = memory.grow(first + 1);
            assertThat(grown.address()).isEqualTo(address);
            assertThat(grown.length()).isGreaterThan(first);
            assertThat(bytes(grown.range().slice(0, SIZE))).isEqualTo(file.expected(0, SIZE));
            assertThat(gpu.availableBytes(1)).isEqualTo(ROOM - grown.length());
            Failures.expect(CuFileError.INVALID_VALUE, () -> memory.grow(ROOM));
            try (MemoryAllocation rest = allocate(MemoryKind.CUDA_DEVICE, gpu.availableBytes(1), 1)) {
                assertThat(rest.isOpen()).isTrue();
                Failures.expect(CuFileError.NOMEM_ERROR, () -> memory.grow(ROOM / 2));
            }
            assertThat(memory.grow(ROOM / 2).length()).isEqualTo(ROOM / 2);
        }
        gpu.verify();
    }

    @Test
    void programMemoryIsPinnedOnce() {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment segment = arena.allocate(SIZE);
            try (MemoryAllocation pinned = driver.allocator().pin(segment)) {
                assertThat(handle.read(pinned, 0)).isEqualTo(SIZE);
                Failures.expect(
                        CuFileError.MEMORY_ALREADY_REGISTERED, () -> driver.allocator().pin(segment.asSlice(100)));
            }
            driver.allocator().pin(segment.asSlice(100)).close();
            assertThat(segment.toArray(ValueLayout.JAVA_BYTE)).isEqualTo(file.expected(0, SIZE));
        }
        gpu.verify();
    }

    @Test
    void driversShareTheGpu() {
        try (CuFileDriver other = gpu.openDriver();
                CuFileHandle from = other.openFile(file.path());
                MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, SIZE, 0)) {
            assertThat(from.read(memory, 0)).isEqualTo(SIZE);
            assertThat(other.allocator().available(MemoryKind.CUDA_DEVICE, 0)).isEqualTo(ROOM - SIZE);
        }
    }

    @Test
    void impossibleGpusAreRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> FakeGpu.builder().devices(0));
        assertThatIllegalArgumentException().isThrownBy(() -> FakeGpu.builder().devices(65));
        assertThatIllegalArgumentException().isThrownBy(() -> FakeGpu.builder().bytesPerDevice(0));
        assertThat(FakeGpu.create().devices()).isEqualTo(1);
    }
}
