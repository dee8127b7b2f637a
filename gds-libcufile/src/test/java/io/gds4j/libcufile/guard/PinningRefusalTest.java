package io.gds4j.libcufile.guard;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.CuFileBuffer;
import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.RegistrationPolicy;
import io.gds4j.RegistrationStatistics;
import io.gds4j.error.CuFileError;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.internal.routing.RoutingBackend;
import io.gds4j.libcufile.SessionRig;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.CuFileBackend;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** If the library cannot pin more memory, the cache makes room; transfers use memory without room unregistered. */
class PinningRefusalTest extends SessionRig {
    private static final int LENGTH = 256 << 10;
    private static final int GPU_PAGE = 64 << 10;
    private static final long CUDA_OUT_OF_MEMORY = 5011 | (long) Cuda.ERROR_OUT_OF_MEMORY << Integer.SIZE;

    private CuFileDriver caching(CuFileBackend served) {
        CuFileDriver driver = CuFileDriver.open(served);
        driver.setRegistrationPolicy(RegistrationPolicy.CACHED);
        return driver;
    }

    private List<MemoryAllocation> allocate(int count) {
        List<MemoryAllocation> all = new ArrayList<>();
        while (all.size() < count) {
            MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, LENGTH);
            // All begin inside a page, and so pin as many pages: one gives way to another. One in 128 begins with a page.
            if (memory.range().address() % GPU_PAGE != 0) {
                all.add(memory);
            }
        }
        return all;
    }

    private void read(CuFileHandle handle, MemoryAllocation memory, long fileOffset) {
        assertThat(handle.read(memory.range(), fileOffset)).isEqualTo(LENGTH);
        assertThat(bytes(memory, 0, LENGTH)).isEqualTo(expected(fileOffset, LENGTH));
    }

    private List<Long> registered() {
        return fake.transfers().registeredBuffers().keySet().stream().toList();
    }

    @ParameterizedTest
    @ValueSource(longs = {5016, 5036, 5043, -Errno.ENOMEM, CUDA_OUT_OF_MEMORY})
    void refusedMemoryIsRetriedAfterTheOldestIsEvicted(long answer) {
        fake.transfers().refuseBuffersBeyond(2 * LENGTH, answer);
        List<MemoryAllocation> memory = allocate(3);
        try (CuFileDriver driver = caching(backend); CuFileHandle handle = driver.openFile(path)) {
            for (int i = 0; i < 3; i++) {
                read(handle, memory.get(i), 11L * i);
            }
            assertThat(registered()).containsExactlyInAnyOrder(
                    memory.get(1).range().address(), memory.get(2).range().address());
            assertThat(fake.callsOf("cuFileBufRegister")).as("two, one refused, one again").hasSize(4);
            RegistrationStatistics done = driver.registrationStatistics();
            assertThat(done.evictions()).isOne();
            assertThat(done.refused()).isZero();
            assertThat(done.registrations()).isEqualTo(2);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {5016, 5036, 5043, -Errno.ENOMEM, CUDA_OUT_OF_MEMORY})
    void memoryRefusedAgainMovesUnregisteredAndIsCounted(long answer) {
        List<MemoryAllocation> memory = allocate(2);
        try (CuFileDriver driver = caching(backend); CuFileHandle handle = driver.openFile(path)) {
            read(handle, memory.getFirst(), 0);
            fake.transfers().refuseBuffersBeyond(0, answer);
            read(handle, memory.getLast(), 7);
            assertThat(registered()).isEmpty();
            assertThat(fake.callsOf("cuFileBufRegister")).hasSize(3);
            RegistrationStatistics done = driver.registrationStatistics();
            assertThat(done.refused()).isOne();
            assertThat(done.evictions()).isOne();
            assertThat(done.bytesPinned()).isZero();

            fake.transfers().refuseBuffersBeyond(Long.MAX_VALUE, 0);
            driver.setRegistrationPolicy(RegistrationPolicy.CACHED);
            read(handle, memory.getLast(), 0);
            assertThat(registered()).containsExactly(memory.getLast().range().address());
        }
    }

    @Test
    void refusedMemoryEvictsNoOtherRegistration() {
        List<MemoryAllocation> memory = allocate(2);
        try (CuFileDriver driver = caching(backend); CuFileHandle handle = driver.openFile(path)) {
            read(handle, memory.getFirst(), 0);
            fake.transfers().refuseBuffers(5030);
            read(handle, memory.getLast(), 0);
            assertThat(registered()).containsExactly(memory.getFirst().range().address());
            assertThat(driver.registrationStatistics().refused()).isOne();
            assertThat(driver.registrationStatistics().evictions()).isZero();
        }
    }

    @Test
    void cacheMakesRoomForRegistrationsOfTheProgram() {
        fake.transfers().refuseBuffersBeyond(LENGTH, 5036);
        List<MemoryAllocation> memory = allocate(2);
        try (CuFileDriver driver = caching(backend); CuFileHandle handle = driver.openFile(path)) {
            read(handle, memory.getFirst(), 0);
            try (CuFileBuffer buffer = driver.registerBuffer(memory.getLast().range())) {
                assertThat(handle.read(buffer, 5)).isEqualTo(LENGTH);
                assertThat(registered()).containsExactly(memory.getLast().range().address());
                read(handle, memory.getFirst(), 1);
                assertThat(driver.registrationStatistics().refused()).isOne();
            }
            assertThat(bytes(memory.getLast(), 0, LENGTH)).isEqualTo(expected(5, LENGTH));
        }
    }

    @Test
    void refusalPassesRoutingAndVirtualThreads() throws InterruptedException {
        fake.transfers().refuseBuffersBeyond(LENGTH, 5036);
        List<MemoryAllocation> memory = allocate(2);
        CuFileBackend routed = new RoutingBackend(machine.backend(), machine::backend);
        try (CuFileDriver driver = caching(routed); CuFileHandle handle = driver.openFile(path)) {
            Thread.ofVirtual().start(() -> {
                handle.read(memory.getFirst().range(), 0);
                handle.read(memory.getLast().range(), 3);
            }).join();
            assertThat(bytes(memory.getFirst(), 0, LENGTH)).isEqualTo(expected(0, LENGTH));
            assertThat(bytes(memory.getLast(), 0, LENGTH)).isEqualTo(expected(3, LENGTH));
            assertThat(driver.registrationStatistics().evictions()).isOne();
            assertThat(registered()).containsExactly(memory.getLast().range().address());
        }
    }

    @Test
    @Timeout(60)
    void threadsMoveTheRightBytesWithAFullLibrary() throws Exception {
        fake.transfers().refuseBuffersBeyond(3 * LENGTH, 5036);
        CuFileBackend routed = new RoutingBackend(machine.backend(), machine::backend);
        List<MemoryAllocation> memory = allocate(8);
        AtomicInteger made = new AtomicInteger();
        try (CuFileDriver driver = caching(routed);
                CuFileHandle handle = driver.openFile(path);
                ExecutorService threads = Executors.newThreadPerTaskExecutor(
                        task -> (made.getAndIncrement() % 2 == 0 ? Thread.ofVirtual() : Thread.ofPlatform())
                                .unstarted(task))) {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                MemoryAllocation mine = memory.get(i);
                int seed = i;
                all.add(threads.submit(() -> {
                    SplittableRandom random = new SplittableRandom(seed);
                    for (int round = 0; round < 150; round++) {
                        long offset = random.nextLong(SIZE - LENGTH);
                        if (random.nextInt(5) == 0) {
                            try (CuFileBuffer buffer = driver.registerBuffer(mine.range())) {
                                assertThat(handle.read(buffer, offset)).isEqualTo(LENGTH);
                            }
                        } else {
                            assertThat(handle.read(mine.range(), offset)).isEqualTo(LENGTH);
                        }
                        int at = random.nextInt(LENGTH);
                        assertThat(bytes(mine, at, 1)).containsExactly(content(offset + at));
                    }
                }));
            }
            for (Future<?> one : all) {
                one.get();
            }
            RegistrationStatistics done = driver.registrationStatistics();
            assertThat(done.evictions() + done.refused()).isPositive();
            assertThat(done.hits()).isPositive();
        }
        assertThat(registered()).isEmpty();
    }

    @Test
    void registeringNowReportsTheRefusalAndKeepsNothing() {
        MemoryAllocation memory = allocate(1).getFirst();
        fake.transfers().refuseBuffersBeyond(0, 5036);
        expect(CuFileError.GPU_MEMORY_PINNING_FAILED, () -> backend.bufRegisterNow(memory.range(), 0));
        expect(CuFileError.MEMORY_NOT_REGISTERED, () -> backend.bufDeregister(memory.range()));
        fake.transfers().refuseBuffersBeyond(Long.MAX_VALUE, 0);
        backend.bufRegisterNow(memory.range(), 1);
        assertThat(fake.callsOf("cuFileBufRegister").getLast())
                .isEqualTo("cuFileBufRegister(0x%x, %d, 1)".formatted(memory.range().address(), LENGTH));
        expect(CuFileError.MEMORY_ALREADY_REGISTERED, () -> backend.bufRegisterNow(memory.range(), 0));
        backend.bufDeregister(memory.range());
        assertThat(registered()).isEmpty();
    }
}
