package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.engine.memory.StreamWaits;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.BatchRequest;
import io.gds4j.spi.CuFileBackend;
import io.gds4j.spi.Operation;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The library reads directly what two GPUs share, and copies bring each its part. */
class DeviceStagesTest extends SessionRig {
    private static final int ROW = 1000;
    private static final int ROWS = SIZE / ROW;
    private static final int HALF = ROWS * ROW / 2;

    @Override
    protected FakeMachine machine() {
        return FakeMachine.withTwoGpus().withDirectStorage();
    }

    private MemoryAllocation on(int gpu, long size) {
        return allocate(MemoryKind.CUDA_DEVICE, size, gpu);
    }

    private static long scatter(
            CuFileBackend backend, BackendFile file, long fileOffset, long size, List<ScatterCopy> copies) {
        return backend.transfer(BatchRequest.scattered(file, Operation.READ, fileOffset, size, copies));
    }

    private static ScatterCopy half(int column, MemoryAllocation memory) {
        return new ScatterCopy(column, ROW, ROW / 2, ROWS, memory, 0, ROW / 2);
    }

    private void assertHalf(MemoryAllocation memory, long fileOffset, int column) {
        byte[] bytes = bytes(memory, 0, HALF);
        for (int i = 0; i < HALF; i++) {
            long source = fileOffset + (long) i / (ROW / 2) * ROW + column + i % (ROW / 2);
            assertThat(bytes[i]).as("byte %d", i).isEqualTo(content(source));
        }
    }

    @Test
    void halvesOfRowsReachTheirGpusThroughRegisteredMemoryOfTheFirst() {
        MemoryAllocation left = on(0, HALF);
        MemoryAllocation right = on(1, HALF);

        assertThat(scatter(backend, file(), 100, (long) ROWS * ROW, List.of(half(0, left), half(ROW / 2, right))))
                .isEqualTo((long) ROWS * ROW);

        assertThat(fake.transfers().registeredBuffers()).as("the stage").hasSize(1);
        assertHalf(left, 100, 0);
        assertHalf(right, 100, ROW / 2);
    }

    @Test
    void memoryOfTheHostReceivesItsHalfFromTheGpu() {
        MemoryAllocation left = on(1, HALF);
        MemoryAllocation right = allocate(MemoryKind.HOST, HALF);
        BackendFile file = file();
        for (int round = 0; round < 3; round++) {
            assertThat(scatter(backend, file, 0, (long) ROWS * ROW, List.of(half(0, left), half(ROW / 2, right))))
                    .isEqualTo((long) ROWS * ROW);
        }
        assertThat(fake.transfers().registeredBuffers()).as("the stage").hasSize(1);
        assertHalf(left, 0, 0);
        assertHalf(right, 0, ROW / 2);
    }

    @Test
    void replicasAreReadIntoOneGpuAndPassedOn() {
        MemoryAllocation one = on(0, SIZE);
        MemoryAllocation other = on(1, SIZE);
        MemoryAllocation host = allocate(MemoryKind.HOST, SIZE);
        List<ScatterCopy> copies =
                List.of(all(host.range()), all(one.range()), all(other.range()));

        assertThat(scatter(backend, file(), 0, SIZE, copies)).isEqualTo(SIZE);

        assertThat(fake.transfers().registeredBuffers()).as("no stage").isEmpty();
        for (MemoryAllocation memory : List.of(one, other, host)) {
            assertThat(bytes(memory, 0, SIZE)).isEqualTo(expected(0, SIZE));
        }
    }

    private static ScatterCopy all(MemoryRange memory) {
        return new ScatterCopy(0, SIZE, memory, 0);
    }

    @Test
    void failureGivesTheStageBack() {
        MemoryAllocation left = on(0, HALF);
        MemoryAllocation right = on(1, HALF);
        List<ScatterCopy> copies = List.of(half(0, left), half(ROW / 2, right));
        BackendFile file = file();
        for (int round = 0; round <= DeviceStages.MAX_STAGES; round++) {
            fake.transfers().answerNext(-1, Errno.EIO);
            assertThat(failure(() -> scatter(backend, file, 0, (long) ROWS * ROW, copies)).errno())
                    .hasValue(Errno.EIO);
        }
        assertThat(scatter(backend, file, 0, (long) ROWS * ROW, copies)).isEqualTo((long) ROWS * ROW);
        assertHalf(right, 0, ROW / 2);
    }

    @Test
    void threadsShareABlockWhileAStreamWaits() throws Exception {
        CudaAvailability.Available gpu = machine.cuda.available();
        CuFileBackend own = machine.backend(gpu);
        own.driverOpen();
        StreamWaits waits = StreamWaits.of(gpu.contexts());
        MemoryAllocation left = on(0, HALF);
        MemoryAllocation right = on(1, HALF);
        List<ScatterCopy> copies = List.of(half(0, left), half(ROW / 2, right));
        BackendFile file = own.handleRegister(source(path));
        long size = (long) ROWS * ROW;
        assertThat(scatter(own, file, 0, size, copies)).as("makes a block").isEqualTo(size);
        try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
            waits.begin(true);
            try {
                List<Callable<Long>> reads = Collections.nCopies(40, () -> scatter(own, file, 0, size, copies));
                for (Future<Long> read : threads.invokeAll(reads, 60, TimeUnit.SECONDS)) {
                    assertThat(read.get()).isEqualTo(size);
                }
            } finally {
                waits.end(true);
            }
        }
        own.handleDeregister(file);
        own.driverClose();
    }
}
