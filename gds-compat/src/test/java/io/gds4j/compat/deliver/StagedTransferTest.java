package io.gds4j.compat.deliver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.gds4j.CuFileHandle;
import io.gds4j.compat.Rig;
import io.gds4j.config.CuFileKeys;
import io.gds4j.error.CuFileError;
import io.gds4j.error.CuFileException;
import io.gds4j.error.Errno;
import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaFunction;
import io.gds4j.ffi.posix.PosixCall;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.Failures;
import io.gds4j.testkit.GuardedFile;
import io.gds4j.testkit.GuardedMemory;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Slabs of requests whose bytes pass through them. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StagedTransferTest {
    /** Reads of which at least one is gathered. */
    private static final int MANY = 200;
    private static final int SIZE = 4 * Rig.PIECE + 77;

    private static Rig withSlabs(long count) {
        return Rig.onGpu(builder -> builder
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of((long) Rig.PIECE >> 10))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(count)));
    }

    private static List<ScatterCopy> halves(GuardedMemory memory, int size) {
        int half = size / 2;
        return List.of(new ScatterCopy(0, half, memory.range(), 0),
                new ScatterCopy(half, size - half, memory.range(), half));
    }

    private static void write(CuFileHandle handle, GuardedMemory memory, int size, boolean scattered) {
        assertThat(scattered ? handle.writeScattered(0, size, halves(memory, size))
                : handle.write(memory.range(), size, 0, 0)).isEqualTo(size);
    }

    @ParameterizedTest
    @CsvSource({"1, false", "1, true", "2, false", "2, true", "3, false", "3, true"})
    void aPieceKeepsItsSlabUntilItIsWritten(long slabs, boolean scattered) {
        try (Rig rig = withSlabs(slabs)) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            try (CuFileHandle handle = rig.open(file)) {
                write(handle, memory, SIZE, scattered);
            }
            file.expectWrite(0, memory.expected(0, SIZE));
            file.verify();
        }
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "2, 2", "4, 2"})
    void aWriteOfSeveralPiecesHasTwoSlabs(int pieces, int slabs) {
        try (Rig rig = withSlabs(8)) {
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            try (CuFileHandle handle = rig.open(rig.file(SIZE))) {
                long[] inUse = new long[1];
                write(handle, memory, 100, false);
                rig.posix().on(PosixCall.PWRITE)
                        .runsFirst(() -> inUse[0] = rig.driver().statistics().engine().bouncePoolBytes());
                write(handle, memory, pieces * Rig.PIECE, false);
                assertThat(inUse[0]).isEqualTo((long) slabs * Rig.PIECE);
            }
        }
    }

    @Test
    void aPieceWhoseCopyFailsIsNotWritten() {
        try (Rig rig = withSlabs(8)) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            try (CuFileHandle handle = rig.open(file)) {
                rig.cuda().failDeferred(2, Cuda.ERROR_ILLEGAL_ADDRESS);
                CuFileException failure = Failures.expect(
                        CuFileError.CUDA_DRIVER_ERROR, () -> handle.write(memory.range(), SIZE, 0, 0));
                assertThat(failure.bytesTransferred()).isEqualTo(Rig.PIECE);
            }
            file.expectWrite(0, memory.expected(0, Rig.PIECE));
            file.verify();
        }
    }

    /** A copy of nothing is a call of the driver, which may wait for others. */
    @Test
    void nothingIsCopiedOfAPieceThatIsNotRead() {
        try (Rig rig = withSlabs(2)) {
            GuardedFile file = rig.file(SIZE);
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, SIZE);
            try (CuFileHandle handle = rig.open(file)) {
                assertThat(handle.read(memory.range(), 100, 0, 0)).isEqualTo(100);
                long copies = rig.cuda().calls(CudaFunction.MEMCPY_HTOD_ASYNC);
                assertThat(handle.read(memory.range(), 100, SIZE, 0)).isZero();
                rig.posix().on(PosixCall.PREAD).fails(Errno.EIO).always();
                Failures.expectErrno(Errno.EIO, () -> handle.read(memory.range(), 100, 0, 0));
                assertThat(rig.cuda().calls(CudaFunction.MEMCPY_HTOD_ASYNC)).isEqualTo(copies);
            }
        }
    }

    /** One kernel copies the pieces that were read before. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aGatheredReadIsNoSuccessIfAPieceThrows(boolean scattered) {
        int size = 8 << 20;
        try (Rig rig = Rig.onGpu(builder -> builder
                .set(CuFileKeys.POSIX_POOL_SLAB_SIZE_KB, List.of(4L, 1024L, 16384L))
                .set(CuFileKeys.POSIX_POOL_SLAB_COUNT, List.of(8L, 8L, 8L))
                .set(CuFileKeys.MAX_DIRECT_IO_SIZE_KB, 16384L)
                .set(CuFileKeys.MAX_IO_THREADS, 4L)
                .set(CuFileKeys.FORCE_ODIRECT_MODE, false))) {
            GuardedMemory memory = rig.memory(MemoryKind.CUDA_DEVICE, size);
            try (CuFileHandle handle = rig.open(rig.file(size))) {
                // The first launch is a part of loading the kernel.
                for (int i = 0; i < MANY && rig.cuda().calls(CudaFunction.LAUNCH_KERNEL) < 2; i++) {
                    handle.read(memory.range(), size, 0, 0);
                }
                long launches = rig.cuda().calls(CudaFunction.LAUNCH_KERNEL);
                assertThat(launches).isEqualTo(2);
                for (int i = 0; i < MANY && rig.cuda().calls(CudaFunction.LAUNCH_KERNEL) == launches; i++) {
                    rig.posix().on(PosixCall.PREAD).covering(5 << 20).runsFirst(() -> {
                        throw new IllegalStateException("a defect");
                    });
                    assertThatThrownBy(() -> {
                        if (scattered) {
                            handle.readScattered(0, size, halves(memory, size));
                        } else {
                            handle.read(memory.range(), size, 0, 0);
                        }
                    }).hasMessage("a defect");
                    rig.posix().heal();
                }
                assertThat(rig.cuda().calls(CudaFunction.LAUNCH_KERNEL)).isGreaterThan(launches);
            }
        }
    }
}
