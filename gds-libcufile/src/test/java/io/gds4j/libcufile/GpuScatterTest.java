package io.gds4j.libcufile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.gds4j.CuFileDriver;
import io.gds4j.CuFileHandle;
import io.gds4j.config.CuFileConfig;
import io.gds4j.ffi.cufile.GpuMachine;
import io.gds4j.memory.MemoryAllocation;
import io.gds4j.memory.MemoryAllocator;
import io.gds4j.memory.MemoryKind;
import io.gds4j.memory.ScatterCopy;
import io.gds4j.testkit.RandomBytes;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Rows and replicas for two GPUs, read by NVIDIA's library into one of them. */
@Tag("gpu")
class GpuScatterTest {
    private static final int ROW = 7168;
    private static final int LEFT = 3000;
    private static final int ROWS = 6001;
    private static final int SIZE = ROW * ROWS;

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void rowsAndReplicasReachBothGpus(int first) throws Exception {
        byte[] content = RandomBytes.of(5, SIZE);
        Path file = Files.write(Files.createTempFile(GpuMachine.directory(), "scatter", null), content);
        try (CuFileDriver driver = CuFileDriver.open(new LibCuFileBackendProvider().create(CuFileConfig.defaults()));
                CuFileHandle handle = driver.openFile(file)) {
            MemoryAllocator allocator = driver.allocator();
            assumeTrue(hasSecondGpu(allocator), "two GPUs");
            try (MemoryAllocation one = allocator.allocate(MemoryKind.CUDA_DEVICE, SIZE, first);
                    MemoryAllocation other = allocator.allocate(MemoryKind.CUDA_DEVICE, SIZE, 1 - first)) {
                assertThat(handle.readScattered(0, SIZE, List.of(
                        new ScatterCopy(0, ROW, LEFT, ROWS, one, 0, LEFT),
                        new ScatterCopy(LEFT, ROW, ROW - LEFT, ROWS, other, 1, ROW - LEFT)))).isEqualTo(SIZE);
                assertThat(Arrays.mismatch(read(allocator, one, 0, ROWS * LEFT), column(content, 0, LEFT)))
                        .isEqualTo(-1);
                assertThat(Arrays.mismatch(
                        read(allocator, other, 1, ROWS * (ROW - LEFT)), column(content, LEFT, ROW - LEFT)))
                        .isEqualTo(-1);

                assertThat(handle.readScattered(0, SIZE, List.of(
                        new ScatterCopy(0, SIZE, one, 0), new ScatterCopy(0, SIZE, other, 0)))).isEqualTo(SIZE);
                for (MemoryAllocation memory : List.of(one, other)) {
                    assertThat(Arrays.mismatch(read(allocator, memory, 0, SIZE), content)).isEqualTo(-1);
                }
            }
        } finally {
            Files.delete(file);
        }
    }

    private static boolean hasSecondGpu(MemoryAllocator allocator) {
        try (MemoryAllocation memory = allocator.allocate(MemoryKind.CUDA_DEVICE, 1, 1)) {
            return memory.isOpen();
        } catch (RuntimeException e) {
            return false;
        }
    }

    private static byte[] read(MemoryAllocator allocator, MemoryAllocation memory, long offset, int length) {
        byte[] bytes = new byte[length];
        allocator.copyToHost(memory.range().slice(offset, length), MemorySegment.ofArray(bytes));
        return bytes;
    }

    private static byte[] column(byte[] content, int from, int width) {
        byte[] bytes = new byte[ROWS * width];
        for (int row = 0; row < ROWS; row++) {
            System.arraycopy(content, row * ROW + from, bytes, row * width, width);
        }
        return bytes;
    }
}
