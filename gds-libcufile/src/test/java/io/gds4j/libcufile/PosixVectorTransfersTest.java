package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;

import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import io.gds4j.spi.BackendFile;
import io.gds4j.spi.CuFileBackend;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Vectors of a file that the library serves by POSIX I/O: its vectored calls take 0.1 s, so they are not used. */
class PosixVectorTransfersTest extends SessionRig {
    @Override
    protected FakeMachine machine() {
        return new FakeMachine(true);
    }

    @Test
    void rangesAreSingleTransfers() {
        MemoryAllocation device = allocate(MemoryKind.CUDA_DEVICE, 8192);
        MemoryAllocation host = allocate(MemoryKind.HOST, 8192);
        List<MemoryRange> ranges = List.of(device.range(), host.range().slice(3, 0), host.range().slice(3, 500));
        BackendFile file = file();
        assertThat(backend.readv(file, ranges, 100, 0)).isEqualTo(8692);
        assertThat(bytes(device, 0, 8192)).isEqualTo(expected(100, 8192));
        assertThat(bytes(host, 3, 500)).isEqualTo(expected(8292, 500));
        assertThat(backend.writev(file, ranges, SIZE, 0)).isEqualTo(8692);
        assertThat(backend.readv(file, ranges, SIZE + 8192, 0)).as("to the end of the file").isEqualTo(500);
        assertThat(fake.transfers().vectors()).isZero();
    }

    /** After vectors of 65 to 128 ranges the close of libcufile 1.20.0 never ended. */
    @Test
    void newestLibraryGetsShortVectorsWithDirectStorage() {
        backend.driverClose();
        CuFileBackend direct = machine.withDirectStorage().backend();
        direct.driverOpen();
        BackendFile file = direct.handleRegister(source(path));
        MemoryAllocation memory = allocate(MemoryKind.CUDA_DEVICE, 6500);
        List<MemoryRange> ranges =
                IntStream.range(0, 65).mapToObj(i -> memory.range().slice((64 - i) * 100L, 100)).toList();
        assertThat(direct.readv(file, ranges, 4096, 0)).isEqualTo(6500);
        assertThat(bytes(memory, 0, 100)).isEqualTo(expected(4096 + 6400, 100));
        assertThat(fake.transfers().vectors()).isEqualTo(2);
        direct.driverClose();
    }
}
