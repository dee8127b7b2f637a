package io.gds4j.ffi.cufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.error.CuFileError;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.StreamRequest;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Transfers in the order of a CUDA stream that the library keeps itself. */
class LibraryStreamRulesTest extends StreamRules {
    private long stream;

    @Override
    FakeMachine machine() {
        return FakeMachine.withStreamsOfTheLibrary();
    }

    @BeforeEach
    void makeStream() {
        stream = stream();
        machine.cuda.ctxPushCurrent(context);
    }

    @AfterEach
    void dropContext() {
        machine.cuda.ctxPopCurrent(new long[1]);
    }

    @Test
    void readAndWriteAreQueuedWithTheirCells() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        backend.streamRegister(stream, 0xF);
        Operation read = new Operation(1000, 50, 10);
        backend.readAsync(read.of(file, memory.range(), stream));
        assertThat(read.moved()).isEqualTo(1000);
        assertThat(bytes(memory, 10, 1000)).isEqualTo(expected(50, 1000));
        Operation write = new Operation(100, SIZE, 10);
        backend.writeAsync(write.of(file, memory.range(), stream));
        assertThat(file.size()).isEqualTo(SIZE + 100);
        backend.streamDeregister(stream);
        assertThat(fake.transfers().registeredStreams()).isEmpty();
    }

    @Test
    void bufferOffsetIntoMemoryThatIsNotRegisteredArrives() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        Operation first = new Operation(1000, 50, 4096);
        backend.readAsync(first.of(file, memory.range(), stream));
        assertThat(first.moved()).isEqualTo(1000);
        assertThat(bytes(memory, 4096, 1000)).isEqualTo(expected(50, 1000));
        assertThat(fake.transfers().registeredBuffers()).as("while the stream may need it")
                .containsEntry(memory.range().address(), 65536L);
        machine.cuda.streamSynchronize(stream);
        backend.handleDeregister(file);
        assertThat(fake.transfers().registeredBuffers()).isEmpty();
    }

    @Test
    void readOfAFixedRangeLeavesTheBytesBehindTheEndAlone() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        backend.allocator().fill(memory.range(), (byte) 7);
        BackendFile file = file();
        backend.streamRegister(stream, 0xF);
        Operation across = new Operation(8192, SIZE - 4096, 0);
        backend.readAsync(across.of(file, memory.range(), stream));
        Operation behind = new Operation(4096, SIZE, 8192);
        backend.readAsync(behind.of(file, memory.range(), stream));
        assertThat(across.moved()).isEqualTo(4096);
        assertThat(behind.moved()).isZero();
        assertThat(bytes(memory, 0, 4096)).isEqualTo(expected(SIZE - 4096, 4096));
        assertThat(bytes(memory, 4096, 65536 - 4096)).containsOnly(7);
    }

    @Test
    void fixedBufferOffsetCostsNoRegistration() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        backend.streamRegister(stream, 1);
        Operation read = new Operation(1000, 50, 4096);
        backend.readAsync(read.of(file, memory.range(), stream));
        assertThat(read.moved()).isEqualTo(1000);
        assertThat(bytes(memory, 4096, 1000)).isEqualTo(expected(50, 1000));
        assertThat(fake.callsOf("cuFileBufRegister")).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"-1,0,0", "65537,0,0", "1,-1,0", "1,0,-1", "1,0,65536", "65536,0,1"})
    void cellsThatTheLibraryWouldMisreadNeverReachIt(long size, long fileOffset, long bufferOffset) {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        Operation operation = new Operation(size, fileOffset, bufferOffset);
        failure(() -> backend.readAsync(operation.of(file, memory.range(), stream)));
        failure(() -> backend.writeAsync(operation.of(file, memory.range(), stream)));
        assertThat(fake.callsOf("cuFileReadAsync")).isEmpty();
        assertThat(fake.callsOf("cuFileWriteAsync")).isEmpty();
    }

    @Test
    void streamWithoutAGpuNeverReachesTheLibrary() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        Operation one = new Operation(1, 0, 0);
        StreamRequest request = new StreamRequest(
                file, memory.range(), one.size, one.fileOffset, one.bufferOffset, one.bytes, Long.MIN_VALUE);
        expect(CuFileError.IO_NOT_SUPPORTED, () -> backend.streamRegister(Long.MIN_VALUE, 0));
        expect(CuFileError.IO_NOT_SUPPORTED, () -> backend.readAsync(request));
        assertThat(fake.callsOf("cuFileStreamRegister")).isEmpty();
        assertThat(fake.callsOf("cuFileReadAsync")).isEmpty();
    }

    @Test
    void streamsThatAreRegisteredWhenTheDriverClosesAreDeregistered() {
        backend.streamRegister(stream, 0);
        backend.streamRegister(0, 3);
        backend.driverClose();
        assertThat(fake.transfers().registeredStreams()).isEmpty();
    }

    @Test
    void fileIsDeregisteredOnlyAfterTheStreamHasPassedItsTransfers() throws InterruptedException {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        // Work that is never done by itself: the double does one piece at each query.
        for (int i = 0; i < 50; i++) {
            machine.cuda.memsetD8Async(memory.range().address(), (byte) 1, 1, stream);
        }
        backend.readAsync(new Operation(100, 0, 0).of(file, memory.range(), stream));
        assertThat(machine.cuda.pendingWork()).isPositive();
        CountDownLatch done = new CountDownLatch(1);
        Thread.ofPlatform().start(() -> {
            backend.handleDeregister(file);
            done.countDown();
        });
        done.await();
        assertThat(machine.cuda.pendingWork()).isZero();
        assertThat(fake.callsOf("cuFileHandleDeregister")).hasSize(1);
    }

    @Test
    void closingTheDriverWaitsForStreams() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        backend.streamRegister(stream, 0);
        for (int i = 0; i < 50; i++) {
            machine.cuda.memsetD8Async(memory.range().address(), (byte) 1, 1, stream);
        }
        backend.writeAsync(new Operation(100, 0, 0).of(file, memory.range(), stream));
        backend.driverClose();
        assertThat(machine.cuda.pendingWork()).isZero();
        assertThat(fake.calls()).endsWith("cuFileDriverClose()");
    }

    @Test
    void memoryIsShownToTheLibraryBeforeItsFirstStreamTransfer() {
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 65536);
        BackendFile file = file();
        backend.bufRegister(memory.range(), 0);
        backend.readAsync(new Operation(100, 0, 0).of(file, memory.range(), stream));
        assertThat(fake.callsOf("cuFileBufRegister")).hasSize(1);
    }
}
