package io.gds4j.engine.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.ffi.cuda.Cuda;
import io.gds4j.ffi.cuda.CudaAvailability;
import io.gds4j.ffi.cuda.CudaDriver;
import io.gds4j.ffi.cuda.CudaPointer;
import io.gds4j.ffi.cuda.CudaPointers;
import io.gds4j.ffi.posix.PosixConstants;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.MemoryRange;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The contract over the driver of this machine, and checks that need a GPU. Prints facts and rates. */
@Tag("gpu")
@Tag("alone")
class GpuMemoryTest extends GpuMemoryContract {
    private static final long LARGE = (5L << 30) + 4096;

    @Override
    CudaAvailability.Available available() {
        if (CudaDriver.detect() instanceof CudaAvailability.Available available) {
            return available;
        }
        throw new AssertionError("no GPU: " + CudaDriver.detect());
    }

    @Override
    long createContext(int device) {
        // The old signature, which every driver has.
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment out = arena.allocate(ValueLayout.JAVA_LONG);
            int result = (int) Linker.nativeLinker()
                    .downcallHandle(
                            symbol("cuCtxCreate_v2"),
                            FunctionDescriptor.of(
                                    ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.JAVA_INT,
                                    ValueLayout.JAVA_INT))
                    .invokeExact(out, 0, device);
            assertThat(result).isZero();
            assertThat(cuda.ctxPopCurrent(new long[1])).isZero();
            return out.get(ValueLayout.JAVA_LONG, 0);
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    @Override
    void destroyContext(long context) {
        try {
            int result = (int) Linker.nativeLinker()
                    .downcallHandle(
                            symbol("cuCtxDestroy_v2"),
                            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG))
                    .invokeExact(context);
            assertThat(result).isZero();
        } catch (Throwable t) {
            throw new AssertionError(t);
        }
    }

    private static MemorySegment symbol(String name) {
        return SymbolLookup.libraryLookup("libcuda.so.1", Arena.global()).findOrThrow(name);
    }

    @Test
    void driverTellsOfItsGpus() {
        CudaAvailability.Available available = available();
        assertThat(available.driverVersion()).isGreaterThanOrEqualTo(11040);
        assertThat(available.deviceCount()).isPositive();
        for (int ordinal = 0; ordinal < available.deviceCount(); ordinal++) {
            int[] device = new int[1];
            String[] text = new String[1];
            long[] bytes = new long[1];
            byte[] uuid = new byte[16];
            assertThat(cuda.deviceGet(device, ordinal)).isZero();
            assertThat(cuda.deviceGetName(text, device[0])).isZero();
            assertThat(text[0]).isNotBlank();
            System.out.println("gpu " + ordinal + ": " + text[0] + ", driver " + available.driverVersion());
            assertThat(cuda.deviceGetPciBusId(text, device[0])).isZero();
            assertThat(text[0]).matches("[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\\.[0-9]");
            assertThat(cuda.deviceTotalMem(bytes, device[0])).isZero();
            assertThat(bytes[0]).isGreaterThan(1L << 30);
            assertThat(cuda.deviceGetUuid(uuid, device[0])).isZero();
            assertThat(uuid).isNotEqualTo(new byte[16]);
        }
    }

    @Test
    void errorsHaveNamesAndTexts() {
        assertThat(cuda.errorName(Cuda.ERROR_OUT_OF_MEMORY)).isEqualTo("CUDA_ERROR_OUT_OF_MEMORY");
        assertThat(cuda.errorText(Cuda.ERROR_OUT_OF_MEMORY)).isNotBlank();
        assertThat(cuda.errorName(987654)).isEqualTo("CUDA error 987654");
    }

    @Test
    void driverKnowsEveryKindOfMemory() {
        for (MemoryKind kind : MemoryKind.values()) {
            try (MemoryAllocation memory = allocator.allocate(kind, SIZE)) {
                CudaPointer found = new CudaPointers(cuda).classify(memory.range().address());
                System.out.println("pointer " + kind + ": " + found);
                assertThat(found.address()).isEqualTo(memory.range().address());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(value = MemoryKind.class,
            names = {"CUDA_DEVICE", "CUDA_POOL", "CUDA_VMM", "CUDA_MANAGED", "HOST_PINNED"})
    void allocationsAbove4GiBAreWhole(MemoryKind kind) {
        try (MemoryAllocation memory = allocator.allocate(kind, LARGE);
                MemoryAllocation copy = allocator.allocate(MemoryKind.CUDA_DEVICE, LARGE)) {
            allocator.fill(memory.range(), (byte) 1);
            allocator.fill(memory.range().slice(LARGE - 10, 10), (byte) 2);
            allocator.copy(memory.range(), copy.range());
            assertThat(read(copy.range().slice(LARGE - 20, 20)))
                    .containsExactly(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2);
            assertThat(read(copy.range().slice((1L << 32) - 5, 10))).containsOnly(1);
        }
    }

    /** Pinned pages must serve the disk, too. */
    @Test
    void directReadsFillPinnedMemory(@TempDir Path folder) throws IOException {
        byte[] bytes = random(1 << 20);
        Path file = Files.write(folder.resolve("data"), bytes);
        int fd = posix.open(file.toString(), PosixConstants.O_RDONLY | PosixConstants.O_DIRECT, 0);
        assumeTrue(fd >= 0, "no direct I/O here");
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.HOST_PINNED, bytes.length)) {
            assertThat(posix.pread(fd, memory.range().address(), bytes.length, 0)).isEqualTo(bytes.length);
            assertThat(read(memory.range())).isEqualTo(bytes);
        } finally {
            posix.close(fd);
        }
    }

    @Test
    void pinnedMemoryIsCopiedFasterThanOrdinaryMemory() {
        long size = 1L << 30;
        double[] rates = new double[2];
        MemoryKind[] kinds = {MemoryKind.HOST, MemoryKind.HOST_PINNED};
        try (MemoryAllocation gpu = allocator.allocate(MemoryKind.CUDA_DEVICE, size)) {
            for (int i = 0; i < 2; i++) {
                try (MemoryAllocation memory = allocator.allocate(kinds[i], size)) {
                    allocator.fill(memory.range(), (byte) 1);
                    rates[i] = Math.max(rate(memory.range(), gpu.range()), rate(memory.range(), gpu.range()));
                    System.out.printf(
                            "copy %s to GPU %.1f GB/s, back %.1f GB/s%n",
                            kinds[i], rates[i], rate(gpu.range(), memory.range()));
                }
            }
        }
        assertThat(rates[1]).isGreaterThan(rates[0]);
    }

    private double rate(MemoryRange from, MemoryRange to) {
        long start = System.nanoTime();
        allocator.copy(from, to);
        return from.length() / (double) (System.nanoTime() - start);
    }
}
